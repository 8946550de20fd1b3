# SPDX-License-Identifier: Apache-2.0
"""Templates of groups, teams and guests over HTTP: administered whole, and offered in short to those who ask."""

from typing import Any
from uuid import UUID

import httpx2
import pytest

from chamberlain.core.errors import Conflict, Fault, Forbidden, NotPossible
from tests.http.http_fixture import ADA, BASE, HttpFixture
from tests.template_admin.fake_templates import SECRET, TEAM

PATH = "/admin/collab/v1/templates/"
ONE = f"{PATH}{TEAM}/"
OFFERED = "/collab/v1/templates/"
ADMINISTRATOR = {"authorization": "Bearer administrator"}
CONFIGURATION = {"authorization": "Bearer configuration"}
STAFF = "94000000-0000-4000-8000-000000000001"
GROUP: dict[str, object] = {"kind": "group", "name": "Project group"}
TEAM_BODY: dict[str, object] = {"kind": "team", "name": "Project team"}
GUEST: dict[str, object] = {
    "kind": "guest",
    "name": "Partners",
    "guests": {"allowed": True, "allowedDomains": ["partner.example"]},
    "sharingCapability": "existingGuests",
}
ADDED: dict[str, object] = {
    "id": str(TEAM),
    "createdAt": "2026-11-20T09:00:00.000Z",
    "createdBy": {"type": "user", "id": str(ADA), "displayName": "Ada Achterberg"},
    "updatedAt": "2026-11-20T09:00:00.000Z",
}
# The defaults of a group with nothing but a name.
PLAIN: dict[str, object] = {
    "description": "",
    "active": True,
    "audience": None,
    "naming": {"displayName": "{input}", "mailNickname": None},
    "memberShipType": 0,
    "memberShipTypeChangeable": True,
    "membershipRule": None,
    "owners": [],
    "members": [],
    "minimumOwners": 1,
    "customFields": [],
    "labelId": None,
    "guestTemplateId": None,
    "guestPolicyId": None,
    "approval": None,
    "webhook": None,
}
# Everything a team can say.
WHOLE: dict[str, object] = {
    "kind": "team",
    "name": "Confidential team",
    "description": "For what is not for everybody",
    "active": True,
    "audience": {"users": [str(ADA)], "groups": [STAFF]},
    "naming": {"displayName": "CONF-{input}", "mailNickname": "conf-{input}-{counter:4}"},
    "memberShipType": 1,
    "memberShipTypeChangeable": False,
    "membershipRule": 'user.department -eq "Sales"',
    "owners": [str(ADA)],
    "members": [str(ADA)],
    "minimumOwners": 2,
    "customFields": [
        {"key": "el-text-1", "label": "Customer", "type": "text", "required": False},
        {
            "key": "el-text-2",
            "label": "For whom",
            "type": "choice",
            "required": True,
            "choices": [{"value": "internal", "label": "Internal"}],
        },
    ],
    "labelId": "1abe1000-0000-4000-8000-000000000001",
    "channels": ["General", "Planning"],
    "guestTemplateId": "7e000000-0000-4000-8000-000000000022",
    "guestPolicyId": "90110000-0000-4000-8000-000000000001",
    "approval": {
        "levels": [
            {"mode": "any", "approvers": [{"type": "user", "id": str(ADA)}, {"type": "manager"}]},
            {"mode": "all", "approvers": [{"type": "group", "id": STAFF}]},
        ],
        "deadlineDays": 14,
    },
    "webhook": {
        "url": "https://hooks.estate.example/chamberlain",
        "active": True,
        "hasSecret": True,
        "disabledReason": None,
    },
}


async def created(api: httpx2.AsyncClient, body: dict[str, object]) -> dict[str, Any]:
    answer = await api.post(PATH, json=body, headers=ADMINISTRATOR)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (GROUP, PLAIN),
        (TEAM_BODY, PLAIN | {"channels": []}),
        (
            GUEST,
            {
                "description": "",
                "active": True,
                "guests": {
                    "allowed": True,
                    "addedBy": "owners",
                    "allowedDomains": ["partner.example"],
                    "blockedDomains": [],
                },
                "presentGuests": "keep",
            },
        ),
    ],
)
async def test_it_works(api: httpx2.AsyncClient, sent: dict[str, object], said: dict[str, object]) -> None:
    answer = await api.post(PATH, json=sent, headers=ADMINISTRATOR)

    assert answer.status_code == 201
    assert answer.headers["location"] == f"{BASE}{ONE}"
    assert answer.json() == {**sent, **ADDED, **said}


@pytest.mark.parametrize("body", [GROUP, WHOLE, GUEST])
async def test_what_was_read_can_be_changed_and_put_back(api: httpx2.AsyncClient, body: dict[str, object]) -> None:
    await created(api, body)
    first = await api.get(ONE, headers=ADMINISTRATOR)

    changed = first.json() | {"name": "Another", "id": str(UUID(int=1)), "tenantId": str(UUID(int=2))}
    answer = await api.put(ONE, json=changed, headers=ADMINISTRATOR | {"if-match": first.headers["etag"]})

    assert answer.status_code == 200
    assert answer.json() == {**first.json(), "name": "Another"}
    assert answer.headers["etag"] != first.headers["etag"]
    if body is WHOLE:
        assert WHOLE.items() <= first.json().items()


async def test_a_secret_that_was_made_is_in_one_answer_only(api: httpx2.AsyncClient) -> None:
    made = await created(api, WHOLE)
    read = (await api.get(ONE, headers=ADMINISTRATOR)).json()
    put = (await api.put(ONE, json=read, headers=ADMINISTRATOR)).json()
    listed = (await api.get(PATH, headers=ADMINISTRATOR)).text

    assert made["webhook"]["secret"] == SECRET
    assert (read["webhook"]["hasSecret"], "secret" in read["webhook"], "secret" in put["webhook"]) == (
        True,
        False,
        False,
    )
    assert SECRET not in listed


@pytest.mark.parametrize("body", [GROUP, TEAM_BODY, GUEST])
async def test_the_id_comes_before_the_kind(api: httpx2.AsyncClient, body: dict[str, object]) -> None:
    made = await created(api, body)

    read = (await api.get(ONE, headers=ADMINISTRATOR)).json()
    listed = (await api.get(PATH, headers=ADMINISTRATOR)).json()["items"][0]

    assert [list(each)[:3] for each in (made, read, listed)] == [["id", "kind", "name"]] * 3


@pytest.mark.parametrize(("tag", "status"), [('"1"', 200), ("*", 200), ('"7", "1"', 200), ('"7"', 412), ("1", 412)])
async def test_it_handles_if_match(api: httpx2.AsyncClient, tag: str, status: int) -> None:
    await created(api, GROUP)

    answer = await api.put(ONE, json=GROUP, headers=ADMINISTRATOR | {"if-match": tag})

    assert answer.status_code == status
    assert status == 200 or answer.json()["code"] == "etagStale"


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (('"7"', '"1"'), 200),
        (('"1"', '"7"'), 200),
        (('"7"', '"8", "9"'), 412),
        ((",", ' , "1",'), 200),
        (("*", "*"), 200),
        (("", ""), 412),
    ],
)
async def test_several_lines_of_if_match_are_one_list(
    api: httpx2.AsyncClient, lines: tuple[str, ...], status: int
) -> None:
    await created(api, GROUP)

    headers = [*ADMINISTRATOR.items(), *(("if-match", line) for line in lines)]
    answer = await api.put(ONE, json=GROUP, headers=headers)

    assert answer.status_code == status


async def test_a_deleted_one_is_gone(api: httpx2.AsyncClient) -> None:
    await created(api, GUEST)

    stale = await api.delete(ONE, headers=ADMINISTRATOR | {"if-match": '"7"'})
    deleted = await api.delete(ONE, headers=ADMINISTRATOR)
    again = await api.delete(ONE, headers=ADMINISTRATOR)

    assert [stale.status_code, deleted.status_code, again.status_code] == [412, 204, 404]
    assert (await api.get(ONE, headers=ADMINISTRATOR)).status_code == 404
    assert (await api.put(ONE, json=GUEST, headers=ADMINISTRATOR)).status_code == 404


async def test_it_lists_them_whole_and_of_every_kind(api: httpx2.AsyncClient) -> None:
    guest = await created(api, GUEST)

    listed = await api.get(f"{PATH}?limit=200", headers=ADMINISTRATOR)

    assert listed.json() == {"items": [guest], "nextCursor": None}
    assert (await api.get(f"{PATH}?limit=0", headers=ADMINISTRATOR)).json()["code"] == "invalidParameter"
    assert (await api.get(f"{PATH}?cursor=x", headers=ADMINISTRATOR)).json()["code"] == "invalidCursor"


@pytest.mark.parametrize("who", ["Bearer ada", "Bearer administrator"])
async def test_it_offers_them_in_short_to_those_who_ask(api: httpx2.AsyncClient, who: str) -> None:
    await created(api, WHOLE)

    offered = await api.get(OFFERED, headers={"authorization": who})

    assert offered.json() == {
        "items": [
            {
                "id": str(TEAM),
                "kind": "team",
                "name": "Confidential team",
                "description": "For what is not for everybody",
                "isDefault": False,
                "approvalRequired": True,
                "memberShipType": 1,
                "memberShipTypeChangeable": False,
                "minimumOwners": 2,
                "customFields": WHOLE["customFields"],
            }
        ],
        "nextCursor": None,
    }


@pytest.mark.parametrize(
    ("who", "code"),
    [
        ("Bearer mail", "insufficientScope"),
        ("Bearer automation", "applicationNotSupported"),
        ("Bearer configuration", "applicationNotSupported"),
    ],
)
async def test_it_offers_them_to_nobody_else(api: httpx2.AsyncClient, who: str, code: str) -> None:
    answer = await api.get(OFFERED, headers={"authorization": who})

    assert (answer.status_code, answer.json()["code"]) == (403, code)


async def test_a_replay_is_reported(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.templates.replayed = True

    answer = await api.post(PATH, json=GROUP, headers=ADMINISTRATOR | {"idempotency-key": "k"})

    assert (answer.status_code, answer.headers["idempotency-replayed"]) == (201, "true")
    assert [act.idempotency.key for act in http_fixture.templates.acts if act.idempotency] == ["k"]


@pytest.mark.parametrize(
    ("sent", "pointer", "code"),
    [
        ({"name": "Nothing else"}, "/kind", "missingProperty"),
        (GROUP | {"kind": None}, "/kind", "missingProperty"),
        (GROUP | {"kind": "room"}, "/kind", "unknownValue"),
        (GROUP | {"kind": 1}, "/kind", "unknownValue"),
        (GROUP | {"name": " "}, "/name", "missingProperty"),
        (GROUP | {"memberShiptype": 1}, "/memberShiptype", "unknownProperty"),
        (GROUP | {"memberShipType": 3}, "/memberShipType", "unknownValue"),
        (GROUP | {"minimumOwners": 0}, "/minimumOwners", "outOfBounds"),
        (GROUP | {"owners": ["x"]}, "/owners/0", "malformedId"),
        (GROUP | {"approval": {"levels": []}}, "/approval/levels", "outOfBounds"),
        (
            GROUP | {"approval": {"levels": [{"mode": "any", "approvers": [{"type": "manager"}]}] * 4}},
            "/approval/levels",
            "outOfBounds",
        ),
        (
            GROUP | {"approval": {"levels": [{"mode": "any", "approvers": []}]}},
            "/approval/levels/0/approvers",
            "outOfBounds",
        ),
        (GROUP | {"webhook": {"url": "ftp://x"}}, "/webhook/url", "invalidText"),
        (GROUP | {"webhook": {"url": "https://x/", "secret": "secret"}}, "/webhook/secret", "invalidText"),
        (GROUP | {"sharingCapability": "anyone"}, "/sharingCapability", "unknownProperty"),
        (GUEST | {"guests": None}, "/guests", "missingProperty"),
        (GUEST | {"sharingCapability": "some"}, "/sharingCapability", "unknownValue"),
        (GUEST | {"presentGuests": "disable"}, "/presentGuests", "unknownValue"),
        (GUEST | {"guests": {"allowed": "no"}}, "/guests/allowed", "wrongType"),
        (GUEST | {"guests": {"allowed": True, "addedBy": "anyone"}}, "/guests/addedBy", "unknownValue"),
        (GUEST | {"guests": {"allowed": True, "blockedDomains": ["x"]}}, "/guests/blockedDomains/0", "invalidText"),
        (GUEST | {"webhook": {"url": "https://x/"}}, "/webhook", "unknownProperty"),
    ],
)
async def test_it_rejects_faults_of_form(
    api: httpx2.AsyncClient, sent: dict[str, object], pointer: str, code: str
) -> None:
    posted = await api.post(PATH, json=sent, headers=ADMINISTRATOR)
    put = await api.put(ONE, json=sent, headers=ADMINISTRATOR)

    for answer in (posted, put):
        assert answer.status_code == 400
        assert [(fault["pointer"], fault["code"]) for fault in answer.json()["errors"]] == [(pointer, code)]


async def test_it_rejects_what_is_not_possible(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.templates.refusal = NotPossible([Fault("/guestPolicyId", "policyUnknown", "Choose another.")])

    answer = await api.post(PATH, json=GROUP, headers=ADMINISTRATOR)

    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, "policyUnknown")


async def test_it_rejects_to_delete_what_is_in_use(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.templates.refusal = Conflict("inUse", "Take it out there first.", conflicting_id=str(TEAM))

    answer = await api.delete(ONE, headers=ADMINISTRATOR)

    assert (answer.status_code, answer.json()["code"], answer.json()["conflictingId"]) == (409, "inUse", str(TEAM))


async def test_it_rejects_those_who_are_no_administrators(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.templates.refusal = Forbidden("notAdministrator", "Only administrators may do this.")

    answers = [
        await api.get(PATH, headers=ADMINISTRATOR),
        await api.post(PATH, json=GROUP, headers=ADMINISTRATOR),
        await api.get(ONE, headers=ADMINISTRATOR),
        await api.put(ONE, json=GROUP, headers=ADMINISTRATOR),
        await api.delete(ONE, headers=ADMINISTRATOR),
    ]

    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [(403, "notAdministrator")] * 5


@pytest.mark.parametrize("who", ["Bearer ada", "Bearer mail", "Bearer automation", "Bearer mail automation"])
async def test_it_rejects_callers_without_the_permission_among_them_those_who_manage(
    api: httpx2.AsyncClient, who: str
) -> None:
    headers = {"authorization": who}

    answers = [
        await api.get(PATH, headers=headers),
        await api.post(PATH, json=GROUP, headers=headers),
        await api.get(ONE, headers=headers),
        await api.put(ONE, json=GROUP, headers=headers),
        await api.delete(ONE, headers=headers),
    ]

    assert [answer.json()["code"] for answer in answers] == ["insufficientScope"] * 5
    assert (await api.get(PATH, headers=CONFIGURATION)).status_code == 200
