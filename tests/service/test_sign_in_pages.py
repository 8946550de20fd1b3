# SPDX-License-Identifier: Apache-2.0
"""The sign-in pages as the service shows them: at one of its addresses, for the people of the example."""

import json
import ssl
from urllib.parse import urlencode

import httpx2
import pytest

from tests.services import ADA_MAIL, COLLAB, TLS, Service

TENANT = "e57a7e00-0000-4000-8000-000000000001"
CLI = "c11e0000-0000-4000-8000-000000000001"
ASKED = {
    "response_type": "code",
    "client_id": CLI,
    "redirect_uri": "http://localhost:4711/",
    "scope": COLLAB,
    "code_challenge": "A" * 43,
    "code_challenge_method": "S256",
}


def platform_of(service: Service) -> str:
    return f"https://localhost:{service.port + 1}/identity"


def test_it_works(service: Service) -> None:
    passwords: dict[str, str] = json.loads((service.data_dir / "example-users.json").read_text())
    trusting = ssl.create_default_context(cafile=service.data_dir / "ca.pem")
    path = f"{platform_of(service)}/{TENANT}/oauth2/v2.0"
    with httpx2.Client(verify=trusting, timeout=30) as http:
        page = http.get(f"{path}/authorize?{urlencode(ASKED)}")
        token = page.text.partition('name="form_token" value="')[2].partition('"')[0]

        done = http.post(
            f"{path}/sign-in?{urlencode(ASKED)}",
            data={"form_token": token, "address": ADA_MAIL, "password": passwords[ADA_MAIL]},
            headers={"Sec-Fetch-Site": "same-origin"},
        )

    assert page.status_code == 200
    assert done.status_code == 303
    assert done.headers["location"].startswith("http://localhost:4711/?code=")
    assert not [password for password in passwords.values() if password in service.said()]


@pytest.mark.parametrize("host", ["http://127.0.0.1:{port}", "http://localhost:{port}"])
def test_it_rejects_plain_http(service: Service, host: str) -> None:
    for path in ("device", f"{TENANT}/oauth2/v2.0/authorize?{urlencode(ASKED)}"):
        address = f"{host.format(port=service.port)}/identity/{path}"

        answer = httpx2.get(address, timeout=30, verify=TLS)

        assert answer.status_code == 421
        assert "set-cookie" not in answer.headers
        assert f"{platform_of(service)}/device" in answer.text or "authorize" in path


def test_it_rejects_a_name_that_was_bent_to_this_machine(service: Service) -> None:
    trusting = ssl.create_default_context(cafile=service.data_dir / "ca.pem")

    for host in ("evil.example", f"127.0.0.1:{service.port + 1}"):
        answer = httpx2.get(f"{platform_of(service)}/device", headers={"Host": host}, timeout=30, verify=trusting)
        assert answer.status_code == 421


def test_it_rejects_plain_http_that_is_said_to_be_something_else(service: Service) -> None:
    """A service that trusts such headers lets any client choose the address of wrong passwords, too."""
    said = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.1", "Forwarded": "for=192.0.2.1;proto=https"}
    there = {"Host": f"localhost:{service.port + 1}"}

    answer = httpx2.get(f"http://127.0.0.1:{service.port}/identity/device", headers=said | there, timeout=30)

    assert answer.status_code == 421
