# SPDX-License-Identifier: Apache-2.0
"""A running service whose directory meets faults that a test run sets."""

from typing import Any

import httpx2
import pytest

from tests.services import ADA_MAIL, API, COLLAB, GRAPH, GROUP_TEMPLATE, TLS, Service, running_service, wait_until

pytestmark = pytest.mark.heavy


def call(service: Service, method: str, path: str, token: str, body: object = None) -> httpx2.Response:
    headers = {"Authorization": f"Bearer {token}"}
    return httpx2.request(method, f"{service.url}{path}", json=body, headers=headers, verify=TLS, timeout=30)


def set_fault(service: Service, **fault: object) -> None:
    token = service.token("automation", f"{API}/.default")
    answer = call(service, "POST", "/emulator/faults", token, {"seconds": 300, **fault})
    assert answer.status_code == 201, answer.text


def request_group(service: Service, name: str) -> dict[str, Any]:
    """Request a group, and return its request when it has ended."""
    token = service.token(ADA_MAIL, COLLAB)
    accepted = call(
        service, "POST", "/collab/v1/groups/", token, {"displayName": name, "templateId": GROUP_TEMPLATE}
    ).json()

    def ended() -> dict[str, Any]:
        shown: dict[str, Any] = call(service, "GET", f"/requests/v1/{accepted['requestId']}/", token).json()
        return shown if shown["state"] in ("succeeded", "failed") else {}

    return wait_until(ended, 60)


def test_it_works() -> None:
    with running_service(environment={"CHAMBERLAIN_FAULT_SURFACE": "true"}) as service:
        set_fault(service, operation="groups.write", kind="throttled", times=1)
        set_fault(service, operation="groups.write", kind="away", afterCalls=1, times=1)
        set_fault(service, operation="groups.write", kind="lostResponse", afterCalls=2, times=1)
        set_fault(service, operation="graph.read", kind="away", retryAfter=9, times=1)

        ended = request_group(service, "Orchard")

        assert ended["state"] == "succeeded"
        graph = service.token(ADA_MAIL, f"{GRAPH}/Group.Read.All")
        path = "/graph/v1.0/groups?$filter=displayName eq 'Orchard'"
        away, found = call(service, "GET", path, graph), call(service, "GET", path, graph)
        assert (away.status_code, away.headers["retry-after"]) == (503, "9")
        assert len(found.json()["value"]) == 1
        automation = service.token("automation", f"{API}/.default")
        seen = call(service, "GET", "/emulator/faults", automation).json()["faults"]
        # The third write succeeded, so there was no fourth.
        assert [(fault["kind"], fault["calls"]) for fault in seen] == [
            ("throttled", 3),
            ("away", 3),
            ("lostResponse", 3),
            ("away", 2),
        ]

        ada = service.token(ADA_MAIL, f"{API}/.default")
        assert call(service, "DELETE", "/emulator/faults", ada).status_code == 204
        ben = service.token("ben@estate.example", f"{API}/.default")
        assert call(service, "DELETE", "/emulator/faults", ben).status_code == 403


def test_a_call_to_a_directory_elsewhere_counts_once() -> None:
    environment = {"CHAMBERLAIN_FAULT_SURFACE": "true", "CHAMBERLAIN_CONNECTION_HOSTS": "127.0.0.1:1"}
    with running_service(environment=environment) as service:
        set_fault(service, operation="graph.read", kind="throttled", times=2)
        admin = service.token(ADA_MAIL, f"{API}/admin/Config.ReadWrite.All")
        graph = service.token(ADA_MAIL, f"{GRAPH}/Group.Read.All")
        body = {"adapter": "embedded", "address": "postgresql://x@127.0.0.1:1/x", "credential": "x"}
        assert call(service, "POST", "/admin/v1/connections/?force=true", admin, body).status_code == 201

        answers = [call(service, "GET", "/graph/v1.0/groups", graph).status_code for _ in range(2)]

        assert answers == [429, 429]
        wait_until(lambda: call(service, "GET", "/graph/v1.0/groups", graph).status_code == 404, 30)


def test_without_the_setting_there_is_no_surface() -> None:
    with running_service() as service:
        token = service.token("automation", f"{API}/.default")

        assert call(service, "GET", "/emulator/faults", token).status_code == 404
