"""Mailboxes from body to mailbox, as somebody with curl meets them."""

from collections.abc import Mapping
from uuid import uuid4

import httpx2
import pytest

from tests.services import ADA, API, BEN, Service

SHARED = "7e000000-0000-4000-8000-000000000001"
MAIL = f"{API}/mail/App.ReadWrite.All"
ADA_MAIL = "ada@estate.example"


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
        "department": "Sales",
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


@pytest.mark.parametrize("body_of", [full_shared_body, equipment_body, room_body])
def test_it_works_for_each_type(service: Service, body_of: object) -> None:
    assert callable(body_of)
    body = body_of()

    created = post(service, body, prefer="wait=10")

    assert created.status_code == 201, created.text
    assert created.json()["provisioningState"] == "active"
    shown = httpx2.get(created.headers["location"], headers=service.headers(scope=MAIL)).json()
    assert {name: shown[name] for name in body} == body
    assert set(shown) - set(body) <= {
        "id", "type", "primarySmtpAddress", "templateId", "templateSource", "capacityUnit", "provisioningState",
        "requestId", "error", "warnings", "createdAt", "createdBy", "updatedAt", "permissions",
    }  # fmt: skip


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
        address = f"{service.url}/mail/v1/mailboxes/"
        answer = httpx2.get(
            address, params={"type": "room", "q": str(body["name"])}, headers=service.headers(who, MAIL)
        )
        assert answer.status_code == 200, answer.text
        return [each["id"] for each in answer.json()["items"]]

    assert seen(ADA_MAIL) == seen("ben@estate.example") == [mailbox["id"]]
    assert seen("cleo@estate.example") == seen("zoe@other.example") == []
    one = f"{service.url}/mail/v1/mailboxes/{mailbox['id']}/"
    assert httpx2.get(one, headers=service.headers("zoe@other.example", MAIL)).status_code == 404
    assert httpx2.get(one, headers=service.headers("cleo@estate.example", MAIL)).status_code == 404
