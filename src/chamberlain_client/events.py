"""Events of the feed, webhooks and the timeline of a request.

The OpenAPI document does not describe the data of events, so these models are written by hand.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from msgspec import Raw, Struct

from chamberlain_client.errors import AnswerNotUnderstood
from chamberlain_client.models import (
    Actor,
    Approval,
    Person,
    RequestError,
    RequestKind,
    RequestState,
    RequestStep,
    RequestSummary,
    Subject,
)
from chamberlain_client.responses import decode_bytes
from chamberlain_client.wire import Model, OpenStrEnum


class EventType(OpenStrEnum):
    """Types of events. Later versions of the service add types."""

    MAILBOX_CREATED = "mailbox.created"
    GROUP_CREATED = "group.created"
    TEAM_CREATED = "team.created"
    GROUP_ASSIGNMENT_CHANGED = "group.assignmentChanged"
    SITE_ASSIGNMENT_CHANGED = "site.assignmentChanged"
    REQUEST_APPROVAL_REQUIRED = "request.approvalRequired"
    REQUEST_REJECTED = "request.rejected"
    REQUEST_FAILED = "request.failed"
    REQUEST_CANCELLED = "request.cancelled"
    REQUEST_EXPIRED = "request.expired"
    POLICY_REMINDER = "policy.reminder"
    POLICY_ACTION_TAKEN = "policy.actionTaken"
    WEBHOOK_DISABLED = "webhook.disabled"
    WEBHOOK_TEST = "webhook.test"


class MailboxInShort(Model, frozen=True):
    """A new mailbox."""

    id: UUID
    type: str
    name: str
    display_name: str
    primary_smtp_address: str


class GroupInShort(Model, frozen=True):
    """A new group or team."""

    id: UUID
    display_name: str
    mail: str | None
    mail_nickname: str | None


class SubjectInShort(Model, frozen=True):
    """A group or site."""

    id: UUID
    display_name: str


class Assignment(Model, frozen=True):
    """The assigned guest template and guest policy; None if there is none."""

    template_id: UUID | None
    policy_id: UUID | None


class RequestInShort(Model, frozen=True):
    """A request at the time of the event."""

    request_id: UUID
    kind: RequestKind
    display_name: str
    state: RequestState
    error: RequestError | None


class GuestInShort(Model, frozen=True):
    """A guest."""

    id: UUID
    mail: str | None


class MailboxCreated(Model, frozen=True, kw_only=True):
    """Data of `mailbox.created`."""

    mailbox: MailboxInShort
    template_id: UUID
    metadata: Mapping[str, str | bool]
    created_by: Actor


class GroupCreated(Model, frozen=True, kw_only=True):
    """Data of `group.created` and `team.created`."""

    group: GroupInShort
    template_id: UUID
    metadata: Mapping[str, str | bool]
    created_by: Actor


class GroupAssignmentChanged(Model, frozen=True, kw_only=True):
    """Data of `group.assignmentChanged`."""

    group: SubjectInShort
    before: Assignment
    after: Assignment
    changed_by: Actor


class SiteAssignmentChanged(Model, frozen=True, kw_only=True):
    """Data of `site.assignmentChanged`.

    The `id` of the site is that of its security group.
    """

    site: SubjectInShort
    before: Assignment
    after: Assignment
    changed_by: Actor


class ApprovalRequired(Model, frozen=True, kw_only=True):
    """Data of `request.approvalRequired`. A blocked request has no approvers."""

    request: RequestInShort
    level: int
    approvers: tuple[Person, ...]
    created_by: Actor


class RequestEnded(Model, frozen=True, kw_only=True):
    """Data of `request.rejected`, `request.failed`, `request.cancelled` and `request.expired`."""

    request: RequestInShort
    created_by: Actor


class PolicyApplied(Model, frozen=True, kw_only=True):
    """Data of `policy.reminder` and `policy.actionTaken`."""

    subject: Subject
    guest: GuestInShort | None
    policy_id: UUID
    rule: str
    action_at: datetime | None
    action: str


class WebhookDisabled(Model, frozen=True, kw_only=True):
    """Data of `webhook.disabled`."""

    template_id: UUID
    url: str
    reason: str


class WebhookTest(Model, frozen=True):
    """Data of `webhook.test`, which only webhooks receive."""

    template_id: UUID


EventData = (
    MailboxCreated
    | GroupCreated
    | GroupAssignmentChanged
    | SiteAssignmentChanged
    | ApprovalRequired
    | RequestEnded
    | PolicyApplied
    | WebhookDisabled
    | WebhookTest
    | Mapping[str, object]
)


class Event(Model, frozen=True, kw_only=True):
    """One event. `request_id` is None for an event without a request.

    `data` of a type that this version does not know is the JSON object itself.
    """

    id: str
    type: EventType
    timestamp: datetime
    request_id: UUID | None
    tenant_id: UUID
    data: EventData


class StateChanged(Struct, frozen=True):
    """The request has entered another state.

    `number` counts the events of one request from 1.
    """

    number: str
    request: RequestSummary


class StepChanged(Struct, frozen=True):
    """A step has entered another state."""

    number: str
    step: RequestStep


class ApprovalChanged(Struct, frozen=True):
    """A level of approval has entered another state."""

    number: str
    approval: Approval


Happening = StateChanged | StepChanged | ApprovalChanged

_DATA: Mapping[str, type[Model]] = {
    EventType.MAILBOX_CREATED: MailboxCreated,
    EventType.GROUP_CREATED: GroupCreated,
    EventType.TEAM_CREATED: GroupCreated,
    EventType.GROUP_ASSIGNMENT_CHANGED: GroupAssignmentChanged,
    EventType.SITE_ASSIGNMENT_CHANGED: SiteAssignmentChanged,
    EventType.REQUEST_APPROVAL_REQUIRED: ApprovalRequired,
    EventType.REQUEST_REJECTED: RequestEnded,
    EventType.REQUEST_FAILED: RequestEnded,
    EventType.REQUEST_CANCELLED: RequestEnded,
    EventType.REQUEST_EXPIRED: RequestEnded,
    EventType.POLICY_REMINDER: PolicyApplied,
    EventType.POLICY_ACTION_TAKEN: PolicyApplied,
    EventType.WEBHOOK_DISABLED: WebhookDisabled,
    EventType.WEBHOOK_TEST: WebhookTest,
}


class _Envelope(Model, frozen=True, kw_only=True):
    # A webhook has the id in a header.
    id: str = ""
    type: EventType
    timestamp: datetime
    request_id: UUID | None
    tenant_id: UUID
    data: Raw


def decode_event(content: bytes | Raw, event_id: str | None = None) -> Event:
    """Decode an event with the data of its type. Raises AnswerNotUnderstood."""
    envelope = decode_bytes(content, _Envelope)
    type_ = _DATA.get(envelope.type)
    data: EventData = decode_bytes(envelope.data, dict[str, object] if type_ is None else type_)  # type: ignore[assignment]  # The table says which type has which data.
    return Event(
        id=envelope.id if event_id is None else event_id,
        type=envelope.type,
        timestamp=envelope.timestamp,
        request_id=envelope.request_id,
        tenant_id=envelope.tenant_id,
        data=data,
    )


def decode_happening(kind: str, number: str, data: str) -> Happening | None:
    """Decode an event of a timeline; None for an unknown kind.

    Raises AnswerNotUnderstood.
    """
    match kind:
        case "state":
            return StateChanged(number, decode_bytes(data.encode(), RequestSummary))
        case "step":
            return StepChanged(number, decode_bytes(data.encode(), RequestStep))
        case "approval":
            return ApprovalChanged(number, decode_bytes(data.encode(), Approval))
        case _:
            return None


def validate_number(event_id: str) -> str:
    """Validate the number of an event, which may be empty.

    A stream resumes by sending the number as a header. Raises AnswerNotUnderstood.
    """
    if not re.fullmatch(r"[!-~]{0,255}", event_id):
        raise AnswerNotUnderstood(200, "an event has a number that is none")
    return event_id


def is_last(happening: Happening) -> bool:
    """Return whether the timeline ends with this event."""
    return isinstance(happening, StateChanged) and happening.request.has_ended
