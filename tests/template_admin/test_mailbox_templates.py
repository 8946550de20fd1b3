# SPDX-License-Identifier: Apache-2.0
"""Mailbox templates over HTTP: administered whole, and offered in short."""

from typing import Any
from uuid import UUID

import httpx2
import pytest

from chamberlain.core.errors import Fault, Forbidden, NotPossible
from tests.http.http_fixture import ADA, BASE, HttpFixture
from tests.template_admin.fake_templates import ROOM, SECRET

PATH = "/admin/mail/v1/templates/"
ONE = f"{PATH}{ROOM}/"
ADMINISTRATOR = {"authorization": "Bearer administrator"}
BODY: dict[str, object] = {"kind": "room", "name": "Quiet room", "defaults": {"hideFromGAL": True, "capacity": 4}}
# Everything a template can say.
WHOLE: dict[str, object] = {
    "kind": "room",
    "name": "Room",
    "description": "Meeting rooms",
    "active": True,
    "isDefault": True,
    "audience": {"users": [str(ADA)], "groups": ["94000000-0000-4000-8000-000000000001"]},
    "domain": "rooms.estate.example",
    "naming": {"address": "room-{input}"},
    "defaults": {"country": "Switzerland", "roomMailboxMetadata": {"hasWhiteboard": True}},
    "customFields": [
        {"key": "el-text-1", "label": "Customer", "type": "text", "required": False},
        {
            "key": "el-choice-1",
            "label": "Secret",
            "type": "choice",
            "required": True,
            "choices": [{"value": "a", "label": "A"}],
        },
    ],
    "approval": {"levels": [{"mode": "any", "approvers": [{"type": "user", "id": str(ADA)}]}], "deadlineDays": 14},
    "webhook": {
        "url": "https://hooks.estate.example/chamberlain",
        "active": True,
        "hasSecret": True,
        "disabledReason": None,
    },
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
        "id": str(ROOM),
        "kind": "room",
        "name": "Quiet room",
        "description": "",
        "active": True,
        "isDefault": False,
        "audience": None,
        "domain": None,
        "naming": {"address": "{input}"},
        "defaults": {"capacity": 4, "hideFromGAL": True},
        "customFields": [],
        "approval": None,
        "webhook": None,
        "createdAt": "2026-11-20T09:00:00.000Z",
        "createdBy": {"type": "user", "id": str(ADA), "displayName": "Ada Achterberg"},
        "updatedAt": "2026-11-20T09:00:00.000Z",
    }


async def test_what_was_read_can_be_changed_and_put_back(api: httpx2.AsyncClient) -> None:
    await created(api, WHOLE)
    first = await api.get(ONE, headers=ADMINISTRATOR)

    changed = first.json() | {"name": "Rooms", "id": str(UUID(int=1)), "tenantId": str(UUID(int=2))}
    answer = await api.put(ONE, json=changed, headers=ADMINISTRATOR | {"if-match": first.headers["etag"]})

    assert answer.status_code == 200
    assert answer.json() == {**first.json(), "name": "Rooms"}
    assert WHOLE.items() <= first.json().items()
    assert answer.headers["etag"] != first.headers["etag"]


async def test_a_put_replaces_the_whole(api: httpx2.AsyncClient) -> None:
    await created(api, WHOLE)

    answer = await api.put(ONE, json={"kind": "room", "name": "Room"}, headers=ADMINISTRATOR)

    assert answer.json() == (await created(api, {"kind": "room", "name": "Room"}))


async def test_a_secret_that_was_made_is_in_one_answer_only(api: httpx2.AsyncClient) -> None:
    webhook = {"url": "https://hooks.estate.example/chamberlain"}

    made = await created(api, BODY | {"webhook": webhook})
    read = (await api.get(ONE, headers=ADMINISTRATOR)).json()
    put = (await api.put(ONE, json=read, headers=ADMINISTRATOR)).json()

    assert made["webhook"] == {**webhook, "active": True, "hasSecret": True, "disabledReason": None, "secret": SECRET}
    assert read["webhook"] == put["webhook"] == {k: v for k, v in made["webhook"].items() if k != "secret"}


@pytest.mark.parametrize(("tag", "status"), [('"1"', 200), ("*", 200), ('"7", "1"', 200), ('"7"', 412), ("1", 412)])
async def test_it_handles_if_match(api: httpx2.AsyncClient, tag: str, status: int) -> None:
    await created(api)

    answer = await api.put(ONE, json=BODY, headers=ADMINISTRATOR | {"if-match": tag})

    assert answer.status_code == status
    assert status == 200 or answer.json()["code"] == "etagStale"


async def test_a_deleted_one_is_gone(api: httpx2.AsyncClient) -> None:
    await created(api)

    stale = await api.delete(ONE, headers=ADMINISTRATOR | {"if-match": '"7"'})
    deleted = await api.delete(ONE, headers=ADMINISTRATOR)
    again = await api.delete(ONE, headers=ADMINISTRATOR)

    assert [stale.status_code, deleted.status_code, again.status_code] == [412, 204, 404]
    assert deleted.content == b""
    assert (await api.get(ONE, headers=ADMINISTRATOR)).status_code == 404
    assert (await api.put(ONE, json=BODY, headers=ADMINISTRATOR)).status_code == 404


async def test_it_lists_them_whole_for_administrators_and_in_short_for_those_who_ask(api: httpx2.AsyncClient) -> None:
    await created(api, WHOLE)
    whole = (await api.get(ONE, headers=ADMINISTRATOR)).json()

    listed = (await api.get(PATH, headers=ADMINISTRATOR)).json()
    offered = (await api.get("/mail/v1/templates/", headers={"authorization": "Bearer mail"})).json()

    assert listed == {"items": [whole], "nextCursor": None}
    assert offered == {
        "items": [
            {
                "id": str(ROOM),
                "kind": "room",
                "name": "Room",
                "description": "Meeting rooms",
                "isDefault": True,
                "approvalRequired": True,
                "customFields": WHOLE["customFields"],
            }
        ],
        "nextCursor": None,
    }


async def test_a_replay_is_reported(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.templates.replayed = True

    answer = await api.post(PATH, json=BODY, headers=ADMINISTRATOR | {"idempotency-key": "k"})

    assert (answer.status_code, answer.headers["idempotency-replayed"]) == (201, "true")
    assert [act.idempotency.key for act in http_fixture.templates.acts if act.idempotency] == ["k"]


@pytest.mark.parametrize(
    ("change", "pointer", "code"),
    [
        ({"kind": "group"}, "/kind", "unknownValue"),
        ({"kind": None}, "/kind", "missingProperty"),
        ({"name": " "}, "/name", "missingProperty"),
        ({"name": None}, "/name", "missingProperty"),
        ({"isdefault": True}, "/isdefault", "unknownProperty"),
        ({"defaults": {"hideFromGal": True}}, "/defaults/hideFromGal", "unknownProperty"),
        ({"defaults": {"name": "x"}}, "/defaults/name", "unknownProperty"),
        ({"defaults": {"capacity": -1}}, "/defaults/capacity", "outOfBounds"),
        ({"domain": "nowhere"}, "/domain", "invalidText"),
        ({"webhook": {"url": "ftp://x"}}, "/webhook/url", "invalidText"),
        ({"webhook": {"url": "https://x/", "secret": "whsec_"}}, "/webhook/secret", "invalidText"),
        ({"webhook": {"url": "https://x/", "secret": f"whsec_{'A' * 28}"}}, "/webhook/secret", "invalidText"),
        ({"webhook": {"url": "https://x/", "secret": f"whsec_{'A' * 87}="}}, "/webhook/secret", "invalidText"),
        ({"webhook": {"url": "https://x/", "secret": f"whsec_{'A' * 88}"}}, "/webhook/secret", "invalidText"),
        ({"webhook": {"url": "https://x/", "secret": f"{'A' * 32}"}}, "/webhook/secret", "invalidText"),
        ({"approval": {"levels": []}}, "/approval/levels", "outOfBounds"),
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


async def test_it_rejects_what_is_not_possible(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.templates.refusal = NotPossible([Fault("/domain", "domainNotVerified", "Choose another.")])

    answer = await api.post(PATH, json=BODY, headers=ADMINISTRATOR)

    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, "domainNotVerified")


async def test_it_rejects_those_who_are_no_administrators(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.templates.refusal = Forbidden("notAdministrator", "Only administrators may do this.")

    answers = [
        await api.get(PATH, headers=ADMINISTRATOR),
        await api.post(PATH, json=BODY, headers=ADMINISTRATOR),
        await api.get(ONE, headers=ADMINISTRATOR),
        await api.put(ONE, json=BODY, headers=ADMINISTRATOR),
        await api.delete(ONE, headers=ADMINISTRATOR),
    ]

    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [(403, "notAdministrator")] * 5


@pytest.mark.parametrize("who", ["Bearer ada", "Bearer mail", "Bearer automation"])
async def test_it_rejects_callers_without_the_permission(api: httpx2.AsyncClient, who: str) -> None:
    headers = {"authorization": who}

    answers = [
        await api.get(PATH, headers=headers),
        await api.post(PATH, json=BODY, headers=headers),
        await api.put(ONE, json=BODY, headers=headers),
        await api.delete(ONE, headers=headers),
    ]

    assert [answer.json()["code"] for answer in answers] == ["insufficientScope"] * 4
    assert (await api.get(PATH, headers={"authorization": "Bearer mail automation"})).status_code == 200
