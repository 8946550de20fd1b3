# SPDX-License-Identifier: Apache-2.0
"""Releases over HTTP: previewed, started, listed and read."""

import httpx2
import pytest

from tests.http.http_fixture import BASE, HttpFixture
from tests.releases.fake_releases import RELEASE

PATH = "/admin/v1/releases/"
ONE = f"{PATH}{RELEASE}/"
ADMINISTRATOR = {"authorization": "Bearer administrator"}
SKIPPED = {
    "type": "group",
    "id": "00000000-0000-0000-0000-000000000002",
    "displayName": "Vineyard",
    "mail": None,
    "code": "requestOpen",
    "detail": "Its request has not ended. Cancel the request, or wait until it ends.",
}


async def test_it_works(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    body = {"types": ["team", "mailbox", "team"], "comment": "They leave."}
    answer = await api.post(PATH, json=body, headers={**ADMINISTRATOR, "idempotency-key": "k"})
    second = await api.post(PATH, headers=ADMINISTRATOR)
    listed = await api.get(PATH, headers=ADMINISTRATOR)
    read = await api.get(ONE, headers=ADMINISTRATOR)

    assert (answer.status_code, answer.headers["location"]) == (202, f"{BASE}{ONE}")
    release = answer.json()
    assert release == {
        "id": str(RELEASE),
        "types": ["mailbox", "team"],
        "state": "running",
        "counts": {"total": 1, "released": 0, "skipped": 1},
        "createdAt": "2026-11-20T09:30:00.000Z",
        "createdBy": {
            "type": "user",
            "id": "ada00000-0000-4000-8000-000000000001",
            "displayName": "Ada Achterberg",
        },
        "updatedAt": "2026-11-20T09:30:00.000Z",
        "finishedAt": None,
        "remarks": [SKIPPED],
    }
    assert read.json() == release
    release.pop("remarks")
    assert listed.json() == {"items": [release], "nextCursor": None}
    assert (second.status_code, second.json()["code"]) == (409, "stateDoesNotAllow")
    [act] = http_fixture.releases.acts
    assert (act.comment, act.idempotency and act.idempotency.key) == ("They leave.", "k")


async def test_a_preview_has_counts_objects_and_reasons(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    answer = await api.post(f"{PATH}?dryRun=true", headers=ADMINISTRATOR)

    assert answer.status_code == 200
    assert answer.json() == {
        "dryRun": True,
        "types": ["mailbox", "group", "team", "assignment"],
        "counts": {
            "objects": {"mailbox": 1, "group": 1, "team": 1, "assignment": 1},
            "skipped": {"requestOpen": 1},
        },
        "objects": [
            {
                "type": "mailbox",
                "id": "00000000-0000-0000-0000-000000000001",
                "displayName": "Room Bern",
                "mail": "bern@rooms.estate.example",
            }
        ],
        "skipped": [SKIPPED],
    }
    assert http_fixture.releases.records == []


@pytest.mark.parametrize(
    ("body", "pointer"), [({"types": ["site"]}, "/types/0"), ({"types": []}, "/types"), ({"kind": "group"}, "/kind")]
)
async def test_it_rejects_other_bodies(api: httpx2.AsyncClient, body: dict[str, object], pointer: str) -> None:
    answer = await api.post(PATH, json=body, headers=ADMINISTRATOR)

    assert answer.status_code == 400
    assert [each["pointer"] for each in answer.json()["errors"]] == [pointer]


async def test_it_rejects_unknown_releases(api: httpx2.AsyncClient) -> None:
    answer = await api.get(ONE, headers=ADMINISTRATOR)

    assert (answer.status_code, answer.json()["code"]) == (404, "notFound")
