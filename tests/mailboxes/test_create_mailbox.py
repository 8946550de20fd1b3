# SPDX-License-Identifier: Apache-2.0
"""Asking for a mailbox over HTTP: what comes in, what goes out, and who may."""

import json
from datetime import timedelta

import httpx2
import pytest

from chamberlain.auth.models import Caller
from chamberlain.core.errors import Conflict, Fault, Forbidden, KeyReused, LimitReached, NotPossible, Unavailable
from chamberlain.core.ids import MailboxId, TemplateId, UserId
from chamberlain.directory.mailboxes import MailboxOrder, PermissionLevel, RoomEquipment
from chamberlain.http.request import LIMIT
from chamberlain.mailboxes.models import MailboxRecord, ProvisioningState
from chamberlain.requests.models import RequestResult
from tests.http.http_fixture import (
    ADA,
    BASE,
    CALLERS,
    DARA,
    ESTATE,
    MAILBOX_ID,
    PREFIX,
    REQUEST,
    ROOM_TEMPLATE,
    HttpFixture,
)

PATH = "/mail/v1/mailboxes/"
BODY: dict[str, object] = {"name": "Atlas", "displayName": "Room Atlas", "officeLocation": "HQ"}
WHOLE: dict[str, object] = BODY | {
    "templateId": str(ROOM_TEMPLATE),
    "permissions": {str(ADA): "FullAccess", str(DARA): "None"},
    "metadata": {"el-text-1": "x", "quiet": True},
    "capacity": 12,
    "state": "in use",
    "streetAddress": "1 High Street",
    "companyName": "Estate",
    "postalCode": "8000",
    "city": "Zürich",
    "country": "Switzerland",
    "phone": "+41 44 000 00 00",
    "department": "Sales",
    "domain": "rooms.estate.example",
    "audioDeviceName": "Speaker",
    "displayDeviceName": "Screen",
    "videoDeviceName": "Camera",
    "businessPhones": ["+41 44 000 00 01"],
    "primaryOwner": str(ADA),
    "secondaryOwner": str(DARA),
    "automaticReply": "Thanks.\nBye.",
    "isAllowAutomaticReplyOverride": False,
    "isWheelChairAccessible": True,
    "hideFromGAL": True,
    "autoMapping": False,
    "tags": ["quiet"],
    "roomMailboxMetadata": {"hasConferencePhone": False, "hasWhiteboard": True, "hasVideoConferencing": True},
    "notes": "A\n\tnote.",
    "reason": "Because.",
    "alias": "atlas-room",
}
ADDED: dict[str, object] = {
    "id": str(MAILBOX_ID),
    "type": "room",
    "primarySmtpAddress": "atlas@rooms.estate.example",
    "templateId": str(ROOM_TEMPLATE),
    "templateSource": "default",
    "capacityUnit": "people",
    "provisioningState": "queued",
    "requestId": str(REQUEST),
    "error": None,
    "warnings": [],
    "warningReasons": [],
    "createdAt": "2026-11-20T09:30:00.000Z",
    "createdBy": {"type": "user", "id": str(ADA), "displayName": "Ada Achterberg"},
    "updatedAt": "2026-11-20T09:30:00.000Z",
    "tenantId": str(ESTATE),
    "approvalRequired": False,
}
ADDRESSES = {
    "location": f"{BASE}/mail/v1/mailboxes/{MAILBOX_ID}/",
    "operation-location": f"{BASE}/requests/v1/{REQUEST}/",
}
RESULT = RequestResult("mailbox", MAILBOX_ID, "Room Atlas", "atlas@rooms.estate.example")


@pytest.fixture(autouse=True)
def signed_in(api: httpx2.AsyncClient) -> None:
    """As Ada with the permission for mailboxes, where a test does not say otherwise."""
    api.headers["authorization"] = "Bearer mail"


async def test_it_works(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    answer = await api.post(PATH, json=BODY)

    assert answer.status_code == 202
    assert answer.json() == {**BODY, "permissions": {}, **ADDED}
    assert {name: answer.headers[name] for name in ADDRESSES} == ADDRESSES
    assert answer.headers["retry-after"] == "1"
    assert answer.headers["content-type"] == "application/json"
    assert not {"idempotency-replayed", "preference-applied"} & set(answer.headers)
    [(caller, order, submission)] = http_fixture.mailbox_orders
    assert caller == CALLERS["Bearer mail"]
    assert order == MailboxOrder("Atlas", "Room Atlas", office_location="HQ")
    assert json.loads(submission.body) == BODY
    assert submission.idempotency is None
    assert submission.trace_id == answer.headers["request-id"]
    assert submission.client_address == "127.0.0.1"


async def test_it_takes_every_property_and_shows_it_as_it_was_sent(
    api: httpx2.AsyncClient, http_fixture: HttpFixture
) -> None:
    answer = await api.post(PATH, json=WHOLE)

    assert answer.status_code == 202
    assert answer.json() == {**WHOLE, **ADDED}
    [(_, order, _)] = http_fixture.mailbox_orders
    assert order == MailboxOrder(
        "Atlas",
        "Room Atlas",
        TemplateId(ROOM_TEMPLATE),
        "atlas-room",
        permissions={UserId(ADA): PermissionLevel.FULL_ACCESS, DARA: PermissionLevel.NONE},
        metadata={"el-text-1": "x", "quiet": True},
        capacity=12,
        state="in use",
        street_address="1 High Street",
        office_location="HQ",
        company_name="Estate",
        postal_code="8000",
        city="Zürich",
        country="Switzerland",
        phone="+41 44 000 00 00",
        department="Sales",
        domain="rooms.estate.example",
        audio_device_name="Speaker",
        display_device_name="Screen",
        video_device_name="Camera",
        business_phones=("+41 44 000 00 01",),
        primary_owner=UserId(ADA),
        secondary_owner=DARA,
        automatic_reply="Thanks.\nBye.",
        is_allow_automatic_reply_override=False,
        is_wheel_chair_accessible=True,
        hide_from_gal=True,
        auto_mapping=False,
        tags=("quiet",),
        room_mailbox_metadata=RoomEquipment(
            has_conference_phone=False, has_whiteboard=True, has_video_conferencing=True
        ),
        notes="A\n\tnote.",
        reason="Because.",
    )


async def test_it_takes_null_as_not_sent(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    nothing = dict.fromkeys(WHOLE.keys() - BODY.keys())

    answer = await api.post(PATH, json=BODY | nothing)

    assert answer.status_code == 202
    assert answer.json() == {**BODY, "permissions": {}, **ADDED}
    [(_, order, _)] = http_fixture.mailbox_orders
    assert order == MailboxOrder("Atlas", "Room Atlas", office_location="HQ")


async def test_ids_are_taken_in_either_letter_case_and_numbers_in_either_form(api: httpx2.AsyncClient) -> None:
    loud = {"primaryOwner": str(ADA).upper(), "permissions": {str(DARA).upper(): "SendAs"}, "capacity": 12.0}

    shown = (await api.post(PATH, json=BODY | loud)).json()

    assert (shown["primaryOwner"], shown["permissions"]) == (str(ADA), {str(DARA): "SendAs"})
    assert json.dumps(shown["capacity"]) == "12"


async def test_it_needs_no_slash_at_the_end(api: httpx2.AsyncClient) -> None:
    assert (await api.post(PATH.rstrip("/"), json=BODY)).status_code == 202


async def test_it_says_that_an_approval_is_needed(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.approval_required = True
    # With a wait it would be made at once; an approval is not waited for.
    http_fixture.result, http_fixture.mailbox_state = RESULT, ProvisioningState.ACTIVE
    http_fixture.ended.set()

    answer = await api.post(PATH, json=BODY, headers={"prefer": "wait=30"})

    assert (answer.status_code, answer.json()["approvalRequired"]) == (202, True)


@pytest.mark.parametrize("who", ["Bearer mail", "Bearer mail manager", "Bearer mail automation"])
async def test_users_and_applications_with_the_permission_may(
    api: httpx2.AsyncClient, http_fixture: HttpFixture, who: str
) -> None:
    answer = await api.post(PATH, json=BODY, headers={"authorization": who})

    assert answer.status_code == 202
    assert [caller for caller, _, _ in http_fixture.mailbox_orders] == [CALLERS[who]]


@pytest.mark.parametrize(
    ("who", "sufficient"),
    [
        # To create groups, or to administer everything, is none to create mailboxes.
        ("Bearer ada", ["mail/App.ReadWrite.All"]),
        ("Bearer administrator", ["mail/App.ReadWrite.All"]),
        ("Bearer powerless", ["mail/App.ReadWrite.All"]),
        ("Bearer automation", ["admin/Mail.Manage.ReadWrite.All", "admin/Mail.Config.ReadWrite.All"]),
    ],
)
async def test_it_rejects_callers_without_the_permission(
    api: httpx2.AsyncClient, http_fixture: HttpFixture, who: str, sufficient: list[str]
) -> None:
    answer = await api.post(PATH, json=BODY, headers={"authorization": who})

    assert (answer.status_code, answer.json()["code"]) == (403, "insufficientScope")
    told = answer.headers["www-authenticate"]
    assert 'error="insufficient_scope"' in told
    assert [name in told for name in (f"{PREFIX}/{each}" for each in sufficient)] == [True] * len(sufficient)
    assert not http_fixture.mailbox_orders


async def test_it_rejects_callers_without_a_token(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    del api.headers["authorization"]

    answer = await api.post(PATH, json=BODY)

    assert (answer.status_code, answer.json()["code"]) == (401, "tokenMissing")
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert not http_fixture.mailbox_orders


async def test_a_dry_run_tells_what_would_come_of_it(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    answer = await api.post(f"{PATH}?dryRun=true", json=BODY, headers={"idempotency-key": "k", "prefer": "wait=5"})

    assert answer.status_code == 200
    assert answer.json() == {
        "dryRun": True,
        "kind": "room",
        "template": {"id": str(ROOM_TEMPLATE), "name": "Room"},
        "templateSource": "default",
        "name": "Atlas",
        "displayName": "Room Atlas",
        "address": "atlas@rooms.estate.example",
        "owners": [{"id": str(ADA), "displayName": "Ada Achterberg"}],
        "approvalRequired": True,
        "approvals": [{"level": 1, "mode": "any", "approvers": [{"id": str(DARA), "displayName": "Dara Lindqvist"}]}],
        "steps": [{"name": "createMailbox", "title": "Create the mailbox"}],
        "conflicts": [{"code": "nameTaken", "pointer": "/name", "detail": "Choose another name."}],
        "warnings": ["The number in the name is drawn when the request is sent. Zeros replace it here."],
        "warningReasons": [
            {
                "code": "nameNumberDrawn",
                "detail": "The number in the name is drawn when the request is sent. Zeros replace it here.",
                "values": {},
            }
        ],
    }
    assert not {"location", "operation-location", "retry-after", "preference-applied"} & set(answer.headers)
    [(caller, order)] = http_fixture.mailbox_dry_runs
    assert (caller, order.name) == (CALLERS["Bearer mail"], "Atlas")
    assert (http_fixture.mailbox_orders, http_fixture.awaiting) == ([], [])


async def test_false_is_no_dry_run(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    answer = await api.post(f"{PATH}?dryRun=false", json=BODY)

    assert answer.status_code == 202
    assert (len(http_fixture.mailbox_orders), http_fixture.mailbox_dry_runs) == (1, [])


async def test_a_dry_run_is_refused_for_what_the_request_would_be(
    api: httpx2.AsyncClient, http_fixture: HttpFixture
) -> None:
    http_fixture.refusal = NotPossible([Fault("/alias", "propertyNotApplicable", "Leave it out.")])

    answer = await api.post(f"{PATH}?dryRun=true", json=BODY)

    assert (answer.status_code, answer.json()["code"]) == (422, "notPossible")
    assert answer.json()["errors"] == [
        {"pointer": "/alias", "code": "propertyNotApplicable", "detail": "Leave it out."}
    ]


async def test_it_waits_for_the_mailbox_when_that_is_preferred(
    api: httpx2.AsyncClient, http_fixture: HttpFixture
) -> None:
    http_fixture.result = RESULT
    http_fixture.mailbox_state = ProvisioningState.ACTIVE
    http_fixture.ended.set()

    answer = await api.post(PATH, json=BODY, headers={"prefer": "wait=10"})

    assert answer.status_code == 201
    assert answer.json() == {**BODY, "permissions": {}, **ADDED, "provisioningState": "active"}
    assert {name: answer.headers[name] for name in ADDRESSES} == ADDRESSES
    assert answer.headers["preference-applied"] == "wait"
    assert "retry-after" not in answer.headers


@pytest.mark.parametrize("prefer", ["wait=10", "respond-async", "wait=0"])
async def test_without_a_mailbox_it_answers_as_usual(
    api: httpx2.AsyncClient, http_fixture: HttpFixture, prefer: str
) -> None:
    # It has ended, and nothing came of it.
    http_fixture.ended.set()

    answer = await api.post(PATH, json=BODY, headers={"prefer": prefer})

    assert answer.status_code == 202
    assert answer.headers["retry-after"] == "1"
    assert "preference-applied" not in answer.headers


class UnreadableMailboxes(HttpFixture):
    """One that takes orders and cannot be asked about them."""

    async def read_mailbox(self, caller: Caller, mailbox_id: MailboxId) -> MailboxRecord:
        raise Unavailable("overloaded", f"Nobody tells {caller.id} about {mailbox_id}.")


async def test_what_was_accepted_is_not_refused_because_it_cannot_be_read_at_once() -> None:
    http_fixture = UnreadableMailboxes(result=RESULT)
    http_fixture.ended.set()
    transport = httpx2.ASGITransport(app=http_fixture.app())
    headers = {"authorization": "Bearer mail", "prefer": "wait=10"}

    async with httpx2.AsyncClient(transport=transport, base_url=BASE, headers=headers) as client:
        answer = await client.post(PATH, json=BODY)

    assert (answer.status_code, answer.json()["provisioningState"]) == (202, "queued")


async def test_a_replay_is_reported_and_not_waited_for(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.replayed = True
    # With a wait it would be made at once.
    http_fixture.result, http_fixture.mailbox_state = RESULT, ProvisioningState.ACTIVE
    http_fixture.ended.set()

    answer = await api.post(PATH, json=BODY, headers={"idempotency-key": "k", "prefer": "wait=30"})

    assert (answer.status_code, answer.headers["idempotency-replayed"]) == (202, "true")
    assert {name: answer.headers[name] for name in ADDRESSES} == ADDRESSES


async def digest(api: httpx2.AsyncClient, http_fixture: HttpFixture, body: str, path: str = PATH) -> bytes:
    headers = {"idempotency-key": "k", "content-type": "application/json"}
    answer = await api.post(path, content=body, headers=headers)
    assert answer.status_code == 202, answer.text
    idempotency = http_fixture.mailbox_orders[-1][2].idempotency
    assert idempotency is not None
    assert idempotency.key == "k"
    return idempotency.digest


async def test_it_knows_a_body_by_its_value(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    first = await digest(
        api, http_fixture, '{"name": "H\\u00e9", "displayName": "x", "capacity": 2, "metadata": {"a": "1", "b": true}}'
    )
    same = '{"metadata":{"b":true,"a":"1"},"capacity":2.0,"displayName":"x","name":"Hé"}'
    other = '{"metadata":{"b":true,"a":"1"},"capacity":2.0,"displayName":"x","name":"hé"}'

    assert await digest(api, http_fixture, same) == first
    assert await digest(api, http_fixture, same, PATH.rstrip("/")) == first
    assert await digest(api, http_fixture, other) != first


@pytest.mark.parametrize("key", ["", "two words", "é", "k" * 256, "tab\t"])
async def test_it_rejects_an_idempotency_key_that_is_none(
    api: httpx2.AsyncClient, http_fixture: HttpFixture, key: str
) -> None:
    answer = await api.post(PATH, json=BODY, headers=[(b"idempotency-key", key.encode())])

    assert (answer.status_code, answer.json()["code"]) == (400, "invalidParameter")
    assert not http_fixture.mailbox_orders


async def test_it_tells_all_faults_of_form_together(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    body = {
        "name": " ",
        "templateId": "x",
        "permissions": {"ada": "FullAccess", str(ADA): "Owner"},
        "capacity": -1,
        "hideFromGal": True,
        "businessPhones": ["1", 2],
        "roomMailboxMetadata": {"hasPiano": True},
        "notes": "bell \a",
        "tags": ["x"] * 33,
    }

    answer = await api.post(f"{PATH}?dry=1", json=body, headers={"idempotency-key": "two words"})

    assert (answer.status_code, answer.json()["code"]) == (400, "invalidBody")
    assert [(fault["pointer"], fault["code"]) for fault in answer.json()["errors"][:2]] == [
        ("", "unknownParameter"),
        ("", "invalidParameter"),
    ]
    assert {(fault["pointer"], fault["code"]) for fault in answer.json()["errors"][2:]} == {
        ("/name", "missingProperty"),
        ("/displayName", "missingProperty"),
        ("/templateId", "malformedId"),
        ("/permissions/ada", "malformedId"),
        (f"/permissions/{ADA}", "unknownValue"),
        ("/capacity", "outOfBounds"),
        ("/hideFromGal", "unknownProperty"),
        ("/businessPhones/1", "wrongType"),
        ("/roomMailboxMetadata/hasPiano", "unknownProperty"),
        ("/notes", "invalidText"),
        ("/tags", "outOfBounds"),
    }
    assert not http_fixture.mailbox_orders


async def test_it_names_the_right_spelling_of_an_unknown_property(
    api: httpx2.AsyncClient, http_fixture: HttpFixture
) -> None:
    answer = await api.post(PATH, json=BODY | {"hideFromGal": True})

    assert (answer.status_code, answer.json()["code"]) == (400, "invalidBody")
    [fault] = answer.json()["errors"]
    assert (fault["pointer"], fault["code"]) == ("/hideFromGal", "unknownProperty")
    assert "Did you mean hideFromGAL?" in fault["detail"]
    assert not http_fixture.mailbox_orders


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "notJson"),
        (b"{", "notJson"),
        (b'{"name": "\xff"}', "notJson"),
        (b'{"name": NaN}', "notJson"),
        (b"[]", "notAnObject"),
        (b'"name"', "notAnObject"),
        (b"null", "notAnObject"),
        (b"[" * 100_000, "notJson"),
    ],
)
async def test_it_rejects_what_is_no_object(api: httpx2.AsyncClient, content: bytes, code: str) -> None:
    answer = await api.post(PATH, content=content, headers={"content-type": "application/json"})

    assert (answer.status_code, answer.json()["code"]) == (400, code)


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "application/jsonx"])
async def test_it_rejects_a_body_that_does_not_say_it_is_json(
    api: httpx2.AsyncClient, http_fixture: HttpFixture, content_type: str
) -> None:
    answer = await api.post(PATH, content=json.dumps(BODY), headers={"content-type": content_type})

    assert (answer.status_code, answer.json()["code"]) == (415, "notJsonContent")
    assert not http_fixture.mailbox_orders


async def test_it_rejects_a_body_that_is_too_large(api: httpx2.AsyncClient) -> None:
    answer = await api.post(PATH, content=b" " * (LIMIT + 1), headers={"content-type": "application/json"})

    assert (answer.status_code, answer.json()["code"]) == (413, "bodyTooLarge")


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
async def test_it_rejects_other_methods(api: httpx2.AsyncClient, method: str) -> None:
    answer = await api.request(method, PATH, json=BODY)

    assert (answer.status_code, answer.json()["code"]) == (405, "methodNotAllowed")
    assert answer.headers["allow"] == "POST, GET, HEAD, OPTIONS"


@pytest.mark.parametrize("path", ["/mail/v1/mailbox/", "/mail/v1/mailboxes//", "/mail/v2/mailboxes/"])
async def test_it_rejects_other_paths(api: httpx2.AsyncClient, path: str) -> None:
    answer = await api.post(path, json=BODY)

    assert (answer.status_code, answer.json()["code"]) == (404, "notFound")


@pytest.mark.parametrize("query", ["dryrun=true", "dryRun=true&wait=5", "prefer=wait"])
async def test_it_rejects_a_misspelt_parameter(api: httpx2.AsyncClient, http_fixture: HttpFixture, query: str) -> None:
    answer = await api.post(f"{PATH}?{query}", json=BODY)

    assert (answer.status_code, answer.json()["code"]) == (400, "unknownParameter")
    assert (http_fixture.mailbox_orders, http_fixture.mailbox_dry_runs) == ([], [])


@pytest.mark.parametrize("value", ["", "True", "1", "true&dryRun=true"])
async def test_it_rejects_a_dry_run_that_is_neither_true_nor_false(
    api: httpx2.AsyncClient, http_fixture: HttpFixture, value: str
) -> None:
    answer = await api.post(f"{PATH}?dryRun={value}", json=BODY)

    assert (answer.status_code, answer.json()["code"]) == (400, "invalidParameter")
    assert (http_fixture.mailbox_orders, http_fixture.mailbox_dry_runs) == ([], [])


async def test_it_gives_every_reason_of_the_use_case(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.refusal = NotPossible(
        [
            Fault("/officeLocation", "propertyNotApplicable", "Leave it out."),
            Fault(f"/permissions/{ADA}", "userUnknown", "There is no such user."),
        ]
    )

    answer = await api.post(PATH, json=BODY)

    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert (problem["code"], problem["type"], problem["instance"]) == ("notPossible", "/problems/notPossible", PATH)
    assert problem["traceId"] == answer.headers["request-id"]
    assert problem["errors"] == [
        {"pointer": "/officeLocation", "code": "propertyNotApplicable", "detail": "Leave it out."},
        {"pointer": f"/permissions/{ADA}", "code": "userUnknown", "detail": "There is no such user."},
    ]


@pytest.mark.parametrize("code", ["nameTaken", "addressTaken"])
async def test_it_names_the_holder_only_when_the_use_case_does(
    api: httpx2.AsyncClient, http_fixture: HttpFixture, code: str
) -> None:
    http_fixture.refusal = Conflict(code, "Choose another.", conflicting_id=str(MAILBOX_ID))
    named = await api.post(PATH, json=BODY)
    http_fixture.refusal = Conflict(code, "Choose another.")
    unnamed = await api.post(PATH, json=BODY)

    assert (named.status_code, named.json()["code"]) == (409, code)
    assert named.json()["conflictingId"] == str(MAILBOX_ID)
    assert (unnamed.status_code, unnamed.json()["code"]) == (409, code)
    assert "conflictingId" not in unnamed.json()


@pytest.mark.parametrize(
    ("refusal", "status"),
    [
        (Forbidden("templateNotAllowed", "The template is not for you."), 403),
        (Conflict.in_progress(), 409),
        (KeyReused(), 422),
        (LimitReached("quotaExceeded", "Wait.", limit="openRequests", after=timedelta(seconds=3)), 429),
        (Unavailable("overloaded", "Too much."), 503),
    ],
)
async def test_it_gives_the_refusals_of_the_use_case(
    api: httpx2.AsyncClient, http_fixture: HttpFixture, refusal: Exception, status: int
) -> None:
    http_fixture.refusal = refusal

    answer = await api.post(PATH, json=BODY)

    assert answer.status_code == status
    assert ("retry-after" in answer.headers) == (status in {429, 503} or answer.json()["code"].endswith("InProgress"))
