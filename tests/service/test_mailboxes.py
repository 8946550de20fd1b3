# SPDX-License-Identifier: Apache-2.0
"""Mailboxes from body to mailbox, as a user of curl sees them."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from uuid import uuid4

import httpx2
import pytest

from tests.services import ADA, API, BEN, ZOE_MAIL, Installation, Service

SHARED = "7e000000-0000-4000-8000-000000000001"
ROOM = "7e000000-0000-4000-8000-000000000003"
MAIL = f"{API}/mail/App.ReadWrite.All"
ADA_MAIL, BEN_MAIL = "ada@estate.example", "ben@estate.example"
TOGETHER = 200


def post(
    service: Service, body: Mapping[str, object], who: str = ADA_MAIL, scope: str = MAIL, **headers: str
) -> httpx2.Response:
    return httpx2.post(
        f"{service.url}/mail/v1/mailboxes/", json=body, headers={**service.headers(who, scope), **headers}, timeout=20
    )


def unique(name: str) -> str:
    """The tests of a session share one service, and names are taken for good."""
    return f"{name} {uuid4().hex[:8]}"


def full_shared_body() -> dict[str, object]:
    return {
        "name": unique("Info"),
        "displayName": "Information",
        "templateId": SHARED,
        "permissions": {BEN: "FullAccess", ADA: "None"},
        "metadata": {"el-any": "value", "flag": True},
        "capacity": 500,
        "state": "new",
        "streetAddress": "Main Street 1",
        "companyName": "Estate",
        "postalCode": "8000",
        "city": "Zürich",
        "country": "Switzerland",
        "phone": "+41 44 000 00 00",
        "department": "Workshops",
        "domain": "estate.example",
        "audioDeviceName": "a",
        "displayDeviceName": "d",
        "videoDeviceName": "v",
        "businessPhones": ["+41 44 000 00 01"],
        "primaryOwner": ADA,
        "secondaryOwner": BEN,
        "automaticReply": "Thank you.\nWe answer soon.",
        "isAllowAutomaticReplyOverride": True,
        "hideFromGAL": False,
        "autoMapping": False,
        "tags": ["quiet"],
        "notes": "A note",
        "reason": "Because",
        "alias": f"hello-{uuid4().hex[:8]}",
    }


def equipment_body() -> dict[str, object]:
    return {
        "name": unique("Projector"),
        "displayName": "Projector",
        "permissions": {},
        "metadata": {"equipmentType": "projector"},
        "capacity": 1,
    }


def room_body() -> dict[str, object]:
    return {
        "name": unique("Atlas"),
        "displayName": "Room Atlas",
        "capacity": 12,
        "roomMailboxMetadata": {"hasWhiteboard": True, "hasConferencePhone": False},
    }


BODIES = [full_shared_body, equipment_body, room_body]


@pytest.mark.parametrize("body_of", BODIES)
def test_it_works_for_each_type(service: Service, body_of: Callable[[], dict[str, object]]) -> None:
    body = body_of()

    created = post(service, body, prefer="wait=10")

    assert created.status_code == 201, created.text
    assert created.json()["provisioningState"] == "active"
    shown = httpx2.get(created.headers["location"], headers=service.headers(scope=MAIL)).json()
    assert {name: shown[name] for name in body} == body
    assert set(shown) - set(body) <= {
        "id", "type", "primarySmtpAddress", "templateId", "templateSource", "capacityUnit", "provisioningState",
        "requestId", "error", "warnings", "warningReasons", "createdAt", "createdBy", "updatedAt", "permissions",
    }  # fmt: skip


@pytest.mark.parametrize("body_of", BODIES)
def test_it_is_active_within_a_second(installation: Installation, body_of: Callable[[], dict[str, object]]) -> None:
    took = [time_until_active(installation, body_of()) for _ in range(3)]

    # Other load delays a job, so the fastest one counts.
    assert min(took) < timedelta(seconds=1)


def time_until_active(installation: Installation, body: dict[str, object]) -> timedelta:
    """Create a mailbox through one process, and measure the time until the other one reports it active."""
    queued = post(installation.one, body)
    assert (queued.status_code, queued.json()["provisioningState"]) == (202, "queued")
    installation.other.wait_for_end(queued.json()["requestId"])
    address = f"{installation.other.url}/mail/v1/mailboxes/{queued.json()['id']}/"
    shown = httpx2.get(address, headers=installation.other.headers(scope=MAIL)).json()
    assert shown["provisioningState"] == "active"
    return datetime.fromisoformat(shown["updatedAt"]) - datetime.fromisoformat(shown["createdAt"])


def test_it_is_queued_with_its_addresses(service: Service) -> None:
    answer = post(service, room_body())

    shown = answer.json()
    assert answer.status_code == 202
    assert answer.headers["location"] == f"{service.url}/mail/v1/mailboxes/{shown['id']}/"
    assert answer.headers["operation-location"] == f"{service.url}/requests/v1/{shown['requestId']}/"
    assert (shown["type"], shown["templateSource"], shown["approvalRequired"]) == ("room", "default", False)


def test_an_application_may_ask_and_its_call_is_replayed_by_its_key(service: Service) -> None:
    body, key = room_body(), uuid4().hex
    scope = f"{API}/.default"

    first = post(service, body, "automation", scope, **{"idempotency-key": key})
    second = post(service, body, "automation", scope, **{"idempotency-key": key})

    assert (first.status_code, second.status_code) == (202, 202)
    assert second.headers["idempotency-replayed"] == "true"
    assert second.json()["id"] == first.json()["id"]


@pytest.mark.parametrize(
    ("changes", "status", "codes"),
    [
        pytest.param({"templateId": SHARED, "officeLocation": "x"}, 422, ["propertyNotApplicable"] * 2, id="of a room"),
        pytest.param({"templateId": ROOM, "alias": "x"}, 422, ["propertyNotApplicable"], id="an alias of a room"),
        pytest.param({"alias": "x"}, 422, ["typeAmbiguous"], id="of two types"),
        pytest.param({"roomMailboxMetadata": None}, 422, ["typeNotRecognised"], id="of no type"),
        pytest.param({"hideFromGal": True}, 400, ["unknownProperty"], id="misspelt"),
        pytest.param({"name": "a@b"}, 400, ["invalidText"], id="an address for a name"),
        pytest.param({"domain": "elsewhere.example"}, 422, ["domainNotVerified"], id="foreign domain"),
        pytest.param({"primaryOwner": str(uuid4())}, 422, ["userUnknown"], id="unknown owner"),
    ],
)
def test_it_rejects_with_every_reason(
    service: Service, changes: dict[str, object], status: int, codes: list[str]
) -> None:
    answer = post(service, {**room_body(), **changes})

    assert answer.status_code == status, answer.text
    assert [fault["code"] for fault in answer.json()["errors"]] == codes


def test_it_names_each_property_that_a_shared_mailbox_does_not_have(service: Service) -> None:
    room = {"roomMailboxMetadata": {"hasWhiteboard": True}, "officeLocation": "HQ - Floor 5"}

    answer = post(service, full_shared_body() | room)

    assert (answer.status_code, answer.json()["code"]) == (422, "notPossible")
    errors = answer.json()["errors"]
    assert sorted(fault["pointer"] for fault in errors) == ["/officeLocation", "/roomMailboxMetadata"]
    assert [fault["code"] for fault in errors] == ["propertyNotApplicable"] * 2


def test_it_names_the_right_spelling(service: Service) -> None:
    answer = post(service, room_body() | {"hideFromGal": True})

    assert answer.status_code == 400
    (fault,) = answer.json()["errors"]
    assert (fault["pointer"], fault["code"]) == ("/hideFromGal", "unknownProperty")
    assert "hideFromGAL" in fault["detail"]


def test_it_rejects_a_type_without_a_default_template(service: Service) -> None:
    # The second tenant has a template for shared mailboxes and no other.
    answer = post(service, room_body(), ZOE_MAIL)

    assert answer.status_code == 422
    assert [(fault["pointer"], fault["code"]) for fault in answer.json()["errors"]] == [
        ("/templateId", "noDefaultTemplate")
    ]


def test_of_two_hundred_who_ask_at_once_for_one_name_one_gets_it(installation: Installation) -> None:
    """On all processes at once, in every letter case, by two of whom one may not read what the other gets."""
    name = f"conference {uuid4().hex[:8]}"
    names = ["".join(c.upper() if n >> place % 8 & 1 else c for place, c in enumerate(name)) for n in range(TOGETHER)]

    answers = asyncio.run(post_at_once(installation, [{**room_body(), "name": each} for each in names]))

    assert Counter(answer.status_code for answer in answers) == {202: 1, 409: TOGETHER - 1}
    (won,) = [number for number, answer in enumerate(answers) if answer.status_code == 202]
    winner = answers[won].json()["id"]
    told = [answer.json().get("conflictingId") for answer in answers]
    assert {answer.json()["code"] for answer in answers if answer.status_code == 409} == {"nameTaken"}
    assert {told[number] for number in range(won % 2, TOGETHER, 2) if number != won} == {winner}
    assert {told[number] for number in range(1 - won % 2, TOGETHER, 2)} == {None}
    for who in (ADA_MAIL, BEN_MAIL):
        expected = [winner] if (who == ADA_MAIL) is (won % 2 == 0) else []
        assert ids_of(installation.other, who, name) == expected


async def post_at_once(installation: Installation, bodies: Sequence[Mapping[str, object]]) -> list[httpx2.Response]:
    """All bodies at once, each on a connection of its own: every other one by Ben, every third of the other process."""
    services = (installation.one, installation.one, installation.other)
    # Tokens are fetched by a command, which must not delay the calls.
    headers = {(service.port, who): service.headers(who, MAIL) for service in services for who in (ADA_MAIL, BEN_MAIL)}
    async with httpx2.AsyncClient(limits=httpx2.Limits(max_connections=len(bodies)), timeout=30) as client:
        calls = []
        for number, body in enumerate(bodies):
            service, who = services[number % 3], (ADA_MAIL, BEN_MAIL)[number % 2]
            address = f"{service.url}/mail/v1/mailboxes/"
            calls.append(client.post(address, json=body, headers=headers[service.port, who]))
        return await asyncio.gather(*calls)


def ids_of(service: Service, who: str, name: str) -> list[str]:
    """The visible mailboxes of a caller whose names begin so."""
    address = f"{service.url}/mail/v1/mailboxes/"
    answer = httpx2.get(address, params={"type": "room", "q": name}, headers=service.headers(who, MAIL))
    assert answer.status_code == 200, answer.text
    return [each["id"] for each in answer.json()["items"]]


def test_it_rejects_a_name_that_is_taken_and_tells_who_may_read_it_by_whom(service: Service) -> None:
    body = room_body()
    holder = post(service, body).json()["id"]

    own = post(service, {**body, "name": str(body["name"]).upper()})
    others = post(service, body, "ben@estate.example")

    assert (own.status_code, own.json()["code"], own.json()["conflictingId"]) == (409, "nameTaken", holder)
    assert (others.status_code, others.json()["code"]) == (409, "nameTaken")
    assert "conflictingId" not in others.json()


def test_a_list_shows_what_one_may_read_and_a_stranger_finds_nothing(service: Service) -> None:
    body = {**room_body(), "permissions": {BEN: "SendAs"}}
    mailbox = post(service, body).json()

    def seen(who: str) -> list[str]:
        return ids_of(service, who, str(body["name"]))

    assert seen(ADA_MAIL) == seen("ben@estate.example") == [mailbox["id"]]
    assert seen("cleo@estate.example") == seen("zoe@other.example") == []
    one = f"{service.url}/mail/v1/mailboxes/{mailbox['id']}/"
    assert httpx2.get(one, headers=service.headers("zoe@other.example", MAIL)).status_code == 404
    assert httpx2.get(one, headers=service.headers("cleo@estate.example", MAIL)).status_code == 404
