# SPDX-License-Identifier: Apache-2.0
"""Looking ahead at a policy over HTTP."""

from uuid import UUID

import httpx2
import pytest

from chamberlain.core.ids import GroupId
from chamberlain.guests.policies.simulation import SimulationRequest
from tests.guests.assignments.fake_assignments import ALL_STAFF, HANDBOOK
from tests.guests.policies.fake_policies import POLICY_ID
from tests.http.http_fixture import HttpFixture

LIST = "/admin/collab/v1/policies/"
PATH = f"{LIST}{POLICY_ID}/simulate/"
ADMINISTRATOR = {"authorization": "Bearer administrator"}


@pytest.fixture
async def policy(api: httpx2.AsyncClient) -> None:
    made = await api.post(LIST, json={"name": "90 days"}, headers=ADMINISTRATOR)
    assert made.status_code == 201


@pytest.mark.usefixtures("policy")
async def test_it_works(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    body = {"groupIds": [str(ALL_STAFF), str(ALL_STAFF).upper()], "siteIds": [str(HANDBOOK)]}

    answer = await api.post(PATH, json=body, headers=ADMINISTRATOR)

    assert answer.status_code == 200
    assert answer.json() == {
        "policyId": str(POLICY_ID),
        "from": "2026-11-20T09:00:00.000Z",
        "to": "2026-11-20T09:00:00.000Z",
        "subjects": 2,
        "guests": 3,
        "counts": {"reminders": 1, "findings": {"guestExpired": 1}, "actions": {"remove": 1}},
        "items": [
            {
                "at": "2026-11-20T09:00:00.000Z",
                "type": "reminder",
                "kind": "guestExpired",
                "subject": {"type": "group", "id": str(POLICY_ID), "displayName": "All staff"},
                "guest": {
                    "id": "9e570000-0000-4000-8000-000000000001",
                    "displayName": "Gil Hartmann",
                    "mail": "gil@partner.example",
                },
                "detail": None,
                "action": "remove",
                "actionAt": "2026-11-20T09:00:00.000Z",
            }
        ],
        "isWhole": False,
    }
    assert http_fixture.policies.simulated == [SimulationRequest((ALL_STAFF,), (HANDBOOK,))]


@pytest.mark.usefixtures("policy")
async def test_without_a_body_it_looks_at_everything(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    answers = [await api.post(PATH, headers=ADMINISTRATOR), await api.post(PATH, json={}, headers=ADMINISTRATOR)]

    assert [answer.status_code for answer in answers] == [200, 200]
    assert http_fixture.policies.simulated == [SimulationRequest((), ())] * 2


@pytest.mark.parametrize(
    ("body", "pointer", "code"),
    [
        ({"groupIds": []}, "/groupIds", "outOfBounds"),
        ({"groupIds": ["x"]}, "/groupIds/0", "malformedId"),
        ({"siteIds": [str(GroupId(UUID(int=n))) for n in range(201)]}, "/siteIds", "outOfBounds"),
        ({"groups": [str(ALL_STAFF)]}, "/groups", "unknownProperty"),
    ],
)
@pytest.mark.usefixtures("policy")
async def test_it_rejects_what_it_cannot_read(
    api: httpx2.AsyncClient, body: dict[str, object], pointer: str, code: str
) -> None:
    answer = await api.post(PATH, json=body, headers=ADMINISTRATOR)

    assert answer.status_code == 400
    assert [(each["pointer"], each["code"]) for each in answer.json()["errors"]] == [(pointer, code)]


async def test_it_rejects_a_policy_that_there_is_not(api: httpx2.AsyncClient) -> None:
    answer = await api.post(PATH, headers=ADMINISTRATOR)

    assert (answer.status_code, answer.json()["code"]) == (404, "notFound")


@pytest.mark.parametrize("who", ["Bearer ada", "Bearer automation", "Bearer mail automation"])
async def test_it_rejects_callers_without_the_permission(api: httpx2.AsyncClient, who: str) -> None:
    answer = await api.post(PATH, headers={"authorization": who})

    assert answer.json()["code"] == "insufficientScope"
