# SPDX-License-Identifier: Apache-2.0
"""Where a browser may go after the sign-in."""

import time

import pytest

from chamberlain.console.sign_in import browser_name
from chamberlain.console.visit import safe_return

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    "path",
    [
        "/console/",
        "/console/account/",
        "/console/requests/?state=failed&after=a.b_c-d%3D",
        "/console/requests/7e000000-0000-4000-8000-000000000011",
        "/console/ask/mail/7e000000-0000-4000-8000-000000000003",
    ],
)
def test_it_works(path: str) -> None:
    assert safe_return(path) == path


@pytest.mark.parametrize(
    "path",
    [
        None,
        "",
        "https://evil.example/console/",
        "//evil.example/console/",
        "/\\evil.example/console/",
        "\\\\evil.example",
        "/console/\\evil.example",
        "/console//evil.example",
        "/console/../identity/",
        "/console/%2e%2e/identity/",
        "/console/..%2fidentity/",
        "/console/%2f%2fevil.example",
        "/console/\t//evil.example",
        "/console/\r\nLocation: https://evil.example",
        "/console/\n",
        "javascript:alert(1)",
        "data:text/html,console",
        "/consoles/",
        "/console",
        "/console/@evil.example",
        "/console/?x=<script>",
        "/console/Ü",
        "/console/" + "a" * 3000,
    ],
)
def test_no_other_address_is_returned_to(path: str | None) -> None:
    assert safe_return(path) == "/console/"


def test_a_hostile_path_takes_no_time() -> None:
    begin = time.process_time()

    safe_return("/console/" + "a/" * 990 + "!")

    assert time.process_time() - begin < 0.1


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox, Linux"),
        ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0", "Edge, Windows"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1", "Safari, iPhone"),
        ("curl/8", ""),
    ],
)
def test_a_browser_is_named(agent: str, name: str) -> None:
    assert browser_name(agent) == name
