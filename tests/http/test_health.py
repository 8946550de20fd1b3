# SPDX-License-Identifier: Apache-2.0
import httpx2

from chamberlain.http.request import Check
from tests.http.http_fixture import HttpFixture


async def test_it_works(api: httpx2.AsyncClient) -> None:
    answer = await api.get("/health/ready")

    assert answer.status_code == 200
    assert answer.json() == {
        "status": "ready",
        "checks": [{"name": "database", "passed": True, "detail": None, "reasonCode": None}],
    }
    assert answer.headers["cache-control"] == "no-store"


async def test_it_says_what_is_not_well(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.checks = (
        Check("database", passed=True),
        Check("clock", passed=False, detail="It is 40 s ahead.", reason_code="clocksDiffer"),
    )

    answer = await api.get("/health/ready")

    assert answer.status_code == 503
    assert answer.json()["status"] == "notReady"
    assert answer.json()["checks"][1] == {
        "name": "clock",
        "passed": False,
        "detail": "It is 40 s ahead.",
        "reasonCode": "clocksDiffer",
    }


async def test_a_failed_check_that_is_not_required_is_reported_by_a_process_that_is_ready(
    api: httpx2.AsyncClient, http_fixture: HttpFixture
) -> None:
    full = Check("writes", passed=False, detail="The disk is full.", reason_code="diskFull", required=False)
    http_fixture.checks = (Check("database", passed=True), full)

    answer = await api.get("/health/ready")

    assert (answer.status_code, answer.json()["status"]) == (200, "ready")
    assert answer.json()["checks"][1]["reasonCode"] == "diskFull"
