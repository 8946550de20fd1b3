"""Queue deliveries in the transaction of their event."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from chamberlain.changes.models import Document, Event, EventType, format_time
from chamberlain.core.ids import TemplateId, TenantId, TraceId
from chamberlain.database.transactions import Transaction
from chamberlain.queue.models import JobKind

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


# Active webhooks of these templates; most templates have none.
HOOKS: Final = """
SELECT t.tenant_id, t.template_id, chamberlain.clean(r.content) #>> '{webhook,url}' AS url
FROM unnest($1::uuid[], $2::uuid[]) AS asked (tenant_id, template_id)
JOIN chamberlain.template t USING (tenant_id, template_id)
JOIN chamberlain.template_revision r USING (tenant_id, template_id, revision)
WHERE chamberlain.clean(r.content) #>> '{webhook,active}' = 'true' AND NOT EXISTS (
    SELECT FROM chamberlain.webhook_state s
    WHERE s.tenant_id = t.tenant_id AND s.template_id = t.template_id AND s.disabled_at IS NOT NULL
)
"""


ACCEPT: Final = """
WITH told AS MATERIALIZED (
    SELECT chamberlain.new_delivery_id(now()) AS delivery_id, e.tenant_id, e.event_id, e.type, e.request_id,
        e.template_id, e.url, e.payload, e.trace_id, e.place
    FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::uuid[], $6::text[], $7::text[], $8::text[])
        WITH ORDINALITY AS e (tenant_id, event_id, type, request_id, template_id, url, payload, trace_id, place)
), queued AS (
    INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id, lane)
    SELECT tenant_id, $9, delivery_id, trace_id, template_id FROM told ORDER BY place
    RETURNING job_id, subject
)
INSERT INTO chamberlain.delivery (
    tenant_id, delivery_id, event_id, type, request_id, template_id, url, job_id, payload, trace_id
)
SELECT told.tenant_id, told.delivery_id, told.event_id, told.type, told.request_id, told.template_id, told.url,
    queued.job_id, told.payload, told.trace_id
FROM told JOIN queued ON queued.subject = told.delivery_id
"""


# Running deliveries are skipped and notice it themselves. Deliveries are locked before their jobs, as in a
# redelivery.
CANCEL: Final = """
WITH pending AS MATERIALIZED (
    SELECT delivery_id, job_id FROM chamberlain.delivery
    WHERE tenant_id = $1 AND template_id = $2 AND state = 'pending' AND state <> 'succeeded' FOR UPDATE SKIP LOCKED
), withdrawn AS (
    DELETE FROM chamberlain.job WHERE job_id = ANY (ARRAY(
        SELECT j.job_id FROM chamberlain.job j
        WHERE j.tenant_id = $1 AND j.job_id IN (SELECT job_id FROM pending)
        AND (j.lease_until IS NULL OR j.lease_until < now()) FOR UPDATE SKIP LOCKED
    )) RETURNING subject
)
UPDATE chamberlain.delivery d SET state = 'cancelled', job_id = NULL FROM withdrawn w
WHERE d.tenant_id = $1 AND d.delivery_id = w.subject
"""

_encode = msgspec.json.Encoder().encode


async def accept(tx: Transaction, tellings: Sequence[Telling]) -> None:
    """Queue the deliveries of these events, in their transaction."""
    worth_telling = [each for each in tellings if each.event.type in TOLD]
    if not worth_telling:
        return
    # Look up each template once for any number of requests.
    tenants, templates = zip(*{each.place for each in worth_telling}, strict=True)
    hooks = {(row["tenant_id"], row["template_id"]): row["url"] for row in await tx.fetch(HOOKS, tenants, templates)}
    told = [each for each in worth_telling if each.place in hooks]
    if told:
        await tx.execute(
            ACCEPT,
            [each.event.tenant_id for each in told],
            [each.event.id for each in told],
            [each.event.type for each in told],
            [each.event.request_id for each in told],
            [each.template_id for each in told],
            [hooks[each.place] for each in told],
            [payload_of(each.event) for each in told],
            [each.trace_id for each in told],
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
    await tx.execute(CANCEL, tenant_id, template_id)
