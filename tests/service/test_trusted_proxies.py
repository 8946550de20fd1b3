# SPDX-License-Identifier: Apache-2.0
"""The service behind a reverse proxy that it trusts, which is a client on loopback here."""

import json
import ssl
from typing import Any

import httpx2
import pytest

from tests.commands import run_here
from tests.service.estate import ESTATE
from tests.service.test_audit import wait_for_seals
from tests.service.test_sign_in_pages import platform_of
from tests.services import (
    ADA,
    ADA_MAIL,
    API,
    APPROVED_TEMPLATE,
    COLLAB,
    GROUP_TEMPLATE,
    TLS,
    Service,
    restarted_service,
    wait_until,
)

pytestmark = pytest.mark.heavy

ALL_STAFF = "94000000-0000-4000-8000-000000000001"
NO_GUESTS = "7e000000-0000-4000-8000-000000000021"
DARA_MAIL = "dara@estate.example"
# JSON documents, whose types are what is tested here.
Row = dict[str, Any]

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


def call(
    service: Service, method: str, path: str, headers: dict[str, str], *, who: str = ADA_MAIL, **sent: object
) -> httpx2.Response:
    scope = CONFIG if path.startswith("/admin/") else COLLAB
    answer = httpx2.request(
        method,
        f"{service.url}{path}",
        headers={**service.headers(who, scope), **headers},
        json=sent,
        timeout=30,
        verify=TLS,
    )
    assert answer.is_success, answer.text
    return answer


def change_things(service: Service, headers: dict[str, str]) -> list[str]:
    """Ask for a group, decide on two requests, assign a template and make one; gives the trace ids of the calls."""
    decided, cancelled = (
        service.post_group({"displayName": name, "templateId": APPROVED_TEMPLATE}).json()["requestId"]
        for name in ("To be decided", "To be cancelled")
    )
    answers = [
        service.post_group({"displayName": "Addressed", "templateId": GROUP_TEMPLATE}, **headers),
        call(service, "POST", f"/requests/v1/{decided}/approve/", headers, who=DARA_MAIL),
        call(service, "POST", f"/requests/v1/{cancelled}/cancel/", headers),
        call(service, "PATCH", f"/admin/collab/v1/manage/groups/{ALL_STAFF}/", headers, templateId=NO_GUESTS),
        call(service, "POST", "/admin/collab/v1/templates/", headers, kind="group", name="Addressed"),
    ]
    return [each.headers["request-id"] for each in answers]


def trail(service: Service) -> list[Row]:
    """The newest rows, those of the calls above among them."""
    rows: list[Row] = service.get("/admin/v1/audit/?limit=200", ADA_MAIL, CONFIG).json()["items"]
    return rows


def addresses(service: Service, calls: list[str]) -> dict[str, str | None]:
    """The actions of these calls, and their recorded client addresses."""
    return {row["action"]: row["clientAddress"] for row in trail(service) if row["traceId"] in calls and row["client"]}


CHANGES = ("group.create", "request.approve", "request.cancel", "group.assign", "template.create")


def test_the_audit_trail_has_the_address_of_the_client_until_it_is_erased() -> None:
    with restarted_service(environment={"CHAMBERLAIN_TRUSTED_PROXIES": "127.0.0.0/8"}) as service:
        calls = change_things(service, CLIENT)
        lines = call(service, "GET", "/admin/v1/audit/", {"accept": "application/x-ndjson"}).text.splitlines()

        assert addresses(service, calls) == dict.fromkeys(CHANGES, "192.0.2.1")
        exported = [json.loads(line) for line in lines]
        assert {row["clientAddress"] for row in exported if row["traceId"] == calls[0]} == {"192.0.2.1"}
        assert {row["clientAddress"] for row in exported if row["action"] == "token.issue"} == {None}
        wait_for_seals(service)
        assert verify(service).startswith("well ")

        erased = run(service, "erase", "--user", ADA, "--tenant", ESTATE, "--yes")

        assert erased.startswith(f"Tenant {ESTATE}: ")
        assert {row["clientAddress"] for row in trail(service) if row.get("erased")} == {None}
        assert [row["clientAddress"] for row in trail(service) if row["action"] == "user.erase"] == [None]
        assert verify(service).startswith("well ")


@pytest.mark.parametrize("environment", [{}, {"CHAMBERLAIN_TRUSTED_PROXIES": "10.20.0.7"}])
def test_the_audit_trail_has_the_address_of_a_peer_that_is_no_proxy(environment: dict[str, str]) -> None:
    with restarted_service(environment=environment) as service:
        calls = change_things(service, {**CLIENT, "Forwarded": "for=192.0.2.1"})

        assert addresses(service, calls) == dict.fromkeys(CHANGES, "127.0.0.1")


def verify(service: Service) -> str:
    return run(service, "audit", "verify", "--tenant", ESTATE)


def run(service: Service, *arguments: str) -> str:
    done = run_here(*arguments, "--data-dir", str(service.data_dir), environment=service.environment)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    return done.stdout
