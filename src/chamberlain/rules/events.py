"""Events: what others are told about what has happened, as documents of one shape for each type.

Their `data` is what goes over the wire and into the log of events, hence its names. It never holds a list of members.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from itertools import islice

from chamberlain.rules.assignments import Assignment
from chamberlain.rules.callers import Actor
from chamberlain.rules.groups import ObservedGroup
from chamberlain.rules.ids import EventId, GroupId, MailboxId, RequestId, TemplateId, TenantId
from chamberlain.rules.mailboxes import ObservedMailbox
from chamberlain.rules.people import NamedPerson
from chamberlain.rules.requests import RequestError, RequestKind, RequestRecord, RequestState
from chamberlain.rules.subjects import SubjectType

# A JSON object. Its values are of many types, and nobody but the encoder looks at them.
Document = Mapping[str, object]

# What an event stays below as JSON, in bytes: with metadata of 16 KiB (docs/reference/api.md), names in any script.
LARGEST = 20_000
# Whoever wants to know all approvers, or all of a reason, reads the request.
MOST_APPROVERS = 50
LONGEST_DETAIL = 1_024
# What a name has at most where it comes from us; that of a directory may be longer.
LONGEST_NAME = 256
_ALL_APPROVERS = 12_000


class EventType(StrEnum):
    """What can have happened."""

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


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that has happened. `request_id` is None where no request is behind it."""

    id: EventId
    type: EventType
    timestamp: datetime
    tenant_id: TenantId
    request_id: RequestId | None
    data: Document


@dataclass(frozen=True, slots=True)
class RequestSummary:
    """What events tell of a request: where it stands now, and whose it is."""

    request_id: RequestId
    tenant_id: TenantId
    kind: RequestKind
    state: RequestState
    display_name: str
    error: RequestError | None
    created_by: Actor


def group_created(
    event_id: EventId,
    request: RequestSummary,
    group: ObservedGroup,
    *,
    template_id: TemplateId,
    metadata: Mapping[str, str | bool] | None,
    now: datetime,
) -> Event:
    """The group or team of a request exists."""
    is_team = request.kind is RequestKind.TEAM
    return Event(
        id=event_id,
        type=EventType.TEAM_CREATED if is_team else EventType.GROUP_CREATED,
        timestamp=now,
        tenant_id=request.tenant_id,
        request_id=request.request_id,
        data={
            "group": {
                "id": str(group.id),
                "displayName": name_of(group.display_name),
                "mail": group.mail,
                "mailNickname": group.mail_nickname,
            },
            "templateId": str(template_id),
            "metadata": dict(metadata or {}),
            "createdBy": actor_document(request.created_by),
        },
    )


def mailbox_created(
    event_id: EventId,
    request: RequestSummary,
    mailbox: ObservedMailbox,
    *,
    mailbox_id: MailboxId,
    template_id: TemplateId,
    metadata: Mapping[str, str | bool] | None,
    now: datetime,
) -> Event:
    """The mailbox of a request exists. It is told by the id that it is read by, not by the directory's."""
    return Event(
        id=event_id,
        type=EventType.MAILBOX_CREATED,
        timestamp=now,
        tenant_id=request.tenant_id,
        request_id=request.request_id,
        data={
            "mailbox": {
                "id": str(mailbox_id),
                "type": str(mailbox.type),
                "name": mailbox.name,
                "displayName": name_of(mailbox.display_name),
                "primarySmtpAddress": mailbox.mail,
            },
            "templateId": str(template_id),
            "metadata": dict(metadata or {}),
            "createdBy": actor_document(request.created_by),
        },
    )


@dataclass(frozen=True, slots=True)
class AssignedSubject:
    """The group or site of an assignment, as its event names it."""

    tenant_id: TenantId
    id: GroupId
    type: SubjectType
    display_name: str


def assignment_changed(
    event_id: EventId,
    subject: AssignedSubject,
    before: Assignment,
    after: Assignment,
    *,
    request_id: RequestId | None,
    changed_by: Actor,
    now: datetime,
) -> Event:
    """A guest template or policy was assigned to a group or site, or cleared, or went with it: then without a
    request."""
    is_site = subject.type is SubjectType.SITE
    return Event(
        id=event_id,
        type=EventType.SITE_ASSIGNMENT_CHANGED if is_site else EventType.GROUP_ASSIGNMENT_CHANGED,
        timestamp=now,
        tenant_id=subject.tenant_id,
        request_id=request_id,
        data={
            str(subject.type): {"id": str(subject.id), "displayName": name_of(subject.display_name)},
            "before": assignment_document(before),
            "after": assignment_document(after),
            "changedBy": actor_document(changed_by),
        },
    )


def assignment_document(assignment: Assignment) -> Mapping[str, str | None]:
    """What is assigned; null where nothing is."""
    return {
        "templateId": None if assignment.template_id is None else str(assignment.template_id),
        "policyId": None if assignment.policy_id is None else str(assignment.policy_id),
    }


def approval_required(
    event_id: EventId, request: RequestSummary, *, level: int, approvers: Iterable[NamedPerson], now: datetime
) -> Event:
    """A level of approval is open, and these may decide; nobody when the request is blocked."""
    more: Document = {"level": level, "approvers": _told(approvers)}
    return request_event(event_id, EventType.REQUEST_APPROVAL_REQUIRED, request, now=now, more=more)


def request_failed(event_id: EventId, request: RequestSummary, *, now: datetime) -> Event:
    """A request cannot be carried out; its error says why."""
    return request_event(event_id, EventType.REQUEST_FAILED, request, now=now, more={})


def request_rejected(event_id: EventId, request: RequestSummary, *, now: datetime) -> Event:
    """An approver has decided against a request."""
    return request_event(event_id, EventType.REQUEST_REJECTED, request, now=now, more={})


def request_expired(event_id: EventId, request: RequestSummary, *, now: datetime) -> Event:
    """Nobody has decided on a request in time."""
    return request_event(event_id, EventType.REQUEST_EXPIRED, request, now=now, more={})


def request_cancelled(event_id: EventId, request: RequestSummary, *, now: datetime) -> Event:
    """A request was ended before it was through."""
    return request_event(event_id, EventType.REQUEST_CANCELLED, request, now=now, more={})


def summary_of(record: RequestRecord) -> RequestSummary:
    """What events tell of a request as it stands."""
    return RequestSummary(
        request_id=record.request_id,
        tenant_id=record.tenant_id,
        kind=record.kind,
        state=record.state,
        display_name=record.display_name,
        error=record.error,
        created_by=record.created_by,
    )


def request_event(
    event_id: EventId, event_type: EventType, request: RequestSummary, *, now: datetime, more: Document
) -> Event:
    """What all events of a request have in common."""
    return Event(
        id=event_id,
        type=event_type,
        timestamp=now,
        tenant_id=request.tenant_id,
        request_id=request.request_id,
        data={
            "request": {
                "requestId": str(request.request_id),
                "kind": str(request.kind),
                "displayName": name_of(request.display_name),
                "state": str(request.state),
                "error": None if request.error is None else error_document(request.error),
            },
            **more,
            "createdBy": actor_document(request.created_by),
        },
    )


def error_document(error: RequestError) -> Document:
    """Why a request failed."""
    return {"step": str(error.step), "code": error.code, "detail": _shortened(error.detail, LONGEST_DETAIL)}


def actor_document(actor: Actor) -> Document:
    """Somebody, as every record names them."""
    return {
        "type": str(actor.type),
        "id": None if actor.id is None else str(actor.id),
        "displayName": name_of(actor.display_name),
    }


def written_time(moment: datetime) -> str:
    """A time as RFC 3339 writes it, in UTC with milliseconds."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def name_of(text: str) -> str:
    """A name as events tell it: of one that is longer than ours are, the beginning."""
    return _shortened(text, LONGEST_NAME)


def _told(approvers: Iterable[NamedPerson]) -> list[Document]:
    """The first of them, as many as an event has room for."""
    told: list[Document] = []
    room = _ALL_APPROVERS
    for person in islice(approvers, MOST_APPROVERS):
        document = {"id": str(person.id), "displayName": name_of(person.display_name)}
        room -= len(json.dumps(document, ensure_ascii=False).encode())
        if room < 0:
            break
        told.append(document)
    return told


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
