"""A browser as far as the pages need one: it keeps cookies, reads forms, and says where what it sends comes from."""

import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit
from uuid import UUID

import httpx2

from chamberlain.embedded.identity import Account
from chamberlain.embedded.identity.passwords import set_passwords
from tests.embedded.identity.estate import ADA, CLI, TENANT, ZOE, House
from tests.embedded.identity.sign_ins import REDIRECT, SCOPE, VERIFIER, challenge_of

PASSWORDS = {ADA.address: "correct horse & <battery>", ZOE.address: "päss wörd"}


@dataclass
class Form:
    """A form of a page, with the values that it has."""

    action: str
    method: str
    values: dict[str, str] = field(default_factory=dict)
    # The buttons by what stands on them, with what they send.
    buttons: dict[str, dict[str, str]] = field(default_factory=dict)


class Page(HTMLParser):
    """What a person or an attacker can take from a page."""

    def __init__(self, answer: httpx2.Response) -> None:
        super().__init__()
        self.answer = answer
        self.url = str(answer.url)
        self.status = answer.status_code
        self.html = answer.text
        self.forms: list[Form] = []
        self.links: dict[str, str] = {}
        self.heading = ""
        self._open: list[str] = []
        self._attributes: dict[str, str] = {}
        self._text = ""
        self.feed(answer.text)

    @property
    def form(self) -> Form:
        return self.forms[0]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append(Form(urljoin(self.url, attributes["action"]), attributes["method"]))
        if tag == "input":
            self.forms[-1].values[attributes["name"]] = attributes.get("value", "")
        if tag in ("a", "button", "h1"):
            self._attributes, self._text = attributes, ""

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "h1":
            self.heading = self._text.strip()
        if tag == "a":
            self.links[self._text.strip()] = urljoin(self.url, self._attributes["href"])
        if tag == "button":
            sent = {self._attributes["name"]: self._attributes["value"]} if "name" in self._attributes else {}
            self.forms[-1].buttons[self._text.strip()] = sent


@dataclass
class Browser:
    """One person's browser."""

    house: House
    http: httpx2.AsyncClient

    async def open(self, url: str) -> Page:
        return Page(await self.http.get(url, headers={"Sec-Fetch-Site": "none"}))

    async def send(
        self, form: Form, values: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None
    ) -> Page:
        """Send a form with what was typed or pressed, as a page of ours does unless other headers are given."""
        told = {"Origin": "null", "Sec-Fetch-Site": "same-origin"} if headers is None else headers
        sent = {**form.values, **(values or {})}
        return Page(await self.http.post(form.action, data=sent, headers=dict(told)))

    @property
    def session(self) -> str | None:
        """The value of the session's cookie."""
        return self.http.cookies.get(f"__Host-identity-session-{urlsplit(self.house.base_url).port}")


@asynccontextmanager
async def open_browser(house: House) -> AsyncIterator[Browser]:
    """A browser that nobody has used yet."""
    trusting = ssl.create_default_context(cadata=house.certificate.authority_pem)
    async with httpx2.AsyncClient(verify=trusting, trust_env=False, timeout=30) as http:
        yield Browser(house, http)


async def give_passwords(house: House) -> None:
    """The people of the house can sign in, and nobody has failed or is signed in."""
    await set_passwords(house.worker, [ADA, ZOE], PASSWORDS)
    await forget_attempts(house)


async def forget_attempts(house: House) -> None:
    """Nobody has failed yet."""
    await house.worker.execute("DELETE FROM identity.sign_in_attempts")


def authorize_url(house: House, tenant_id: UUID = TENANT, /, **changes: str) -> str:
    """Where a program sends somebody, with other parameters, or without those that are empty."""
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
    return f"{house.url('oauth2/v2.0/authorize', tenant_id)}?{urlencode(sent)}"


async def sign_in_at(browser: Browser, url: str, account: Account = ADA) -> Page:
    """What comes behind the sign-in page."""
    page = await browser.open(url)
    return await browser.send(page.form, typed(account))


def typed(account: Account = ADA, password: str | None = None) -> dict[str, str]:
    """What somebody types on the sign-in page."""
    return {"address": account.address, "password": PASSWORDS[account.address] if password is None else password}


def answer_in(page: Page) -> dict[str, str]:
    """What a program gets in its address."""
    assert page.status == 303, page.html
    return dict(parse_qsl(urlsplit(page.answer.headers["location"]).query, strict_parsing=True))
