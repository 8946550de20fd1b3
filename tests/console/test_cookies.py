# SPDX-License-Identifier: Apache-2.0
"""Cookies have the prefix that other sites cannot set; without it only for browsers that refuse it at loopback."""

import pytest
from starlette.responses import Response

from chamberlain.console.cookies import BROWSER, SESSION, Cookies

pytestmark = pytest.mark.pure
HERE, THERE = "http://127.0.0.1:8365", "https://chamberlain.example.org"


def header(cookies: Cookies, name: str = SESSION) -> str:
    response = Response()
    cookies.set(response, name, "value")
    return response.headers["set-cookie"]


def test_it_works() -> None:
    cookies = Cookies.read(THERE, ["__Host-console-session=one; other=two"])

    assert cookies.get(SESSION) == "one"
    assert header(cookies) == "__Host-console-session=value; HttpOnly; Path=/; SameSite=lax; Secure"


@pytest.mark.parametrize("url", [HERE, "http://localhost:8365", "http://[::1]:8365"])
def test_at_loopback_cookies_are_secure_as_well(url: str) -> None:
    assert header(Cookies.read(url, [])).startswith("__Host-console-session-8365=value; ")


def test_a_browser_that_refused_the_secure_cookie_gets_plain_ones() -> None:
    cookies = Cookies.read(HERE, ["console-browser-8365=b; console-session-8365=s"])

    assert cookies.get(SESSION) == "s"
    assert header(cookies) == "console-session-8365=value; HttpOnly; Path=/; SameSite=lax"


@pytest.mark.parametrize("url", [THERE, "https://127.0.0.1:8365", "http://chamberlain.example.org"])
def test_elsewhere_plain_cookies_are_neither_read_nor_set(url: str) -> None:
    cookies = Cookies.read(
        url, ["console-browser=b; console-browser-8365=b; console-session-8365=s; console-session=s"]
    )
    response = Response()
    cookies.set_plain(response, BROWSER, "value")

    assert cookies.get(SESSION) is None
    assert "set-cookie" not in response.headers
    assert header(cookies).startswith("__Host-")


def test_a_planted_plain_cookie_is_ignored_beside_a_secure_one() -> None:
    cookies = Cookies.read(HERE, ["console-browser-8365=x; console-session-8365=x; __Host-console-browser-8365=b"])

    assert cookies.get(SESSION) is None
    assert cookies.get(BROWSER) == "b"


def test_a_cookie_planted_for_a_longer_path_is_ignored() -> None:
    """Browsers send the cookie with the longest path first."""
    cookies = Cookies.read(HERE, ["console-browser-8365=b; console-session-8365=planted; console-session-8365=own"])

    assert cookies.get(SESSION) == "own"


@pytest.mark.parametrize("line", ["", ";;;", "=", "console-session", "a=" + '"\\' * 50_000, "x" * 100_000])
def test_it_reads_any_header(line: str) -> None:
    assert Cookies.read(HERE, [line]).get(SESSION) is None
