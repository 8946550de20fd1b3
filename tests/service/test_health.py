# SPDX-License-Identifier: Apache-2.0
"""Whether the process lives and can do its work; anybody may ask."""

import httpx2

from tests.services import Service


def test_it_works(service: Service) -> None:
    live, ready = (httpx2.get(f"{service.url}/health/{what}") for what in ("live", "ready"))

    assert (live.status_code, live.json()) == (200, {"status": "live", "checks": []})
    assert ready.status_code == 200
    assert {check["name"]: check["passed"] for check in ready.json()["checks"]} == {
        "database": True,
        "clock": True,
        "writes": True,
    }


def test_it_rejects_a_host_that_is_not_ours(service: Service) -> None:
    answer = httpx2.get(f"{service.url}/health/live", headers={"host": "elsewhere.example"})

    assert (answer.status_code, answer.json()["code"]) == (421, "hostUnknown")


def test_it_handles_a_name_for_this_machine(service: Service) -> None:
    answer = httpx2.get(f"http://localhost:{service.port}/health/live")

    assert answer.status_code == 200
