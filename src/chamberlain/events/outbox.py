# SPDX-License-Identifier: Apache-2.0
"""Queue deliveries in the transaction of their event."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from chamberlain.changes.models import Document, Event, EventType, format_time
from chamberlain.core.ids import TemplateId, TenantId, TraceId
from chamberlain.database.transactions import Transaction
from chamberlain.queries import load_queries
from chamberlain.queue.models import JobKind

SQL = load_queries(__name__)

# The events that webhooks of templates receive.
TOLD = frozenset({EventType.MAILBOX_CREATED, EventType.GROUP_CREATED, EventType.TEAM_CREATED})


# Most bytes of a payload.
PAYLOAD_LIMIT = 20_000


@dataclass(frozen=True, slots=True)
class Telling:
    """An event for the webhook of a template.

    The trace is that of the change.
    """

    event: Event
    template_id: TemplateId
    trace_id: TraceId

    @property
    def place(self) -> tuple[TenantId, TemplateId]:
        """Return the key of the webhook."""
        return self.event.tenant_id, self.template_id


def payload_document(event: Event) -> Document:
    """Return the payload of a webhook: exactly these five members."""
    return {
        "type": str(event.type),
        "timestamp": format_time(event.timestamp),
        "requestId": None if event.request_id is None else str(event.request_id),
        "tenantId": str(event.tenant_id),
        "data": event.data,
    }


def without_metadata(payload: Document) -> Document:
    """Return the payload without metadata, the only large part.

    Receivers can read it from the resource.
    """
    data = payload["data"]
    return {**payload, "data": {**data, "metadata": {}}} if isinstance(data, Mapping) else payload


_encode = msgspec.json.Encoder().encode


async def accept(tx: Transaction, tellings: Sequence[Telling]) -> None:
    """Queue the deliveries of these events, in their transaction."""
    announced = [each for each in tellings if each.event.type in TOLD]
    if not announced:
        return
    # Look up each template once for any number of requests.
    tenants, templates = zip(*{each.place for each in announced}, strict=True)
    hooks = {
        (row["tenant_id"], row["template_id"]): row["url"] for row in await tx.fetch(SQL["hooks"], tenants, templates)
    }
    queued = [each for each in announced if each.place in hooks]
    if queued:
        await tx.execute(
            SQL["accept"],
            [each.event.tenant_id for each in queued],
            [each.event.id for each in queued],
            [each.event.type for each in queued],
            [each.event.request_id for each in queued],
            [each.template_id for each in queued],
            [hooks[each.place] for each in queued],
            [payload_of(each.event) for each in queued],
            [each.trace_id for each in queued],
            JobKind.WEBHOOK_DELIVER,
        )


def payload_of(event: Event) -> str:
    """Encode the payload of an event as JSON below 20 KB."""
    document = payload_document(event)
    payload = _encode(document)
    if len(payload) >= PAYLOAD_LIMIT:
        payload = _encode(without_metadata(document))
    return payload.decode()


async def cancel_pending(tx: Transaction, tenant_id: TenantId, template_id: TemplateId) -> None:
    """Cancel the pending deliveries of a template."""
    await tx.execute(SQL["cancel"], tenant_id, template_id)
