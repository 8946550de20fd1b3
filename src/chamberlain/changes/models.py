"""Changes of objects, and the events about them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
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
