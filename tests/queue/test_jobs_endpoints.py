# SPDX-License-Identifier: Apache-2.0
"""Held jobs over HTTP: shown in pages and released."""

from uuid import UUID

import httpx2
import pytest

from chamberlain.core.ids import JobId, TraceId
from chamberlain.queue.models import HeldJob, JobKind, public_id_of
from tests.http.http_fixture import ESTATE, MOMENT, REQUEST, HttpFixture

PATH = "/admin/v1/jobs/"
ADMINISTRATOR = {"authorization": "Bearer administrator"}


def held(number: int) -> HeldJob:
    trace_id = TraceId("4bf92f3577b34da6a3ce929d0e0e4736")
    return HeldJob(JobId(number), ESTATE, JobKind.GROUP_PROVISION, REQUEST, "A bug.", 3, trace_id, MOMENT)


async def test_it_works(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.jobs.records.append(held(42))

    answer = await api.get(PATH, headers=ADMINISTRATOR)

    assert answer.status_code == 200
    assert answer.json() == {
        "items": [
            {
                "id": "00000000-0000-8000-8000-00000000002a",
                "tenantId": str(ESTATE),
                "kind": "groupProvision",
                "requestId": str(REQUEST),
                "heldReason": "A bug.",
                "attempts": 3,
                "traceId": "4bf92f3577b34da6a3ce929d0e0e4736",
                "queuedAt": "2026-11-20T09:30:00.000Z",
            }
        ],
        "nextCursor": None,
    }


async def test_it_comes_in_pages(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.jobs.records += [held(1), held(2)]

    first = (await api.get(f"{PATH}?limit=1", headers=ADMINISTRATOR)).json()
    second = await api.get(f"{PATH}?cursor={first['nextCursor']}", headers=ADMINISTRATOR)

    assert len(first["items"]) == 1
    assert second.status_code == 200


async def test_a_released_job_is_held_no_longer(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.jobs.records.append(held(42))

    answer = await api.post(
        f"{PATH}{public_id_of(JobId(42))}/release/", json={"comment": "Mended"}, headers=ADMINISTRATOR
    )

    assert answer.status_code == 200
    assert (answer.json()["heldReason"], answer.json()["attempts"]) == (None, 0)
    assert [act.comment for act in http_fixture.jobs.acts] == ["Mended"]


@pytest.mark.parametrize("id_", [REQUEST, UUID(int=0), public_id_of(JobId(0)), public_id_of(JobId(2**62))])
async def test_it_rejects_an_id_that_no_job_has(api: httpx2.AsyncClient, id_: UUID) -> None:
    answer = await api.post(f"{PATH}{id_}/release/", headers=ADMINISTRATOR)

    assert (answer.status_code, answer.json()["code"]) == (404, "notFound")


@pytest.mark.parametrize("who", ["Bearer ada", "Bearer automation"])
async def test_it_rejects_callers_without_the_permission(api: httpx2.AsyncClient, who: str) -> None:
    listed = await api.get(PATH, headers={"authorization": who})
    released = await api.post(f"{PATH}{public_id_of(JobId(1))}/release/", headers={"authorization": who})

    assert [listed.json()["code"], released.json()["code"]] == ["insufficientScope"] * 2
