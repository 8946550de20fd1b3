# SPDX-License-Identifier: Apache-2.0
"""A mailbox as it is sent."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import msgspec
import pytest

from chamberlain.auth.models import Actor, ActorType
from chamberlain.core.errors import Fault
from chamberlain.core.ids import MailboxId, RequestId, TemplateId, TenantId, UserId
from chamberlain.directory.mailboxes import MailboxOrder, MailboxType, PermissionLevel, RoomEquipment, TemplateSource
from chamberlain.directory.steps import Step
from chamberlain.mailboxes.models import MailboxRecord, ProvisioningState
from chamberlain.mailboxes.wire import Mailbox, accepted_mailbox_of, mailbox_of
from chamberlain.requests.models import RequestError

ADA = UUID("ada00000-0000-4000-8000-000000000001")
RECORD = MailboxRecord(
    id=MailboxId(UUID("5b1f0a52-7a0e-4f0b-8a55-0f6f5b7f2f11")),
    tenant_id=TenantId(UUID("e57a7e00-0000-4000-8000-000000000001")),
    order=MailboxOrder(
        "Zürich",
        "Room Zürich",
        capacity=12,
        office_location="HQ - Floor 5",
        room_mailbox_metadata=RoomEquipment(has_whiteboard=True),
        tags=("quiet",),
    ),
    type=MailboxType.ROOM,
    mail="zurich@rooms.estate.example",
    template_id=TemplateId(UUID("7e000000-0000-4000-8000-000000000003")),
    template_source=TemplateSource.DEFAULT,
    provisioning_state=ProvisioningState.ACTIVE,
    request_id=RequestId(UUID("7c2a8f04-52a2-4b43-a1a8-5a7a3de3a0c2")),
    approval_required=False,
    error=None,
    warnings=(),
    created_at=datetime(2026, 11, 20, 9, 30, tzinfo=UTC),
    created_by=Actor(ActorType.USER, ADA, "Ada Achterberg"),
    updated_at=datetime(2026, 11, 20, 9, 30, 1, tzinfo=UTC),
)
SHOWN = {
    "name": "Zürich",
    "displayName": "Room Zürich",
    "capacity": 12,
    "officeLocation": "HQ - Floor 5",
    "permissions": {},
    "roomMailboxMetadata": {"hasWhiteboard": True},
    "tags": ["quiet"],
    "id": "5b1f0a52-7a0e-4f0b-8a55-0f6f5b7f2f11",
    "type": "room",
    "primarySmtpAddress": "zurich@rooms.estate.example",
    "templateId": "7e000000-0000-4000-8000-000000000003",
    "templateSource": "default",
    "capacityUnit": "people",
    "provisioningState": "active",
    "requestId": "7c2a8f04-52a2-4b43-a1a8-5a7a3de3a0c2",
    "error": None,
    "warnings": [],
    "warningReasons": [],
    "createdAt": "2026-11-20T09:30:00.000Z",
    "createdBy": {"type": "user", "id": str(ADA), "displayName": "Ada Achterberg"},
    "updatedAt": "2026-11-20T09:30:01.000Z",
}


def sent(shape: Mailbox) -> dict[str, object]:
    return msgspec.json.decode(msgspec.json.encode(shape), type=dict[str, object])


def test_it_works() -> None:
    assert sent(mailbox_of(RECORD)) == SHOWN


def test_whoever_asked_for_it_is_reported_more() -> None:
    assert sent(accepted_mailbox_of(RECORD)) == SHOWN | {
        "tenantId": "e57a7e00-0000-4000-8000-000000000001",
        "approvalRequired": False,
    }


def test_permissions_are_shown_as_they_are_wanted() -> None:
    order = replace(RECORD.order, permissions={UserId(ADA): PermissionLevel.NONE})

    assert sent(mailbox_of(replace(RECORD, order=order)))["permissions"] == {str(ADA): "None"}


@pytest.mark.parametrize(
    ("faults", "errors"),
    [
        ((), {}),
        (
            (Fault("/primaryOwner", "userUnknown", "Nobody."),),
            {"errors": [{"pointer": "/primaryOwner", "code": "userUnknown", "detail": "Nobody."}]},
        ),
    ],
)
def test_the_error_is_that_of_the_request(faults: tuple[Fault, ...], errors: dict[str, object]) -> None:
    error = RequestError(Step.CHECK_PEOPLE, "notPossible", "There is a reason.", faults)

    shown = sent(mailbox_of(replace(RECORD, error=error, provisioning_state=ProvisioningState.FAILED)))

    assert shown["error"] == {"step": "checkPeople", "code": "notPossible", "detail": "There is a reason.", **errors}
    assert shown["provisioningState"] == "failed"
