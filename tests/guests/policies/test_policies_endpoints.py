# SPDX-License-Identifier: Apache-2.0
"""Guest policies over HTTP."""

from typing import Any
from uuid import UUID

import httpx2
import pytest

from chamberlain.core.errors import Conflict, Fault, Forbidden, NotPossible
from tests.guests.policies.fake_policies import POLICY_ID
from tests.http.http_fixture import ADA, BASE, HttpFixture

PATH = "/admin/collab/v1/policies/"
ONE = f"{PATH}{POLICY_ID}/"
ADMINISTRATOR = {"authorization": "Bearer administrator"}
EXPIRY: dict[str, object] = {"afterDays": 90, "reminderDays": [14, 7, 1], "action": "remove"}
BODY: dict[str, object] = {"name": "90 days", "expiry": EXPIRY}
WHOLE: dict[str, object] = {
    "name": "Yearly review",
    "description": "For partners",
    "active": False,
    "expiry": EXPIRY,
    "review": {
        "everyDays": 365,
        "answerDays": 14,
        "confirmedBy": "owners",
        "reminderDays": [14, 7, 1],
        "action": "disable",
    },
    "inactivity": {"afterDays": 120, "reminderDays": [7], "action": "notify"},
    "minimumOwners": {"count": 2, "reminderDays": [], "action": "notify"},
}


async def created(api: httpx2.AsyncClient, body: dict[str, object] = BODY) -> dict[str, Any]:
    answer = await api.post(PATH, json=body, headers=ADMINISTRATOR)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_it_works(api: httpx2.AsyncClient) -> None:
    answer = await api.post(PATH, json=BODY, headers=ADMINISTRATOR)

    assert answer.status_code == 201
    assert answer.headers["location"] == f"{BASE}{ONE}"
    assert answer.json() == {
        "id": str(POLICY_ID),
        "name": "90 days",
        "description": "",
        "active": True,
        "expiry": EXPIRY,
        "review": None,
        "inactivity": None,
        "minimumOwners": None,
        "createdAt": "2026-11-20T09:00:00.000Z",
        "createdBy": {"type": "user", "id": str(ADA), "displayName": "Ada Achterberg"},
        "updatedAt": "2026-11-20T09:00:00.000Z",
    }


async def test_what_was_read_can_be_changed_and_put_back(api: httpx2.AsyncClient) -> None:
    await created(api, WHOLE)
    first = await api.get(ONE, headers=ADMINISTRATOR)

    changed = first.json() | {"name": "Review", "id": str(UUID(int=1)), "tenantId": str(UUID(int=2))}
    answer = await api.put(ONE, json=changed, headers=ADMINISTRATOR | {"if-match": first.headers["etag"]})

    assert answer.json() == {**first.json(), "name": "Review"}
    assert WHOLE.items() <= first.json().items()
    assert answer.headers["etag"] != first.headers["etag"]


async def test_a_put_replaces_the_whole(api: httpx2.AsyncClient) -> None:
    await created(api, WHOLE)

    answer = await api.put(ONE, json=BODY | {"review": None}, headers=ADMINISTRATOR)

    assert answer.json() == await created(api)


async def test_a_deleted_one_is_gone(api: httpx2.AsyncClient) -> None:
    await created(api)

    stale = await api.delete(ONE, headers=ADMINISTRATOR | {"if-match": '"7"'})
    deleted = await api.delete(ONE, headers=ADMINISTRATOR)

    assert [stale.status_code, deleted.status_code, deleted.content] == [412, 204, b""]
    answers = [
        await api.get(ONE, headers=ADMINISTRATOR),
        await api.put(ONE, json=BODY, headers=ADMINISTRATOR),
        await api.delete(ONE, headers=ADMINISTRATOR),
    ]
    assert [answer.status_code for answer in answers] == [404] * 3


async def test_it_lists_them(api: httpx2.AsyncClient) -> None:
    policy = await created(api)

    assert (await api.get(PATH, headers=ADMINISTRATOR)).json() == {"items": [policy], "nextCursor": None}
    assert (await api.get(f"{PATH}?cursor=x", headers=ADMINISTRATOR)).json()["code"] == "invalidCursor"


async def test_a_replay_is_reported(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.policies.replayed = True

    answer = await api.post(PATH, json=BODY, headers=ADMINISTRATOR | {"idempotency-key": "k"})

    assert (answer.status_code, answer.headers["idempotency-replayed"]) == (201, "true")
    assert [act.idempotency.key for act in http_fixture.policies.acts if act.idempotency] == ["k"]


@pytest.mark.parametrize(
    ("change", "pointer", "code"),
    [
        ({"name": None}, "/name", "missingProperty"),
        ({"rules": []}, "/rules", "unknownProperty"),
        ({"expiry": {"afterDays": 90}}, "/expiry/action", "missingProperty"),
        ({"expiry": EXPIRY | {"afterDays": 0}}, "/expiry/afterDays", "outOfBounds"),
        ({"expiry": EXPIRY | {"action": "delete"}}, "/expiry/action", "unknownValue"),
        ({"expiry": EXPIRY | {"reminderDays": ["1"]}}, "/expiry/reminderDays/0", "wrongType"),
        ({"minimumOwners": {"count": 2, "action": "remove"}}, "/minimumOwners/action", "unknownValue"),
    ],
)
async def test_it_rejects_faults_of_form(
    api: httpx2.AsyncClient, change: dict[str, object], pointer: str, code: str
) -> None:
    posted = await api.post(PATH, json=BODY | change, headers=ADMINISTRATOR)
    put = await api.put(ONE, json=BODY | change, headers=ADMINISTRATOR)

    for answer in (posted, put):
        assert answer.status_code == 400
        assert [(fault["pointer"], fault["code"]) for fault in answer.json()["errors"]] == [(pointer, code)]


async def test_it_rejects_what_is_not_possible_or_in_use(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.policies.refusal = NotPossible([Fault("/expiry/reminderDays/0", "ruleInvalid", "Too early.")])
    posted = await api.post(PATH, json=BODY, headers=ADMINISTRATOR)
    http_fixture.policies.refusal = Conflict("inUse", "It is assigned.")
    deleted = await api.delete(ONE, headers=ADMINISTRATOR)

    assert (posted.status_code, posted.json()["errors"][0]["code"]) == (422, "ruleInvalid")
    assert (deleted.status_code, deleted.json()["code"]) == (409, "inUse")


async def test_it_rejects_those_who_are_no_administrators(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.policies.refusal = Forbidden("notAdministrator", "Only administrators may do this.")

    answers = [
        await api.get(PATH, headers=ADMINISTRATOR),
        await api.post(PATH, json=BODY, headers=ADMINISTRATOR),
        await api.get(ONE, headers=ADMINISTRATOR),
        await api.put(ONE, json=BODY, headers=ADMINISTRATOR),
        await api.delete(ONE, headers=ADMINISTRATOR),
    ]

    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [(403, "notAdministrator")] * 5


@pytest.mark.parametrize("who", ["Bearer ada", "Bearer automation", "Bearer mail automation"])
async def test_it_rejects_callers_without_the_permission_among_them_those_who_manage(
    api: httpx2.AsyncClient, who: str
) -> None:
    headers = {"authorization": who}

    answers = [
        await api.get(PATH, headers=headers),
        await api.post(PATH, json=BODY, headers=headers),
        await api.get(ONE, headers=headers),
        await api.put(ONE, json=BODY, headers=headers),
        await api.delete(ONE, headers=headers),
    ]

    assert [answer.json()["code"] for answer in answers] == ["insufficientScope"] * 5
    assert (await api.get(PATH, headers={"authorization": "Bearer configuration"})).status_code == 200
