"""Events as they come, to events with data of their type. Pure."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from msgspec import Raw

from chamberlain_client.answers import decoded_bytes
from chamberlain_client.models.events import (
    ApprovalRequired,
    Event,
    EventData,
    EventType,
    GroupAssignmentChanged,
    GroupCreated,
    MailboxCreated,
    PolicyApplied,
    RequestEnded,
    SiteAssignmentChanged,
    WebhookDisabled,
    WebhookTest,
)
from chamberlain_client.models.model import Model

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


class _Told(Model, frozen=True, kw_only=True):
    """An event as it comes. In a webhook its id is a header."""

    id: str = ""
    type: EventType
    timestamp: datetime
    request_id: UUID | None
    tenant_id: UUID
    data: Raw


def event_of(content: bytes | Raw, event_id: str | None = None) -> Event:
    """The event that these bytes tell. Raises AnswerNotUnderstood."""
    told = decoded_bytes(content, _Told)
    return Event(
        id=told.id if event_id is None else event_id,
        type=told.type,
        timestamp=told.timestamp,
        request_id=told.request_id,
        tenant_id=told.tenant_id,
        data=_data_of(told),
    )


def _data_of(told: _Told) -> EventData:
    type_ = _DATA.get(told.type)
    # Any: whatever JSON a type has that is not known.
    found: EventData = decoded_bytes(told.data, dict[str, object] if type_ is None else type_)  # type: ignore[assignment]  # The table says which type has which data.
    return found
