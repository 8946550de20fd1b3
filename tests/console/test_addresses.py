# SPDX-License-Identifier: Apache-2.0
"""Addresses of pages: other spellings, methods, and metrics under the routes of the pages."""

from urllib.parse import urlsplit

import httpx2
import pytest

from chamberlain.console.app import OPEN_PAGES, PAGES
from tests.console.conftest import ConsoleFixture

pytestmark = pytest.mark.heavy
PATHS = sorted({path for _, path, _ in (*PAGES, *OPEN_PAGES)})
# For the parameters of paths.
ID = "7e000000-0000-4000-8000-00000000ffff"


def filled(path: str) -> str:
    """The path with a value for each parameter."""
    return "/".join(ID if part.startswith("{") else part for part in path.split("/"))


def ask(console: ConsoleFixture, method: str, path: str) -> httpx2.Response:
    return console.http.request(method, f"{console.service.url}{path}", headers={"Accept": "text/html"})


def test_it_works(console: ConsoleFixture) -> None:
    answer = ask(console, "GET", "/")

    assert answer.status_code == 200
    assert 'href="/console/"' in answer.text


@pytest.mark.parametrize(
    ("path", "location"),
    [
        ("/console", "/console/"),
        ("/console?x=1&y=%2F%2F", "/console/?x=1&y=%2F%2F"),
        ("/console/account", "/console/account/"),
        ("/console/account//", "/console/account/"),
        ("/console/sign-in/?return_to=%2Fconsole%2F", "/console/sign-in?return_to=%2Fconsole%2F"),
    ],
)
def test_another_spelling_leads_to_the_page(console: ConsoleFixture, path: str, location: str) -> None:
    answers = [ask(console, method, path) for method in ("GET", "HEAD")]

    assert [(each.status_code, each.headers["location"]) for each in answers] == [(303, location)] * 2


@pytest.mark.parametrize(
    "path",
    [
        "/console//evil.example",
        "/console//evil.example/",
        "/console/%2fevil.example/",
        "/console/%5cevil.example/",
        "/console///account",
        "/console/account%0d%0aLocation:%20x/",
        "/consoles",
    ],
)
def test_no_spelling_leads_to_another_site(console: ConsoleFixture, path: str) -> None:
    assert ask(console, "GET", path).status_code == 404


@pytest.mark.parametrize("path", PATHS)
def test_another_method_is_refused_by_name(console: ConsoleFixture, path: str) -> None:
    known = {method for method, each, _ in (*PAGES, *OPEN_PAGES) if each == path}

    answers = {each: ask(console, each, filled(path)) for each in ("DELETE", "PUT", "OPTIONS", "PATCH")}

    for method, answer in answers.items():
        assert answer.status_code == 405, method
        allowed = set(answer.headers["allow"].split(", "))
        assert allowed == known | ({"HEAD"} if "GET" in known else set())
        assert 'data-page="error"' in answer.text


@pytest.mark.parametrize(
    "path", sorted(set(PATHS) - {path for method, path, _ in (*PAGES, *OPEN_PAGES) if method == "GET"})
)
def test_the_address_of_a_form_leads_to_a_page_above(console: ConsoleFixture, path: str) -> None:
    for method in ("GET", "HEAD"):
        answer = ask(console, method, filled(path))

        assert answer.status_code == 303
        location = answer.headers["location"]
        assert location.startswith("/console/")
        assert location.endswith("/")
        assert filled(path).startswith(location)


def test_a_head_has_no_content(console: ConsoleFixture) -> None:
    page, head = (ask(console, method, "/console/sign-in?again=1") for method in ("GET", "HEAD"))

    assert head.status_code == page.status_code == 200
    assert head.content == b""
    changing = {"date", "set-cookie", "request-id"}
    assert {name for name, _ in head.headers.items()} - changing == {
        name for name, _ in page.headers.items()
    } - changing
    assert int(head.headers["content-length"]) == len(page.content)


def test_a_post_to_another_spelling_is_not_repeated(console: ConsoleFixture) -> None:
    assert ask(console, "POST", "/console/sign-in/").status_code == 404


def test_redirects_stay_on_the_host_of_the_call(console: ConsoleFixture) -> None:
    answer = console.http.get(f"http://localhost:{console.service.port}/console/account")

    assert urlsplit(answer.headers["location"]).netloc == ""
