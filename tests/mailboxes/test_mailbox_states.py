# SPDX-License-Identifier: Apache-2.0
"""The state of a mailbox, its result and the event that tells of it."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from chamberlain.auth.models import Actor, ActorType
from chamberlain.changes.models import EventType
from chamberlain.core.ids import EventId, MailboxId
from chamberlain.directory.mailboxes import AddressFields, MailboxType, ObservedMailbox
from chamberlain.mailboxes.models import (
    ProvisioningState,
    capacity_unit,
    mailbox_result,
    provisioning_state_of,
    request_states_of,
)
from chamberlain.mailboxes.rules import mailbox_created
from chamberlain.requests.events import RequestSummary
from chamberlain.requests.models import RequestKind, RequestResult, RequestState
from tests.groups.group_values import ADA, REQUEST, TENANT
from tests.mailboxes.mailbox_values import ROOM

pytestmark = pytest.mark.pure

MAILBOX = MailboxId(UUID("5b1f0a52-7a0e-4f0b-8a55-0f6f5b7f2f11"))
OBSERVED = ObservedMailbox(
    id=UUID(int=1),
    type=MailboxType.ROOM,
    name="Zürich",
    display_name="Room Zürich",
    mail="zurich@rooms.estate.example",
    aliases=(),
    address_fields=AddressFields(),
    place=None,
    books_automatically=True,
    automatic_reply=None,
    quota_megabytes=None,
    capacity=None,
    is_hidden=False,
    permissions={},
    auto_mapped=frozenset(),
    owners=(),
    marks={},
)


@pytest.mark.parametrize(
    ("state", "follows"),
    [
        (RequestState.PENDING_APPROVAL, "pendingApproval"),
        (RequestState.QUEUED, "queued"),
        (RequestState.RUNNING, "provisioning"),
        (RequestState.WAITING, "provisioning"),
        (RequestState.SUCCEEDED, "active"),
        (RequestState.FAILED, "failed"),
        (RequestState.REJECTED, "rejected"),
        (RequestState.CANCELLED, "cancelled"),
        (RequestState.EXPIRED, "expired"),
    ],
)
def test_it_works(state: RequestState, follows: str) -> None:
    assert provisioning_state_of(state) == follows


def test_every_state_is_looked_for_by_the_states_of_requests() -> None:
    found = [state for each in ProvisioningState for state in request_states_of(each)]

    assert sorted(found) == sorted(RequestState)
    assert request_states_of(ProvisioningState.PROVISIONING) == {RequestState.RUNNING, RequestState.WAITING}


def test_a_mailbox_is_reported_by_the_id_that_it_is_read_by() -> None:
    summary = RequestSummary(
        request_id=REQUEST,
        tenant_id=TENANT,
        kind=RequestKind.ROOM,
        state=RequestState.SUCCEEDED,
        display_name="Room Zürich",
        error=None,
        created_by=Actor(ActorType.USER, ADA, "Ada Achterberg"),
    )

    event = mailbox_created(
        EventId(UUID(int=2)),
        summary,
        OBSERVED,
        mailbox_id=MAILBOX,
        template_id=ROOM.head.id,
        metadata={"floor": "5"},
        now=datetime(2026, 11, 20, tzinfo=UTC),
    )

    assert (event.type, event.request_id) == (EventType.MAILBOX_CREATED, REQUEST)
    assert event.data == {
        "mailbox": {
            "id": str(MAILBOX),
            "type": "room",
            "name": "Zürich",
            "displayName": "Room Zürich",
            "primarySmtpAddress": "zurich@rooms.estate.example",
        },
        "templateId": str(ROOM.head.id),
        "metadata": {"floor": "5"},
        "createdBy": {"type": "user", "id": str(ADA), "displayName": "Ada Achterberg"},
    }


def test_the_result_of_a_request_is_the_mailbox() -> None:
    assert mailbox_result(MAILBOX, OBSERVED) == RequestResult(
        "mailbox", MAILBOX, "Room Zürich", "zurich@rooms.estate.example"
    )


def test_capacity_is_counted_by_the_type() -> None:
    assert [capacity_unit(each) for each in MailboxType] == ["MB", "units", "people"]
