# SPDX-License-Identifier: Apache-2.0
"""Attacks on every page of the table in app.py. A new page is attacked as soon as it is there."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from urllib.parse import quote, urlencode, urljoin, urlsplit

import pytest

from chamberlain.console.app import OPEN_PAGES, PAGES, RESUMED
from chamberlain.console.sessions import form_token
from tests.chromium import run_chromium
from tests.console.browser import OWN, Browser, Page
from tests.console.conftest import ConsoleFixture, open_console
from tests.console.objects import VISITORS, Objects, foreign_objects, own_objects
from tests.console.windows import SHOWN_WITHIN, open_signed_in
from tests.services import ADA_MAIL

pytestmark = pytest.mark.heavy

# Streams do not end. Their paths are attacked, as those of all pages with objects.
GETS = sorted(path for method, path, _ in PAGES if method == "GET" and not path.endswith("/events"))
POSTS = sorted(path for method, path, _ in PAGES if method == "POST")
WITH_OBJECTS = sorted((method, path) for method, path, _ in PAGES if "_id}" in path)
OPEN = sorted((method, path) for method, path, _ in OPEN_PAGES)

# In text, in attributes, in templates, and as an address.
MARKUP = "'\"><xss-here>{{7*7}}xss</xss-here>"
PAYLOADS = {
    "markup": MARKUP,
    "attribute": 'x" xss-here="1',
    "attribute in single quotes": "x' xss-here='1",
    "address": "https://evil.example/",
    "address without scheme": "//evil.example/",
    "script": "javascript:alert('xss-here')",
    "header": "x\r\nSet-Cookie: planted=1\r\nLocation: https://evil.example/",
    "zero": "a\0b",
    "surrogate": "\N{PILE OF POO}\u202e",
    "long": "x" * 5000,
}
UNKNOWN = "0000dead-0000-4000-8000-000000000000"
NAME_OF_OTHERS = "Zebra of Other House"


@dataclass(frozen=True)
class AttackFixture:
    """A service of its own: attacks leave objects with hostile names."""

    console: ConsoleFixture
    own: Objects
    foreign: Objects
    visitors: dict[str, Browser]

    def url(self, path: str, objects: Objects | None = None) -> str:
        return f"{self.console.service.url}{(objects or self.own).fill(path)}"

    def visitor(self, address: str = ADA_MAIL) -> Browser:
        """A signed-in browser; some attacks end its session."""
        browser = self.visitors.get(address)
        if browser is None or browser.get(self.console.url).name != "catalog":
            browser = self.visitors[address] = self.console.signed_in(address)
        return browser

    def token(self, browser: Browser) -> str:
        """The token of the forms of a session."""
        (secret,) = [value for (_, name), value in browser.cookies.items() if "console-session" in name]
        return form_token(secret)

    @cached_property
    def fields(self) -> Mapping[str, Sequence[str]]:
        """The fields of all forms on the pages, by the path of the form."""
        found: dict[str, list[str]] = {}
        for address in VISITORS:
            for path in GETS:
                for target, names in Scan(self.visitor(address).get(self.url(path))).fields.items():
                    found.setdefault(target, []).extend(names)
        return found


@pytest.fixture(scope="module")
def attack() -> Iterator[AttackFixture]:
    with open_console() as console:
        own = own_objects(console.service, MARKUP)
        yield AttackFixture(console, own, foreign_objects(console.service, NAME_OF_OTHERS), {})


class Scan(HTMLParser):
    """All that hostile values have got into a page, and the names of its fields by the path of their form."""

    def __init__(self, page: Page) -> None:
        super().__init__()
        self.page = page
        self.found: list[str] = []
        self.fields: dict[str, list[str]] = {}
        self._form = ""
        if page.answer.headers.get("content-type", "").startswith("text/html"):
            self.feed(page.html)
        else:
            assert page.answer.headers.get("x-content-type-options") == "nosniff" or not page.html

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        names = [name for name in values if name.startswith(("xss", "on", "style", "srcdoc"))]
        if tag.startswith("xss") or names:
            self.found.append(f"{tag} {names}")
        for name in ("href", "src", "action", "formaction", "content"):
            if name in values and tag != "meta" and not self._is_ours(values[name]):
                self.found.append(f"{tag} {name} {values[name]}")
        if tag == "form":
            self._form = urlsplit(urljoin(self.page.url, values["action"])).path
        elif tag in ("input", "select", "textarea", "button") and "name" in values:
            self.fields.setdefault(self._form, []).append(values["name"])

    def _is_ours(self, address: str) -> bool:
        parts = urlsplit(urljoin(self.page.url, address))
        # The page that leads to the issuer has its address.
        return parts.scheme in ("http", "https", "mailto") and parts.hostname in (None, "127.0.0.1", "localhost")


def require_harmless(page: Page) -> None:
    """Require that a page has no hostile part, leads to this service only, and is no bug."""
    assert page.status < 500, page.html
    scan = Scan(page)
    assert scan.found == []
    assert "<xss" not in page.html
    assert "49xss" not in page.html
    assert not [each for each in page.answer.headers.get_list("set-cookie") if each.startswith("planted")]
    assert urlsplit(page.location).hostname in (None, "127.0.0.1", "localhost"), page.location


@cache
def read_names(pattern: str) -> Sequence[str]:
    """All names of query parameters or fields in the source of the console."""
    package = Path(str(files("chamberlain.console")))
    texts = [path.read_text(encoding="utf-8") for path in sorted(package.rglob("*.py"))]
    return sorted({name for text in texts for name in re.findall(pattern, text)})


def queries() -> Sequence[str]:
    found = read_names(r"""(?:query_params(?:\.get|\.getlist|\.multi_items)?|query(?:\.get)?)[\[(]["'](\w+)["']""")
    links = read_names(r"""[?&](\w+)=""")
    assert "return_to" in found
    return sorted({*found, *links, "q", "cursor", "state", "like"})


def query(payload: str) -> str:
    """All query parameters with one value, as long as an address may be."""
    return urlencode(dict.fromkeys(queries(), payload[: 50_000 // len(queries())]))


def fields(attack: AttackFixture, path: str) -> Sequence[str]:
    """All fields that a page may read."""
    found = {*read_names(r"""\.value\(["']([^"']+)["']"""), *attack.fields.get(attack.own.fill(path), ())}
    return sorted(found - {"form_token"})


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
@pytest.mark.parametrize("path", GETS)
def test_hostile_query_parameters_stay_text(attack: AttackFixture, path: str, payload: str) -> None:
    for address in VISITORS:
        require_harmless(attack.visitor(address).get(f"{attack.url(path)}?{query(payload)}"))


@pytest.mark.parametrize("payload", [MARKUP, "a\0b", "..", "%2e%2e", "é" * 300], ids=range(5))
@pytest.mark.parametrize(("method", "path"), WITH_OBJECTS)
def test_hostile_parts_of_a_path_stay_text(attack: AttackFixture, method: str, path: str, payload: str) -> None:
    browser = attack.visitor()
    # A client resolves two dots itself. With one hostile part the address stays below /console/.
    hostile = Objects({**dict.fromkeys(attack.own.values, quote(payload, safe="")), "area": "collab"})
    url = attack.url(path, hostile)

    page = browser.get(url) if method == "GET" else browser.post(url, [("form_token", attack.token(browser))])

    require_harmless(page)
    assert page.status in (303, 400, 404)


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
@pytest.mark.parametrize("path", POSTS)
def test_hostile_fields_stay_text(attack: AttackFixture, path: str, payload: str) -> None:
    names = fields(attack, path)
    for address in VISITORS:
        browser = attack.visitor(address)
        pairs = [("form_token", attack.token(browser)), *((name, payload) for name in names)]

        page = browser.post(attack.url(path), pairs)

        require_harmless(page)
        if page.location and page.status == 303:
            require_harmless(browser.get(page.location))


@pytest.mark.parametrize("path", GETS)
def test_hostile_names_of_objects_stay_text(attack: AttackFixture, path: str) -> None:
    for address in VISITORS:
        require_harmless(attack.visitor(address).get(attack.url(path)))


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
@pytest.mark.parametrize(("method", "path"), OPEN)
def test_pages_before_the_sign_in_keep_hostile_values_as_text(
    attack: AttackFixture, method: str, path: str, payload: str
) -> None:
    browser = attack.console.browser()
    form = browser.follow(browser.get(attack.console.url)).form("/console/sign-in")
    if method == "GET":
        pages = [browser.get(f"{attack.url(path)}?{query(payload)}")]
    else:
        pages = [
            browser.submit(form, {"address": payload, "return_to": payload}),
            browser.submit(form, {"address": f"{payload}@estate.example", "return_to": payload}),
            browser.submit(form, {"address": f"ada@{payload}", "return_to": payload}),
        ]

    for page in pages:
        require_harmless(page)


@pytest.mark.needs("chromium")
def test_no_hostile_value_is_reported_by_the_policy_of_a_page(attack: AttackFixture) -> None:
    said: list[str] = []
    with run_chromium(attack.console.service.data_dir / "ca.pem") as chromium:
        page = chromium.new_context().new_page()
        page.set_default_timeout(SHOWN_WITHIN)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append(dialog.message))
        page.add_init_script(
            "addEventListener('securitypolicyviolation', (e) => console.log('policy ' + e.blockedURI))"
        )
        open_signed_in(attack.console, page, ADA_MAIL, "account/")
        page.locator("main[data-page=account]").wait_for()
        for path in GETS:
            for url in (attack.url(path), f"{attack.url(path)}?{query(MARKUP)}"):
                page.goto(url, wait_until="domcontentloaded")
                assert page.locator("xss-here").count() == 0

    assert [each for each in said if "the server responded with a status of 4" not in each] == []


@pytest.mark.parametrize(("method", "path"), WITH_OBJECTS)
def test_objects_of_another_tenant_are_not_found(attack: AttackFixture, method: str, path: str) -> None:
    browser = attack.visitor()
    unknown = Objects(
        {
            **attack.foreign.values,
            **{name: f"{'0' * 8}-dead-4000-8000-{'0' * 12}" for name in attack.foreign.values if name.endswith("_id")},
        }
    )
    pages = []
    for objects in (attack.foreign, unknown):
        url = attack.url(path, objects)
        token = [("form_token", attack.token(browser))]
        pages.append(browser.get(url) if method == "GET" else browser.post(url, token))

    assert [each.status for each in pages] == [404, 404]
    assert NAME_OF_OTHERS not in pages[0].html
    assert _without_ids(pages[0].html) == _without_ids(pages[1].html)


def _without_ids(html: str) -> str:
    return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "ID", html)


WAYS: Mapping[str, tuple[str | None, dict[str, str]]] = {
    "no token": ("", OWN),
    "wrong token": ("0" * 64, OWN),
    "token of another session": (None, OWN),
    "cross-site": ("own", {"Sec-Fetch-Site": "cross-site", "Origin": "null"}),
    "same-site": ("own", {"Sec-Fetch-Site": "same-site"}),
    "other origin": ("own", {"Origin": "https://evil.example"}),
    "two tokens": ("two", OWN),
}


@pytest.mark.parametrize(("token", "headers"), WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("path", POSTS)
def test_a_form_of_another_site_changes_nothing(
    attack: AttackFixture, path: str, token: str | None, headers: dict[str, str]
) -> None:
    browser = attack.visitor()
    own, before = attack.token(browser), dict(browser.cookies)
    other = attack.token(attack.visitor(VISITORS[1])) if token is None else "0" * 64
    sent = {None: [other], "own": [own], "two": [own, other]}.get(token, [token])

    page = browser.post(attack.url(path), [*(("form_token", str(each)) for each in sent), ("theme", "dark")], headers)

    assert page.status == 403
    # A form with input is filled in again for its own page.
    assert (page.name == "error") is not (path in RESUMED and headers is OWN)
    assert browser.cookies == before
    assert browser.get(attack.console.url).name == "catalog"


BODIES: Mapping[str, tuple[str, bytes]] = {
    "too large": ("application/x-www-form-urlencoded", b"x=" + b"a" * (1024 * 1024)),
    "too many fields": ("application/x-www-form-urlencoded", b"&a=" * 12_001),
    "not UTF-8": ("application/x-www-form-urlencoded", b"x=\xff"),
    "JSON": ("application/json", b"{}"),
    "text": ("text/plain", b""),
    "multipart": ("multipart/form-data; boundary=x", b"--x--"),
    "no type": ("", b""),
}


@pytest.mark.parametrize(("media_type", "body"), BODIES.values(), ids=BODIES)
@pytest.mark.parametrize("path", POSTS)
def test_a_body_that_is_no_form_changes_nothing(attack: AttackFixture, path: str, media_type: str, body: bytes) -> None:
    browser = attack.visitor()
    content = b"form_token=" + attack.token(browser).encode() + b"&" + body

    page = browser.send(attack.url(path), content, {**OWN, "Content-Type": media_type})

    assert (page.status, page.name) == (403, "error")
    assert browser.get(attack.console.url).name == "catalog"
