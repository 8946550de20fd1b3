"""The service behind a reverse proxy that it trusts, which is a client on loopback here."""

import json
import ssl

import httpx2
import pytest

from tests.service.test_sign_in_pages import platform_of
from tests.services import ADA_MAIL, API, TLS, Service, restarted_service, wait_until

CONFIG = f"{API}/admin/Config.ReadWrite.All"
CLIENT = {"X-Forwarded-For": "192.0.2.1"}


def local_token(service: Service, headers: dict[str, str]) -> int:
    return httpx2.post(
        f"{platform_of(service)}/local/token",
        json={"user": ADA_MAIL, "scope": CONFIG},
        headers={"Local-Secret": (service.data_dir / "local.secret").read_text().strip(), **headers},
        verify=ssl.create_default_context(cafile=service.data_dir / "ca.pem"),
        timeout=30,
    ).status_code


def guess(http: httpx2.Client, service: Service, headers: dict[str, str]) -> int:
    """The status of a wrong code of a device."""
    page = http.get(f"{platform_of(service)}/device")
    token = page.text.partition('name="form_token" value="')[2].partition('"')[0]
    return http.post(
        f"{platform_of(service)}/device",
        data={"form_token": token, "user_code": "BBBB-BBBB"},
        headers={"Sec-Fetch-Site": "same-origin", **headers},
    ).status_code


def test_it_counts_logs_and_admits_by_the_address_of_the_client() -> None:
    with restarted_service(environment={"CHAMBERLAIN_TRUSTED_PROXIES": "127.0.0.0/8"}) as service:
        trusting = ssl.create_default_context(cafile=service.data_dir / "ca.pem")
        with httpx2.Client(verify=trusting, timeout=30) as http:
            one = [guess(http, service, CLIENT) for _ in range(11)]
            same = [
                guess(http, service, headers)
                for headers in ({"X-Forwarded-For": "192.0.2.2, 192.0.2.1"}, {"Forwarded": "for=192.0.2.1"})
            ]
            other = guess(http, service, {"X-Forwarded-For": "192.0.2.2"})
        is_local = [local_token(service, headers) for headers in ({}, CLIENT)]
        changed = httpx2.post(
            f"{service.url}/admin/v1/drift/check/",
            headers={**service.headers(ADA_MAIL, CONFIG), **CLIENT},
            timeout=30,
            verify=TLS,
        )

        assert (one, same, other) == ([400] * 10 + [429], [429, 429], 400)
        assert is_local == [200, 403]
        assert changed.is_success
        # The line is written after the answer.
        line = wait_until(lambda: find_line(service, changed.headers["request-id"]), within=10)
        assert (line["clientAddress"], line["method"]) == ("192.0.2.1", "POST")
        assert line["path"] == "/admin/v1/drift/check/"


def find_line(service: Service, trace_id: str) -> dict[str, str]:
    """The log line of a call; empty as long as there is none."""
    lines = [json.loads(line) for line in service.said().splitlines() if line.startswith("{") and line.endswith("}")]
    return next((each for each in lines if each.get("traceId") == trace_id), {})


@pytest.mark.parametrize("headers", [CLIENT, {"Forwarded": "for=192.0.2.1"}])
def test_headers_of_callers_that_are_no_proxy_have_no_effect(service: Service, headers: dict[str, str]) -> None:
    assert local_token(service, headers) == 200
