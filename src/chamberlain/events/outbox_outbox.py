"""Events that the webhook of a template receives."""

from collections.abc import Mapping
from dataclasses import dataclass

from chamberlain.changes.models_events import Document, Event, EventType, format_time
from chamberlain.core.ids import TemplateId, TenantId, TraceId

# What the webhook of a template is told, and nothing else.
TOLD = frozenset({EventType.MAILBOX_CREATED, EventType.GROUP_CREATED, EventType.TEAM_CREATED})


# A payload is smaller than this, in bytes.
PAYLOAD_LIMIT = 20_000


@dataclass(frozen=True, slots=True)
class Telling:
    """An event that the webhook of a template may be told of; the trace is that of what it tells."""

    event: Event
    template_id: TemplateId
    trace_id: TraceId

    @property
    def place(self) -> tuple[TenantId, TemplateId]:
        """Where the webhook stands."""
        return self.event.tenant_id, self.template_id


def payload_document(event: Event) -> Document:
    """What a webhook is sent: exactly these five members."""
    return {
        "type": str(event.type),
        "timestamp": format_time(event.timestamp),
        "requestId": None if event.request_id is None else str(event.request_id),
        "tenantId": str(event.tenant_id),
        "data": event.data,
    }


def without_metadata(payload: Document) -> Document:
    """The same, smaller: metadata is what grows, and whoever needs it reads the resource."""
    data = payload["data"]
    return {**payload, "data": {**data, "metadata": {}}} if isinstance(data, Mapping) else payload
