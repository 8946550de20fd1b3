"""Deliveries that are made once more, one or those of a span."""

from typing import Final

from chamberlain.core.ids import DeliveryId
from chamberlain.core.paging import Position
from chamberlain.database.transactions import PLANNING, Transaction
from chamberlain.queue.models import JobKind
from chamberlain.webhooks.models_redeliveries import DeliverySpan, RedeliveredBatch

# What is pending is attempted at once, held or not, unless somebody is just at it; all else gets a job again. The
# schedule begins anew. Who ends a job writes about its delivery next, which is locked here: so a job that is locked is
# passed by, and not waited for in a circle. $1 tenant, $2 kind of the job.
_AGAIN: Final = """
hurried AS (
    UPDATE chamberlain.job SET run_at = now(), held_reason = NULL, attempts = 0 WHERE job_id = ANY (ARRAY(
        SELECT j.job_id FROM chamberlain.job j JOIN again ON again.job_id = j.job_id
        WHERE j.tenant_id = $1 AND (j.lease_until IS NULL OR j.lease_until < now()) FOR UPDATE OF j SKIP LOCKED
    ))
), queued AS (
    INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id, lane)
    SELECT $1, $2, delivery_id, trace_id, template_id FROM again WHERE state <> 'pending' ORDER BY created_at
    RETURNING job_id, subject
)
UPDATE chamberlain.delivery d SET state = 'pending', tries = 0, job_id = coalesce(queued.job_id, d.job_id)
FROM again LEFT JOIN queued ON queued.subject = again.delivery_id
WHERE d.tenant_id = $1 AND d.delivery_id = again.delivery_id
RETURNING d.delivery_id, d.created_at
"""
_ROWS: Final = "SELECT delivery_id, template_id, trace_id, state, job_id, created_at FROM chamberlain.delivery"
REDELIVER: Final = f"""
WITH again AS MATERIALIZED ({_ROWS} WHERE tenant_id = $1 AND delivery_id = $3 FOR UPDATE), {_AGAIN}
"""
# Some of a span, in the order in which they were made, behind a place; only those whose webhook is to be called. What
# somebody just writes about was attempted in this very moment, and is not waited for. $3 since, $4 until, $5 template,
# $6 and $7 the place (null at the beginning), $8 number of rows.
REDELIVER_SOME: Final = f"""
WITH again AS MATERIALIZED (
    {_ROWS} d WHERE tenant_id = $1 AND created_at >= $3 AND created_at < $4 AND ($5::uuid IS NULL OR template_id = $5)
    AND ($6::timestamptz IS NULL OR (created_at, delivery_id) > ($6, $7::uuid)) AND EXISTS (
        SELECT FROM chamberlain.template t JOIN chamberlain.template_revision r USING (tenant_id, template_id, revision)
        WHERE t.tenant_id = d.tenant_id AND t.template_id = d.template_id
        AND chamberlain.clean(r.content) #>> '{{webhook,active}}' = 'true'
    ) AND NOT EXISTS (
        SELECT FROM chamberlain.webhook_state s
        WHERE s.tenant_id = d.tenant_id AND s.template_id = d.template_id AND s.disabled_at IS NOT NULL
    )
    ORDER BY created_at, delivery_id LIMIT $8 FOR UPDATE SKIP LOCKED
), {_AGAIN}
"""  # noqa: S608 - text of ours alone.


async def redeliver(tx: Transaction, delivery_id: DeliveryId) -> bool:
    """Queue a delivery of the tenant once more, whatever has become of it; False when there is none."""
    return await tx.fetch_row(REDELIVER, tx.tenant_id, JobKind.WEBHOOK_DELIVER, delivery_id) is not None


async def redeliver_some(
    tx: Transaction, span: DeliverySpan, *, behind: Position | None, most: int
) -> RedeliveredBatch:
    """The same for up to `most` of a span, behind this place, whose webhooks are to be called; the oldest first."""
    await tx.execute(PLANNING)
    place = (None, None) if behind is None else (behind.created_at, behind.id)
    bounds = (span.since, span.until, span.template_id)
    rows = await tx.fetch(REDELIVER_SOME, tx.tenant_id, JobKind.WEBHOOK_DELIVER, *bounds, *place, most)
    found = sorted((row["created_at"], row["delivery_id"]) for row in rows)
    return RedeliveredBatch(
        [DeliveryId(each) for _, each in found], Position(*found[-1]) if len(found) == most else None
    )
