# SPDX-License-Identifier: Apache-2.0
import pytest

from chamberlain.embedded.identity.clients import is_registered_redirect, is_valid_redirect

REGISTERED = (
    "http://localhost",
    "http://127.0.0.1/back",
    "http://[::1]/back?tab=1",
    "https://portal.example/back",
    "https://portal.example:8443/back?tab=1",
)


@pytest.mark.parametrize(
    "uri",
    [
        *REGISTERED,
        "http://localhost/",
        "http://localhost:80",
        "http://localhost:1",
        "http://localhost:65535/",
        "http://127.0.0.1:4711/back",
        "http://[::1]:4711/back?tab=1",
    ],
)
def test_it_works(uri: str) -> None:
    assert is_registered_redirect(REGISTERED, uri)


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "localhost",
        "//localhost",
        "http://",
        "https://localhost",
        "http://localhost/other",
        "http://localhost?x=1",
        "http://localhost#part",
        "http://localhost#",
        "http://localhost:0",
        "http://localhost:65536",
        "http://localhost:x",
        "HTTP://localhost",
        "Http://localhost:4711",
        "http://LOCALHOST:4711",
        "HTTPS://portal.example/back",
        "http://evil.example[::1]:4711/back?tab=1",
        "http://[::1]evil.example:4711/back?tab=1",
        "http://localhost.",
        "http://localhost.portal.example",
        "http://localhost@portal.example",
        "http://portal.example@localhost",
        "http://localhost:4711@portal.example/",
        "http://localhost\\@portal.example/",
        "http://portal.example\\@localhost/",
        "http://localhost\t",
        "http://localhost\n:4711",
        " http://localhost",
        "http://local host",
        "http://l\u043ecalhost",
        "http://127.0.0.1",
        "http://127.0.0.2/back",
        "http://127.1/back",
        "http://2130706433/back",
        "http://0.0.0.0/back",
        "http://127.0.0.1:4711/back/",
        "http://127.0.0.1:4711/back/../other",
        "http://127.0.0.1:4711/%62ack",
        "http://[::1]:4711/back",
        "http://[::1]:4711/back?tab=1&tab=2",
        "http://[0:0:0:0:0:0:0:1]:4711/back?tab=1",
        "https://portal.example/back/",
        "https://portal.example/back?next=https://evil.example",
        "https://portal.example/BACK",
        "https://PORTAL.example/back",
        "https://portal.example:443/back",
        "https://portal.example:8444/back?tab=1",
        "https://portal.example.evil.example/back",
        "https://portal.example/back#",
        "https://portal.example/back\r\nSet-Cookie:x",
        "http://portal.example/back",
        "javascript:alert(1)",
        "data:text/html,x",
        "https://portal.example/" + "a" * 2048,
    ],
)
def test_it_rejects_all_others(uri: str) -> None:
    assert not is_registered_redirect(REGISTERED, uri)


def test_a_client_without_redirect_uris_matches_none() -> None:
    assert not is_registered_redirect((), "http://localhost")


@pytest.mark.parametrize(
    ("uri", "possible"),
    [
        ("https://portal.example", True),
        ("https://portal.example:8443/back?tab=1", True),
        ("http://localhost:5000/back", True),
        ("http://[::1]/back", True),
        ("http://portal.example/back", False),
        ("HTTP://localhost", False),
        ("http://LOCALHOST", False),
        ("https://portal.example/#part", False),
        ("https://ada:secret@portal.example/", False),
        ("https:///back", False),
        ("https://[::1/back", False),
        ("urn:ietf:wg:oauth:2.0:oob", False),
        ("myapp://back", False),
    ],
)
def test_only_safe_redirect_uris_are_valid(uri: str, *, possible: bool) -> None:
    assert is_valid_redirect(uri) is possible
