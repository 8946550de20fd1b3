# SPDX-License-Identifier: Apache-2.0
"""Changes of objects, and the events about them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from uuid import UUID

from chamberlain.auth.models import Actor, Editor
from chamberlain.core.ids import ClientId, EventId, RequestId, TenantId, TraceId
from chamberlain.core.values import Json, value

Content = Mapping[str, Json]


def differences(before: Content, after: Content, *, also: Collection[str] = ()) -> tuple[Content, Content]:
    """Return the changed properties, before and after.

    A missing property is None. Properties in `also` count as changed although they look the same.
    """
    names = [name for name in {**before, **after} if name in also or before.get(name) != after.get(name)]
    return {name: before.get(name) for name in names}, {name: after.get(name) for name in names}


# A JSON object. Only the encoder reads its values.
Document = Mapping[str, object]

# Most bytes of an event as JSON: metadata of 16 KiB (docs/reference/api.md) and names in any script.
LARGEST = 20_000
# Most characters of the detail of an error.
LONGEST_DETAIL = 1_024
# Most characters of a name. A directory may have longer ones.
LONGEST_NAME = 256


class EventType(StrEnum):
    """Types of events."""

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
    CONNECTION_BROKEN = "connection.broken"
    CONNECTION_READY = "connection.ready"
    WEBHOOK_DISABLED = "webhook.disabled"


@dataclass(frozen=True, slots=True)
class Event:
    """One event.

    `request_id` is None without a request.
    """

    id: EventId
    type: EventType
    timestamp: datetime
    tenant_id: TenantId
    request_id: RequestId | None
    data: Document


def actor_document(actor: Actor) -> Document:
    """Encode an actor as all records do."""
    return {
        "type": str(actor.type),
        "id": None if actor.id is None else str(actor.id),
        "displayName": shorten_name(actor.display_name),
    }


def format_time(moment: datetime) -> str:
    """Format a time as RFC 3339, in UTC with milliseconds."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def shorten_name(text: str) -> str:
    """Shorten a name for an event."""
    return shorten(text, LONGEST_NAME)


def shorten(text: str, most: int) -> str:
    """Cut a text to at most this many characters, with an ellipsis."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


@value(frozen=True, slots=True)
class Subject:
    """The changed object; `type` is a noun of the API."""

    type: str
    id: UUID | None
    display_name: str


@value(frozen=True, slots=True)
class Change:
    """One change of an object, for the audit trail.

    `before` and `after` have only the changed properties. `action` is noun and verb (`group.create`). The event, if
    any, is written in the same transaction. `client_address` is None for changes outside HTTP.
    """

    tenant_id: TenantId
    action: str
    actor: Actor
    client_id: ClientId | None
    subject: Subject
    before: Mapping[str, Json] | None
    after: Mapping[str, Json] | None
    request_id: RequestId | None
    trace_id: TraceId
    event: Event | None = None
    client_address: str | None = None


def change_by(
    editor: Editor,
    tenant_id: TenantId,
    action: str,
    subject: Subject,
    *,
    before: Mapping[str, Json] | None,
    after: Mapping[str, Json] | None,
    request_id: RequestId | None = None,
    event: Event | None = None,
) -> Change:
    """Build the change that an editor makes."""
    return Change(
        tenant_id=tenant_id,
        action=action,
        actor=editor.actor,
        client_id=editor.client_id,
        subject=subject,
        before=before,
        after=after,
        request_id=request_id,
        trace_id=editor.trace_id,
        event=event,
        client_address=editor.client_address,
    )


class ConfigurationVerb(StrEnum):
    """The change in the event of a template, policy or tenant."""

    CREATED = "created"
    REPLACED = "replaced"
    DELETED = "deleted"


def announced(change: Change, event_id: EventId, *, now: datetime, kind: str | None = None) -> Change:
    """Add the event to the change of a template, policy or tenant.

    The event names the changed properties. Their values may be large or name users, so they are omitted. `kind` is
    that of a template.
    """
    subject = change.subject
    shown: dict[str, object] = {"id": str(subject.id), "name": shorten_name(subject.display_name)}
    event = Event(
        id=event_id,
        type=EventType(f"{subject.type}.changed"),
        timestamp=now,
        tenant_id=change.tenant_id,
        request_id=None,
        data={
            str(subject.type): shown if kind is None else {**shown, "kind": kind},
            "change": str(_verb_of(change)),
            "properties": sorted({*(change.before or ()), *(change.after or ())}),
            "changedBy": actor_document(change.actor),
        },
    )
    return replace(change, event=event)


def _verb_of(change: Change) -> ConfigurationVerb:
    if change.before is None:
        return ConfigurationVerb.CREATED
    return ConfigurationVerb.DELETED if change.after is None else ConfigurationVerb.REPLACED
