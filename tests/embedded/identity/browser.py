# SPDX-License-Identifier: Apache-2.0
"""A browser for page tests: it keeps cookies, parses forms, and sends Origin and Sec-Fetch-Site."""

import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit
from uuid import UUID

import httpx2

from chamberlain.embedded.identity.clients import Account
from chamberlain.embedded.identity.load import set_passwords
from tests.embedded.identity.estate import ADA, CLI, TENANT, ZOE, IdentityServer
from tests.embedded.identity.sign_ins import REDIRECT, SCOPE, VERIFIER, challenge_of

PASSWORDS = {ADA.address: "correct horse & <battery>", ZOE.address: "päss wörd"}


@dataclass
class Form:
    """A form of a page, with its values."""

    action: str
    method: str
    values: dict[str, str] = field(default_factory=dict)
    # Name and value of each button that has them.
    buttons: list[tuple[str, str]] = field(default_factory=list)

    def button(self, name: str, value: str) -> dict[str, str]:
        """Return the value that a button adds to the form."""
        assert (name, value) in self.buttons
        return {name: value}


class Page(HTMLParser):
    """A parsed page."""

    def __init__(self, answer: httpx2.Response) -> None:
        super().__init__()
        self.answer = answer
        self.url = str(answer.url)
        self.status = answer.status_code
        self.html = answer.text
        self.forms: list[Form] = []
        self.links: dict[str, str] = {}
        self.name = ""
        self.heading = ""
        self._open: list[str] = []
        self._attributes: dict[str, str] = {}
        self._text = ""
        self.feed(answer.text)

    @property
    def state(self) -> tuple[int, str]:
        """Status and name of the page."""
        return self.status, self.name

    @property
    def form(self) -> Form:
        return self.forms[0]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append(Form(urljoin(self.url, attributes["action"]), attributes["method"]))
        if tag == "input":
            self.forms[-1].values[attributes["name"]] = attributes.get("value", "")
        if tag == "main":
            self.name = attributes.get("data-page", "")
        if tag == "button" and "name" in attributes:
            self.forms[-1].buttons.append((attributes["name"], attributes["value"]))
        if tag in ("a", "h1"):
            self._attributes, self._text = attributes, ""

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "h1":
            self.heading = self._text.strip()
        if tag == "a":
            self.links[self._text.strip()] = urljoin(self.url, self._attributes["href"])


@dataclass
class Browser:
    """The browser of one user."""

    server: IdentityServer
    http: httpx2.AsyncClient

    async def open(self, url: str) -> Page:
        return Page(await self.http.get(url, headers={"Sec-Fetch-Site": "none"}))

    async def send(
        self, form: Form, values: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None
    ) -> Page:
        """Submit a form with entered values, by default with the headers of a same-origin form."""
        sent_headers = {"Origin": "null", "Sec-Fetch-Site": "same-origin"} if headers is None else headers
        data = {**form.values, **(values or {})}
        return Page(await self.http.post(form.action, data=data, headers=dict(sent_headers)))

    @property
    def session(self) -> str | None:
        """The value of the session cookie."""
        return self.http.cookies.get(f"__Host-identity-session-{urlsplit(self.server.base_url).port}")


@asynccontextmanager
async def open_browser(server: IdentityServer) -> AsyncIterator[Browser]:
    """Open a browser without cookies."""
    trusting = ssl.create_default_context(cadata=server.certificate.authority_pem)
    async with httpx2.AsyncClient(verify=trusting, trust_env=False, timeout=30) as http:
        yield Browser(server, http)


async def set_test_passwords(server: IdentityServer) -> None:
    """Set the passwords of the users and reset the throttling."""
    await set_passwords(server.worker, [ADA, ZOE], PASSWORDS)
    await reset_throttling(server)


async def reset_throttling(server: IdentityServer) -> None:
    """Reset the throttling."""
    await server.worker.execute("DELETE FROM identity.sign_in_attempts")


def authorize_url(server: IdentityServer, tenant_id: UUID = TENANT, /, **changes: str) -> str:
    """Return the URL of an authorization request with changed parameters; empty ones are omitted."""
    asked = {
        "response_type": "code",
        "client_id": str(CLI),
        "redirect_uri": REDIRECT,
        "scope": SCOPE,
        "state": "st&te <1>",
        "code_challenge": challenge_of(VERIFIER),
        "code_challenge_method": "S256",
    }
    sent = {name: value for name, value in {**asked, **changes}.items() if value}
    return f"{server.url('oauth2/v2.0/authorize', tenant_id)}?{urlencode(sent)}"


async def sign_in_at(browser: Browser, url: str, account: Account = ADA) -> Page:
    """Open a page and sign in; return the next page."""
    page = await browser.open(url)
    return await browser.send(page.form, credentials(account))


def credentials(account: Account = ADA, password: str | None = None) -> dict[str, str]:
    """Return the values for the sign-in form."""
    return {"address": account.address, "password": PASSWORDS[account.address] if password is None else password}


def response_parameters(page: Page) -> dict[str, str]:
    """Return the parameters that the client gets in its redirect URI."""
    assert page.status == 303, page.html
    return dict(parse_qsl(urlsplit(page.answer.headers["location"]).query, strict_parsing=True))
