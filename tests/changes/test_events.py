# SPDX-License-Identifier: Apache-2.0
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from chamberlain.auth.models import Actor, ActorType
from chamberlain.changes.models import LARGEST, Event, EventType
from chamberlain.core.ids import EventId, GroupId, MailboxId, PolicyId
from chamberlain.directory.groups import ObservedGroup
from chamberlain.directory.mailboxes import AddressFields, MailboxType, ObservedMailbox
from chamberlain.directory.models import NamedPerson
from chamberlain.directory.steps import Step
from chamberlain.directory.subjects import SubjectType
from chamberlain.groups.rules import group_created
from chamberlain.guests.assignments.rules import assignment_changed
from chamberlain.guests.models import Assignment, FindingSubject
from chamberlain.mailboxes.rules import mailbox_created
from chamberlain.requests.events import (
    MOST_APPROVERS,
    RequestSummary,
    approval_required,
    request_cancelled,
    request_expired,
    request_failed,
    request_rejected,
)
from chamberlain.requests.models import RequestError, RequestKind, RequestState
from tests.groups.group_values import ADA, BEN, REQUEST, TEMPLATE, TENANT

pytestmark = pytest.mark.pure

EVENT = EventId(UUID("e7e00000-0000-4000-8000-000000000001"))
NOW = datetime(2026, 11, 20, 9, 30, 1, tzinfo=UTC)
CREATED_BY = {"type": "user", "id": str(ADA), "displayName": "Ada Achterberg"}
SUMMARY = RequestSummary(
    request_id=REQUEST,
    tenant_id=TENANT,
    kind=RequestKind.GROUP,
    state=RequestState.SUCCEEDED,
    display_name="Hooked",
    error=None,
    created_by=Actor(ActorType.USER, ADA, "Ada Achterberg"),
)
GROUP = ObservedGroup(
    id=GroupId(UUID("a2c7d7c4-7f0a-4e7e-9d55-7a8a1d1f0f01")),
    display_name="Hooked",
    mail="hooked@estate.example",
    mail_nickname="hooked",
    owners=frozenset({ADA}),
    members=frozenset({ADA, BEN}),
    label_id=None,
    channels=None,
    marks={},
)


def test_it_works() -> None:
    event = group_created(EVENT, SUMMARY, GROUP, template_id=TEMPLATE.head.id, metadata={"el-text-1": "x"}, now=NOW)

    assert event == Event(
        id=EVENT,
        type=EventType.GROUP_CREATED,
        timestamp=NOW,
        tenant_id=TENANT,
        request_id=REQUEST,
        data={
            "group": {
                "id": "a2c7d7c4-7f0a-4e7e-9d55-7a8a1d1f0f01",
                "displayName": "Hooked",
                "mail": "hooked@estate.example",
                "mailNickname": "hooked",
            },
            "templateId": "7e000000-0000-4000-8000-000000000011",
            "metadata": {"el-text-1": "x"},
            "createdBy": CREATED_BY,
        },
    )


@pytest.mark.parametrize(
    ("kind", "event_type"),
    [(RequestKind.GROUP, EventType.GROUP_CREATED), (RequestKind.TEAM, EventType.TEAM_CREATED)],
)
def test_it_tells_teams_from_groups(kind: RequestKind, event_type: EventType) -> None:
    summary = replace(SUMMARY, kind=kind)

    event = group_created(EVENT, summary, GROUP, template_id=TEMPLATE.head.id, metadata=None, now=NOW)

    assert event.type is event_type
    assert event.data["metadata"] == {}
    assert "group" in event.data


def test_it_tells_who_may_approve() -> None:
    pending = replace(SUMMARY, state=RequestState.PENDING_APPROVAL)

    event = approval_required(EVENT, pending, level=1, approvers=[NamedPerson(BEN, "Somebody")], now=NOW)

    assert event.type is EventType.REQUEST_APPROVAL_REQUIRED
    assert event.data == {
        "request": {
            "requestId": str(REQUEST),
            "kind": "group",
            "displayName": "Hooked",
            "state": "pendingApproval",
            "error": None,
        },
        "level": 1,
        "approvers": [{"id": str(BEN), "displayName": "Somebody"}],
        "createdBy": CREATED_BY,
    }


def test_it_tells_why_a_request_failed() -> None:
    error = RequestError(Step.CREATE_GROUP, "addressTaken", "Somebody else has this address.")
    failed = replace(SUMMARY, state=RequestState.FAILED, error=error)

    event = request_failed(EVENT, failed, now=NOW)

    assert event.type is EventType.REQUEST_FAILED
    assert event.data["request"] == {
        "requestId": str(REQUEST),
        "kind": "group",
        "displayName": "Hooked",
        "state": "failed",
        "error": {"step": "createGroup", "code": "addressTaken", "detail": "Somebody else has this address."},
    }
    assert event.data["createdBy"] == CREATED_BY


# The longest that they can be: in UTF-8 no character has more bytes, and none of these has to be escaped.
LETTER = "\N{MATHEMATICAL FRAKTUR CAPITAL M}"
LONG_NAME = LETTER * 256
LONG_MAIL = f"{'m' * 64}@{'d' * 253}"
LONG_METADATA = {f"{number:02}{'k' * 10}": "v" * 1004 for number in range(16)}
LONG_SUMMARY = replace(
    SUMMARY,
    kind=RequestKind.ASSIGNMENT,
    state=RequestState.PENDING_APPROVAL,
    display_name=LONG_NAME,
    error=RequestError(Step.SET_SHARING_CAPABILITY, "c" * 64, LETTER * 5_000),
    created_by=Actor(ActorType.APPLICATION, ADA, f"{LONG_NAME}longer"),
)
MANY = [NamedPerson(BEN, f"{LONG_NAME}longer") for _ in range(1_000)]


def mailbox(**names: str) -> ObservedMailbox:
    """A mailbox of which nothing but names and addresses matters."""
    return ObservedMailbox(
        id=UUID(int=1),
        type=MailboxType.EQUIPMENT,
        **names,
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
        observed_at=None,
    )


LONG_EVENTS = {
    "group": group_created(
        EVENT,
        LONG_SUMMARY,
        replace(GROUP, display_name=f"{LONG_NAME}longer", mail=LONG_MAIL, mail_nickname="m" * 64),
        template_id=TEMPLATE.head.id,
        metadata=LONG_METADATA,
        now=NOW,
    ),
    "mailbox": mailbox_created(
        EVENT,
        LONG_SUMMARY,
        mailbox(name=LETTER * 64, display_name=LONG_NAME, mail=LONG_MAIL),
        mailbox_id=MailboxId(UUID(int=1)),
        template_id=TEMPLATE.head.id,
        metadata=LONG_METADATA,
        now=NOW,
    ),
    "site": assignment_changed(
        EVENT,
        FindingSubject(TENANT, GroupId(UUID(int=1)), SubjectType.SITE, f"{LONG_NAME}longer"),
        Assignment(TEMPLATE.head.id, PolicyId(UUID(int=1))),
        Assignment(TEMPLATE.head.id, PolicyId(UUID(int=1))),
        request_id=REQUEST,
        changed_by=LONG_SUMMARY.created_by,
        now=NOW,
    ),
    "approval": approval_required(EVENT, LONG_SUMMARY, level=3, approvers=MANY, now=NOW),
    "failed": request_failed(EVENT, LONG_SUMMARY, now=NOW),
    "cancelled": request_cancelled(EVENT, LONG_SUMMARY, now=NOW),
}


@pytest.mark.parametrize("name", LONG_EVENTS)
def test_it_stays_small_in_the_worst_case(name: str) -> None:
    event = LONG_EVENTS[name]
    payload = {
        "id": str(event.id),
        "type": event.type,
        "timestamp": "2026-11-20T09:30:01.000Z",
        "requestId": str(event.request_id),
        "tenantId": str(event.tenant_id),
        "data": event.data,
    }

    assert len(json.dumps(LONG_METADATA, separators=(",", ":"))) in range(16_200, 16_385)
    assert len(json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()) < LARGEST


def test_it_tells_of_as_many_approvers_as_it_has_room_for() -> None:
    def told(name: str) -> int:
        people = [NamedPerson(BEN, name) for _ in range(1_000)]
        approvers = approval_required(EVENT, SUMMARY, level=1, approvers=people, now=NOW).data["approvers"]
        assert isinstance(approvers, list)
        return len(approvers)

    assert told("Somebody") == MOST_APPROVERS
    assert told("Ann-Christin Hohenberg zu Wolfenstein") == MOST_APPROVERS
    assert 5 < told(LONG_NAME) < MOST_APPROVERS


def test_it_shortens_what_is_longer_than_we_make_it() -> None:
    error = RequestError(Step.CREATE_GROUP, "ruleInvalid", "x" * 1_025)
    by = Actor(ActorType.USER, ADA, "n" * 257)

    data = request_failed(EVENT, replace(SUMMARY, error=error, created_by=by), now=NOW).data

    assert data["createdBy"] == {"type": "user", "id": str(ADA), "displayName": f"{'n' * 255}…"}
    assert data["request"] == {
        "requestId": str(REQUEST),
        "kind": "group",
        "displayName": "Hooked",
        "state": "succeeded",
        "error": {"step": "createGroup", "code": "ruleInvalid", "detail": f"{'x' * 1_023}…"},
    }


def test_it_never_holds_a_list_of_members() -> None:
    assert [name for name, event in LONG_EVENTS.items() if str(BEN) in str(event.data)] == ["approval"]


def test_it_names_the_service_itself_without_an_id() -> None:
    by_service = replace(SUMMARY, created_by=Actor(ActorType.SYSTEM, None, "Example estate"))

    event = request_failed(EVENT, by_service, now=NOW)

    assert event.data["createdBy"] == {"type": "system", "id": None, "displayName": "Example estate"}


def test_the_types_are_those_of_the_reference() -> None:
    assert [str(each) for each in EventType] == [
        "mailbox.created",
        "group.created",
        "team.created",
        "group.assignmentChanged",
        "site.assignmentChanged",
        "request.accepted",
        "request.approvalRequired",
        "request.approved",
        "request.rejected",
        "request.failed",
        "request.retried",
        "request.cancelled",
        "request.expired",
        "policy.reminder",
        "policy.actionTaken",
        "finding.opened",
        "finding.repaired",
        "finding.closed",
        "adoption.confirmed",
        "adoption.undone",
        "template.changed",
        "policy.changed",
        "tenant.changed",
        "connection.broken",
        "connection.ready",
        "webhook.disabled",
    ]


@pytest.mark.parametrize(
    ("make", "event_type"),
    [
        (request_failed, EventType.REQUEST_FAILED),
        (request_rejected, EventType.REQUEST_REJECTED),
        (request_expired, EventType.REQUEST_EXPIRED),
        (request_cancelled, EventType.REQUEST_CANCELLED),
    ],
)
def test_each_end_of_a_request_has_its_type(make: Callable[..., Event], event_type: EventType) -> None:
    assert make(EVENT, SUMMARY, now=NOW).type is event_type


@pytest.mark.parametrize(
    ("subject_type", "event_type", "name"),
    [
        (SubjectType.GROUP, EventType.GROUP_ASSIGNMENT_CHANGED, "group"),
        (SubjectType.SITE, EventType.SITE_ASSIGNMENT_CHANGED, "site"),
    ],
)
def test_it_tells_what_was_assigned_before_and_after(
    subject_type: SubjectType, event_type: EventType, name: str
) -> None:
    subject = FindingSubject(TENANT, GroupId(UUID(int=1)), subject_type, "All staff")
    before, after = Assignment(TEMPLATE.head.id, None), Assignment(None, PolicyId(UUID(int=2)))

    event = assignment_changed(EVENT, subject, before, after, request_id=None, changed_by=SUMMARY.created_by, now=NOW)

    assert event == Event(
        id=EVENT,
        type=event_type,
        timestamp=NOW,
        tenant_id=TENANT,
        request_id=None,
        data={
            name: {"id": "00000000-0000-0000-0000-000000000001", "displayName": "All staff"},
            "before": {"templateId": "7e000000-0000-4000-8000-000000000011", "policyId": None},
            "after": {"templateId": None, "policyId": "00000000-0000-0000-0000-000000000002"},
            "changedBy": CREATED_BY,
        },
    )


@pytest.mark.parametrize(("more", "number"), [("", 12), ("x", 11)])
def test_approvers_fill_their_room_to_the_last_byte(more: str, number: int) -> None:
    # Each of them takes 1,000 bytes, and there is room for 12,000.
    name = LETTER * 233 + "abc"
    people = [*[NamedPerson(BEN, name)] * 11, NamedPerson(BEN, name + more)]

    approvers = approval_required(EVENT, SUMMARY, level=1, approvers=people, now=NOW).data["approvers"]

    assert isinstance(approvers, list)
    assert len(json.dumps(approvers[0], ensure_ascii=False).encode()) == 1_000
    assert len(approvers) == number
