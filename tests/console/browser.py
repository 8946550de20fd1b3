# SPDX-License-Identifier: Apache-2.0
"""A browser for tests of the console: it keeps cookies as Chromium or as an older browser does, and sends forms."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urlencode, urljoin, urlsplit

import httpx2

OWN = {"Sec-Fetch-Site": "same-origin", "Origin": "null"}


@dataclass
class Form:
    """A form of a page, with its fields in their order, and its buttons with names."""

    action: str
    fields: list[tuple[str, str]] = field(default_factory=list)
    buttons: list[tuple[str, str]] = field(default_factory=list)


class Page(HTMLParser):
    """A parsed answer."""

    def __init__(self, answer: httpx2.Response) -> None:
        super().__init__()
        self.answer = answer
        self.status = answer.status_code
        self.url = str(answer.url)
        self.html = answer.text
        self.name = ""
        self.language = ""
        self.forms: list[Form] = []
        self.links: list[str] = []
        self.refresh = ""
        self._templates = 0
        self._area: str | None = None
        self._select: list[str] | None = None
        if answer.headers.get("content-type", "").startswith("text/html"):
            self.feed(answer.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        # The module makes controls of templates; a browser without it sends none of them.
        self._templates += tag == "template"
        if self._templates:
            return
        match tag:
            case "html":
                self.language = values.get("lang", "")
            case "main":
                self.name = values.get("data-page", "")
            case "a":
                self.links.append(values["href"])
            case "form":
                self.forms.append(Form(urljoin(self.url, values["action"])))
            case "input" | "textarea" | "select" | "option":
                self._start_control(tag, values)
            case "button" if "name" in values:
                self.forms[-1].buttons.append((values["name"], values["value"]))
            case "meta" if values.get("http-equiv") == "refresh":
                self.refresh = values["content"].partition("url=")[2]

    def _start_control(self, tag: str, values: Mapping[str, str]) -> None:
        match tag:
            case "input":
                if values.get("type") not in ("checkbox", "radio") or "checked" in values:
                    self.forms[-1].fields.append((values["name"], values.get("value", "")))
            case "textarea":
                self.forms[-1].fields.append((values["name"], ""))
                self._area = ""
            case "select":
                self._select = []
                self.forms[-1].fields.append((values["name"], ""))
            case "option" if self._select is not None:
                # The first one counts unless another one is selected.
                if not self._select or "selected" in values:
                    self.forms[-1].fields[-1] = (self.forms[-1].fields[-1][0], values.get("value", ""))
                self._select.append(values.get("value", ""))

    def handle_data(self, data: str) -> None:
        if self._area is not None:
            self._area += data

    def handle_endtag(self, tag: str) -> None:
        self._templates -= tag == "template"
        if tag == "select":
            self._select = None
        elif tag == "textarea" and self._area is not None:
            form = self.forms[-1]
            # A browser drops the first line break.
            form.fields[-1] = (form.fields[-1][0], self._area.removeprefix("\n"))
            self._area = None

    @property
    def location(self) -> str:
        """The address that a redirect or a refresh leads to."""
        target = self.answer.headers.get("location", self.refresh)
        return urljoin(self.url, target) if target else ""

    def form(self, action: str) -> Form:
        """The form with this path."""
        return next(each for each in self.forms if urlsplit(each.action).path == action)


@dataclass
class Browser:
    """One browser, over a client that browsers may share.

    With `accepts_secure` it keeps secure cookies over plain http at loopback, as Chromium does.
    """

    http: httpx2.Client
    accepts_secure: bool = True
    cookies: dict[tuple[str, str], str] = field(default_factory=dict)

    def get(self, url: str, headers: Mapping[str, str] | None = None) -> Page:
        return self._send("GET", url, headers or {}, None)

    def post(self, url: str, pairs: list[tuple[str, str]], headers: Mapping[str, str] | None = None) -> Page:
        sent = {**(OWN if headers is None else headers), "Content-Type": "application/x-www-form-urlencoded"}
        return self.send(url, urlencode(pairs).encode(), sent)

    def send(self, url: str, content: bytes, headers: Mapping[str, str]) -> Page:
        """Post any body."""
        return self._send("POST", url, headers, content)

    def submit(self, form: Form, values: Mapping[str, str] | None = None) -> Page:
        """Send a form of our own pages, with typed values."""
        typed = dict(values or {})
        pairs = [(name, typed.pop(name, value)) for name, value in form.fields]
        return self.post(form.action, [*pairs, *typed.items()])

    def follow(self, page: Page) -> Page:
        """Follow redirects and refreshes to the next page with content."""
        for _ in range(10):
            if not page.location:
                return page
            page = self.get(page.location)
        raise AssertionError("The redirects do not end.")

    def sign_in(self, url: str, address: str, password: str) -> Page:
        """Sign in from any page of the console; the page that comes after it."""
        page = self.follow(self.get(url))
        page = self.follow(self.submit(page.form("/console/sign-in"), {"address": address}))
        page = self.submit(page.forms[0], {"address": address, "password": password})
        return self.follow(page)

    def _send(self, method: str, url: str, headers: Mapping[str, str], content: bytes | None) -> Page:
        host = urlsplit(url).hostname or ""
        sent = "; ".join(f"{name}={value}" for (at, name), value in self.cookies.items() if at == host)
        self.http.cookies.clear()
        call = self.http.build_request(
            method, url, headers={**headers, **({"Cookie": sent} if sent else {})}, content=content
        )
        answer = _read(self.http.send(call, stream=True))
        for line in answer.headers.get_list("set-cookie"):
            self._keep(host, urlsplit(url).scheme, line)
        return Page(answer)

    def _keep(self, host: str, scheme: str, line: str) -> None:
        pair, *attributes = [part.strip() for part in line.split(";")]
        name, _, value = pair.partition("=")
        known = {each.lower() for each in attributes}
        if name.startswith("__Host-"):
            assert "secure" in known
            assert "path=/" in known
        if "secure" in known and scheme == "http" and not self.accepts_secure:
            return
        # Some providers delete a cookie by a day in the past, which is always the first one.
        if "max-age=0" in known or any(each.startswith("expires=thu, 01 jan 1970") for each in known):
            self.cookies.pop((host, name), None)
        else:
            self.cookies[host, name] = value


def _read(answer: httpx2.Response) -> httpx2.Response:
    """Read an answer; of a stream of events, which may not end, the first one."""
    if not answer.headers.get("content-type", "").startswith("text/event-stream"):
        answer.read()
        return answer
    text = ""
    for part in answer.iter_text():
        text += part
        if "\n\n" in text:
            break
    answer.close()
    return httpx2.Response(answer.status_code, headers=answer.headers, text=text, request=answer.request)
