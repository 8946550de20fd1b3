# SPDX-License-Identifier: Apache-2.0
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
    AdoptedKind,
    Approval,
    FindingKind,
    FindingState,
    Person,
    RequestError,
    RequestKind,
    RequestState,
    RequestStep,
    RequestSummary,
    Subject,
    TemplateKind,
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
    REQUEST_ACCEPTED = "request.accepted"
    REQUEST_APPROVAL_REQUIRED = "request.approvalRequired"
    REQUEST_APPROVED = "request.approved"
    REQUEST_REJECTED = "request.rejected"
    REQUEST_FAILED = "request.failed"
    REQUEST_RETRIED = "request.retried"
    REQUEST_CANCELLED = "request.cancelled"
    REQUEST_EXPIRED = "request.expired"
    POLICY_REMINDER = "policy.reminder"
    POLICY_ACTION_TAKEN = "policy.actionTaken"
    FINDING_OPENED = "finding.opened"
    FINDING_REPAIRED = "finding.repaired"
    FINDING_CLOSED = "finding.closed"
    ADOPTION_CONFIRMED = "adoption.confirmed"
    ADOPTION_UNDONE = "adoption.undone"
    TEMPLATE_CHANGED = "template.changed"
    POLICY_CHANGED = "policy.changed"
    TENANT_CHANGED = "tenant.changed"
    WEBHOOK_DISABLED = "webhook.disabled"
    WEBHOOK_TEST = "webhook.test"


class ConfigurationVerb(OpenStrEnum):
    """The change of a template, policy or tenant."""

    CREATED = "created"
    REPLACED = "replaced"
    DELETED = "deleted"


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


class FindingInShort(Model, frozen=True):
    """A finding at the time of the event."""

    id: UUID
    kind: FindingKind
    state: FindingState
    property: str | None


class AdoptionInShort(Model, frozen=True):
    """An adoption; `total` objects were confirmed."""

    id: UUID
    kind: AdoptedKind
    template_id: UUID
    total: int


class TemplateInShort(Model, frozen=True):
    """A template."""

    id: UUID
    name: str
    kind: TemplateKind


class NamedInShort(Model, frozen=True):
    """A policy or tenant."""

    id: UUID
    name: str


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


class RequestAccepted(Model, frozen=True, kw_only=True):
    """Data of `request.accepted`."""

    request: RequestInShort
    created_by: Actor


class RequestMovedOn(Model, frozen=True, kw_only=True):
    """Data of `request.approved` and `request.retried`.

    `changed_by` made the last decision, or retried it.
    """

    request: RequestInShort
    changed_by: Actor
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


class FindingChanged(Model, frozen=True, kw_only=True):
    """Data of `finding.opened`, `finding.repaired` and `finding.closed`."""

    finding: FindingInShort
    subject: Subject
    policy_id: UUID | None
    changed_by: Actor


class AdoptionChanged(Model, frozen=True, kw_only=True):
    """Data of `adoption.confirmed` and `adoption.undone`."""

    adoption: AdoptionInShort
    changed_by: Actor


class TemplateChanged(Model, frozen=True, kw_only=True):
    """Data of `template.changed`. `properties` are the names of the changed members."""

    template: TemplateInShort
    change: ConfigurationVerb
    properties: tuple[str, ...]
    changed_by: Actor


class PolicyChanged(Model, frozen=True, kw_only=True):
    """Data of `policy.changed`."""

    policy: NamedInShort
    change: ConfigurationVerb
    properties: tuple[str, ...]
    changed_by: Actor


class TenantChanged(Model, frozen=True, kw_only=True):
    """Data of `tenant.changed`."""

    tenant: NamedInShort
    change: ConfigurationVerb
    properties: tuple[str, ...]
    changed_by: Actor


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
    | RequestAccepted
    | RequestMovedOn
    | RequestEnded
    | PolicyApplied
    | FindingChanged
    | AdoptionChanged
    | TemplateChanged
    | PolicyChanged
    | TenantChanged
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
    EventType.REQUEST_ACCEPTED: RequestAccepted,
    EventType.REQUEST_APPROVAL_REQUIRED: ApprovalRequired,
    EventType.REQUEST_APPROVED: RequestMovedOn,
    EventType.REQUEST_REJECTED: RequestEnded,
    EventType.REQUEST_FAILED: RequestEnded,
    EventType.REQUEST_RETRIED: RequestMovedOn,
    EventType.REQUEST_CANCELLED: RequestEnded,
    EventType.REQUEST_EXPIRED: RequestEnded,
    EventType.POLICY_REMINDER: PolicyApplied,
    EventType.POLICY_ACTION_TAKEN: PolicyApplied,
    EventType.FINDING_OPENED: FindingChanged,
    EventType.FINDING_REPAIRED: FindingChanged,
    EventType.FINDING_CLOSED: FindingChanged,
    EventType.ADOPTION_CONFIRMED: AdoptionChanged,
    EventType.ADOPTION_UNDONE: AdoptionChanged,
    EventType.TEMPLATE_CHANGED: TemplateChanged,
    EventType.POLICY_CHANGED: PolicyChanged,
    EventType.TENANT_CHANGED: TenantChanged,
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
