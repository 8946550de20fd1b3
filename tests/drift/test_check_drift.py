# SPDX-License-Identifier: Apache-2.0
"""A check for drift, asked for over HTTP."""

import httpx2
import pytest

from tests.drift.fake_drift import REPAIR
from tests.http.http_fixture import HttpFixture

PATH = "/admin/v1/drift/check/"
REPAIR_PATH = "/admin/v1/findings/f1d00000-0000-4000-8000-000000000001/repair/"
ADMINISTRATOR = {"authorization": "Bearer administrator"}


async def test_it_works(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    answer = await api.post(PATH, json={"comment": "Why not"}, headers=ADMINISTRATOR)

    assert answer.status_code == 202
    assert answer.json() == {"askedAt": "2026-11-20T09:30:00.000Z", "beganAt": None, "finishedAt": None}
    assert [act.comment for _, act in http_fixture.drift.acts] == ["Why not"]


async def test_it_takes_no_body(api: httpx2.AsyncClient) -> None:
    assert (await api.post(PATH, headers=ADMINISTRATOR)).status_code == 202


async def test_it_says_that_a_key_came_before(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.drift.replayed = True

    answer = await api.post(PATH, headers=ADMINISTRATOR | {"idempotency-key": "k"})

    assert (answer.status_code, answer.headers["idempotency-replayed"]) == (202, "true")


async def test_a_repair_is_a_request(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    answer = await api.post(REPAIR_PATH, json={"comment": "Now"}, headers=ADMINISTRATOR | {"idempotency-key": "k"})

    assert answer.status_code == 202
    assert (answer.json()["kind"], answer.json()["state"]) == ("repair", "queued")
    assert [step["name"] for step in answer.json()["steps"]] == ["repairDrift"]
    assert answer.headers["operation-location"].endswith(f"/requests/v1/{REPAIR}/")
    assert int(answer.headers["retry-after"]) > 0
    ((_, act),) = http_fixture.drift.acts
    assert (act.comment, act.idempotency and act.idempotency.key) == ("Now", "k")


@pytest.mark.parametrize("who", ["Bearer ada", "Bearer automation"])
async def test_it_rejects_callers_without_the_permission(api: httpx2.AsyncClient, who: str) -> None:
    answer = await api.post(PATH, headers={"authorization": who})

    assert (answer.status_code, answer.json()["code"]) == (403, "insufficientScope")
