"""Deliveries: written with the event that they tell, with a job each, and kept with every attempt.

A delivery that is pending has a job, whose `run_at` is the time of its next attempt and whose lane is the template. The
table has a part for each week, which the id says (delivery_weeks.py).
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final

import msgspec

from chamberlain.core.ids import DeliveryId, EventId, TemplateId, TenantId, TraceId
from chamberlain.database.transactions import PLANNING, Record, Transaction
from chamberlain.webhooks.models import KEPT_ATTEMPTS, DeliveryResult, DueDelivery, Reply

# For statements that are run for each few deliveries, by the worker: planned once for a connection, whatever their
# values. To plan them each time, which PostgreSQL chooses by itself, takes four fifths of their time.
PLANNED_ONCE: Final = """
SELECT set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
    set_config('enable_bitmapscan', 'off', true)
"""

# As the worker takes them up: with the address that the webhook has now, and none where it is not to be called. $3 and
# $4 are the first and the last of the ids: weeks that have none between these are left out before the statement begins;
# to begin with all of them takes two thirds of its time.
TAKE_UP: Final = """
SELECT d.delivery_id, d.tenant_id, d.event_id, d.template_id, d.payload, d.tries, d.trace_id, (
    SELECT chamberlain.clean(r.content) #>> '{webhook,url}'
    FROM chamberlain.template t JOIN chamberlain.template_revision r USING (tenant_id, template_id, revision)
    WHERE t.tenant_id = d.tenant_id AND t.template_id = d.template_id
    AND chamberlain.clean(r.content) #>> '{webhook,active}' = 'true'
    AND NOT EXISTS (
        SELECT FROM chamberlain.webhook_state s
        WHERE s.tenant_id = t.tenant_id AND s.template_id = t.template_id AND s.disabled_at IS NOT NULL
    )
) AS url
FROM unnest($1::uuid[], $2::uuid[]) AS w (tenant_id, delivery_id)
JOIN chamberlain.delivery d ON d.tenant_id = w.tenant_id AND d.delivery_id = w.delivery_id
WHERE d.state = 'pending' AND d.delivery_id BETWEEN $3 AND $4
"""

# Every attempt is on record, also of one that somebody else has taken over; what becomes of the delivery is for whoever
# holds its job to say. $10 and $11 are the first and the last of the ids, as above.
RECORD: Final = """
WITH result AS MATERIALIZED (
    SELECT tenant_id, delivery_id, lease_id, job_id, state, url, attempt, after
    FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::interval[])
        AS r (tenant_id, delivery_id, lease_id, job_id, state, url, attempt, after)
), ended AS (
    DELETE FROM chamberlain.job j USING result r
    WHERE j.job_id = r.job_id AND j.lease_id = r.lease_id AND r.after IS NULL RETURNING j.job_id
), postponed AS (
    UPDATE chamberlain.job j SET run_at = now() + r.after, lease_id = NULL, lease_until = NULL, attempts = 0
    FROM result r WHERE j.job_id = r.job_id AND j.lease_id = r.lease_id AND r.after IS NOT NULL RETURNING j.job_id
), own AS (
    SELECT job_id FROM ended UNION ALL SELECT job_id FROM postponed
)
UPDATE chamberlain.delivery d SET
    state = CASE WHEN own.job_id IS NULL THEN d.state ELSE r.state END,
    job_id = CASE WHEN own.job_id IS NULL OR r.after IS NOT NULL THEN d.job_id END,
    url = coalesce(r.url, d.url),
    tries = d.tries + (r.attempt IS NOT NULL AND own.job_id IS NOT NULL)::integer,
    attempt_count = d.attempt_count + (r.attempt IS NOT NULL)::integer,
    attempts = CASE WHEN r.attempt IS NULL THEN d.attempts ELSE
        CASE WHEN d.attempt_count < $9 THEN d.attempts ELSE d.attempts - 0 END
        || jsonb_build_array(jsonb_build_object('number', d.attempt_count + 1) || r.attempt::jsonb) END
FROM result r LEFT JOIN own ON own.job_id = r.job_id
WHERE d.tenant_id = r.tenant_id AND d.delivery_id = r.delivery_id AND d.delivery_id BETWEEN $10 AND $11
RETURNING d.delivery_id
"""


SWEEP: Final = """
DELETE FROM chamberlain.delivery d USING (
    SELECT oldest.tenant_id, oldest.delivery_id FROM chamberlain.tenant t CROSS JOIN LATERAL (
        SELECT o.tenant_id, o.delivery_id FROM chamberlain.delivery o
        WHERE o.tenant_id = t.tenant_id AND o.created_at < $1 AND o.state <> 'pending'
        AND NOT chamberlain.is_of_clock_fault(o.created_at, $1)
        ORDER BY o.created_at LIMIT $2
    ) oldest LIMIT $2
) old WHERE d.tenant_id = old.tenant_id AND d.delivery_id = old.delivery_id
RETURNING d.delivery_id
"""

_encode = msgspec.json.Encoder().encode


async def take_up(tx: Transaction, wanted: Collection[tuple[TenantId, DeliveryId]]) -> Sequence[DueDelivery]:
    """Those of these that are still pending, as the worker's role."""
    if not wanted:
        return ()
    ids = [delivery for _, delivery in wanted]
    await tx.execute(PLANNED_ONCE)
    rows = await tx.fetch(TAKE_UP, [tenant for tenant, _ in wanted], ids, min(ids), max(ids))
    return [_due(row) for row in rows]


async def record(tx: Transaction, results: Sequence[DeliveryResult]) -> None:
    """Write attempts and what becomes of their deliveries, and end or postpone the jobs; as the worker's role."""
    if not results:
        return
    ids = [each.delivery.id for each in results]
    await tx.execute(PLANNED_ONCE)
    await tx.execute(
        RECORD,
        [each.delivery.tenant_id for each in results],
        ids,
        [each.lease_id for each in results],
        [each.job_id for each in results],
        [each.state for each in results],
        [each.delivery.url for each in results],
        [_attempt(each.reply) for each in results],
        [each.after for each in results],
        KEPT_ATTEMPTS,
        min(ids),
        max(ids),
    )


async def sweep(tx: Transaction, *, before: datetime, most: int) -> int:
    """Remove what was made before this time and is not pending, of all tenants; says how many there were."""
    await tx.execute(PLANNING)
    return len(await tx.fetch(SWEEP, before, most))


def _attempt(reply: Reply | None) -> str | None:
    """An attempt as it is kept; its number is counted where it is written."""
    if reply is None:
        return None
    milliseconds = round(reply.duration.total_seconds() * 1000)
    attempt = {"at": reply.at, "status": reply.status, "duration_ms": milliseconds}
    return _encode({**attempt, "error": reply.error, "answer": reply.answer}).decode()


def _due(row: Record) -> DueDelivery:
    return DueDelivery(
        id=DeliveryId(row["delivery_id"]),
        tenant_id=TenantId(row["tenant_id"]),
        event_id=EventId(row["event_id"]),
        template_id=TemplateId(row["template_id"]),
        url=row["url"],
        payload=row["payload"].encode(),
        tries=row["tries"],
        trace_id=TraceId(row["trace_id"]),
    )
