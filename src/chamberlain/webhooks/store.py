"""SQL of deliveries: claim, save attempts, list and queue again.

A pending delivery has a job. The job's `run_at` is the time of the next attempt, and its lane is the template. The
table has one partition per week, which is part of the id.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final

import msgspec

from chamberlain.core.ids import DeliveryId, EventId, RequestId, TemplateId, TenantId, TraceId
from chamberlain.core.paging import Page, PageWanted, Position
from chamberlain.database.transactions import PLANNING, Record, Transaction
from chamberlain.queue.models import JobKind
from chamberlain.webhooks.models import (
    MAX_STORED_ATTEMPTS,
    Attempt,
    DeliveryFilter,
    DeliveryRecord,
    DeliveryResult,
    DeliverySpan,
    DeliveryState,
    DueDelivery,
    RedeliveredBatch,
    Reply,
)

# Plan the worker's statements once per connection. Planning each time, PostgreSQL's own choice, takes four fifths of
# their time.
PLANNED_ONCE: Final = """
SELECT set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
    set_config('enable_bitmapscan', 'off', true)
"""
# As the worker takes them up: with the address that the webhook has now, and none where it is not to be called. $3 and
# $4 are the first and the last of the ids: weeks that have none between these are left out before the statement begins;
# to begin with all of them takes two thirds of its time.
LOAD_DUE: Final = """
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
# Save every attempt, also of a run that lost its lease. Only the holder of the lease changes the state of the delivery.
# $10 and $11 are the first and the last id, as above.
SAVE_RESULTS: Final = """
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
DELETE_OLD: Final = """
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
_SELECT: Final = """
SELECT r.delivery_id, r.tenant_id, r.event_id, r.type, r.request_id, r.template_id, r.url, r.state, r.attempts,
    r.created_at, j.run_at AS next_attempt_at
FROM chamberlain.delivery r LEFT JOIN chamberlain.job j ON j.tenant_id = r.tenant_id AND j.job_id = r.job_id
"""
FIND: Final = f"{_SELECT} WHERE r.tenant_id = $1 AND r.delivery_id = $2"
# $1 tenant, $2 and $3 the position (null at the beginning), $4 state, $5 template, $6 request, $7 number of rows.
_AFTER: Final = "($2::timestamptz IS NULL OR (r.created_at, r.delivery_id) < ($2, $3::uuid))"
_NEWEST: Final = "ORDER BY r.created_at DESC, r.delivery_id DESC LIMIT $7"
_ANY: Final = "($4::text IS NULL OR r.state = $4)"
_OF_TEMPLATE: Final = "($5::uuid IS NULL OR r.template_id = $5)"
_OF_REQUEST: Final = "($6::uuid IS NULL OR r.request_id = $6)"


def _page_where(*conditions: str) -> str:
    where = " AND ".join(("r.tenant_id = $1", _AFTER, *conditions))
    return f"{_SELECT} WHERE {where} {_NEWEST}"


PAGE: Final = _page_where(_ANY, _OF_TEMPLATE, _OF_REQUEST)
PAGE_OPEN: Final = _page_where("r.state <> 'succeeded'", "r.state = $4", _OF_TEMPLATE, _OF_REQUEST)
PAGE_OF_TEMPLATE: Final = _page_where("r.template_id = $5", _ANY, _OF_REQUEST)
PAGE_OF_REQUEST: Final = _page_where("r.request_id = $6", _ANY, _OF_TEMPLATE)
_decode_attempts = msgspec.json.Decoder(tuple[Attempt, ...]).decode
# Pending deliveries are attempted at once, held or not, unless a worker has claimed them. All others get a new job. The
# retry schedule starts again. A worker that ends a job then writes the delivery, which is locked here. So locked jobs
# are skipped to avoid a deadlock. $1 tenant, $2 kind of the job.
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
# Deliveries of a span, oldest first, after a position, whose webhook can be called. A locked delivery is being
# attempted, so it is skipped. $3 since, $4 until, $5 template, $6 and $7 the position (null at the start), $8 number of
# rows.
REDELIVER_BATCH: Final = f"""
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
# A week with deliveries of a wrong system time stays until these are old, and so do the weeks after it.
MAINTAIN_WEEKS: Final = """
SELECT chamberlain.keep_delivery_weeks($1, least($2, (
    SELECT min(f.from_at) FROM chamberlain.clock_fault f WHERE coalesce(f.resumed_at, 'infinity') >= $2
))) AS removed
"""


async def load_due(tx: Transaction, wanted: Collection[tuple[TenantId, DeliveryId]]) -> Sequence[DueDelivery]:
    """Those of these that are still pending, as the worker's role."""
    if not wanted:
        return ()
    ids = [delivery for _, delivery in wanted]
    await tx.execute(PLANNED_ONCE)
    rows = await tx.fetch(LOAD_DUE, [tenant for tenant, _ in wanted], ids, min(ids), max(ids))
    return [_due(row) for row in rows]


async def save_results(tx: Transaction, results: Sequence[DeliveryResult]) -> None:
    """Save attempts and states of deliveries, and end or postpone their jobs.

    Needs the worker's role.
    """
    if not results:
        return
    ids = [each.delivery.id for each in results]
    await tx.execute(PLANNED_ONCE)
    await tx.execute(
        SAVE_RESULTS,
        [each.delivery.tenant_id for each in results],
        ids,
        [each.lease_id for each in results],
        [each.job_id for each in results],
        [each.state for each in results],
        [each.delivery.url for each in results],
        [_encode_attempt(each.reply) for each in results],
        [each.after for each in results],
        MAX_STORED_ATTEMPTS,
        min(ids),
        max(ids),
    )


async def delete_old(tx: Transaction, *, before: datetime, limit: int) -> int:
    """Delete old deliveries of all tenants that are not pending.

    Returns their number.
    """
    await tx.execute(PLANNING)
    return len(await tx.fetch(DELETE_OLD, before, limit))


async def find(tx: Transaction, delivery_id: DeliveryId) -> DeliveryRecord | None:
    """The delivery, in the tenant of the transaction."""
    row = await tx.fetch_row(FIND, tx.tenant_id, delivery_id)
    return None if row is None else _record(row)


async def find_page(tx: Transaction, wanted: DeliveryFilter, page: PageWanted) -> Page[DeliveryRecord]:
    """Paginate deliveries that match a filter, newest first."""
    await tx.execute(PLANNING)
    statement, values = page_statement(tx, wanted, page)
    rows = await tx.fetch(statement, *values)
    records = [_record(row) for row in rows[: page.limit]]
    if len(rows) <= page.limit:
        return Page(records, None)
    return Page(records, Position(records[-1].created_at, records[-1].id))


def page_statement(tx: Transaction, wanted: DeliveryFilter, page: PageWanted) -> tuple[str, tuple[object, ...]]:
    """Return the statement of a page, with its values.

    It reads one more row.
    """
    if wanted.request_id is not None:
        statement = PAGE_OF_REQUEST
    elif wanted.state not in {None, DeliveryState.SUCCEEDED}:
        statement = PAGE_OPEN
    else:
        statement = PAGE if wanted.template_id is None else PAGE_OF_TEMPLATE
    after = page.after
    place = (None, None) if after is None else (after.created_at, after.id)
    values = (tx.tenant_id, *place, wanted.state, wanted.template_id, wanted.request_id, page.limit + 1)
    return statement, values


async def redeliver(tx: Transaction, delivery_id: DeliveryId) -> bool:
    """Queue a delivery again, in any state.

    Returns False if it does not exist.
    """
    return await tx.fetch_row(REDELIVER, tx.tenant_id, JobKind.WEBHOOK_DELIVER, delivery_id) is not None


async def redeliver_batch(
    tx: Transaction, span: DeliverySpan, *, after: Position | None, limit: int
) -> RedeliveredBatch:
    """Queue up to `limit` deliveries of a span after a position.

    The oldest come first.
    """
    await tx.execute(PLANNING)
    place = (None, None) if after is None else (after.created_at, after.id)
    bounds = (span.since, span.until, span.template_id)
    rows = await tx.fetch(REDELIVER_BATCH, tx.tenant_id, JobKind.WEBHOOK_DELIVER, *bounds, *place, limit)
    found = sorted((row["created_at"], row["delivery_id"]) for row in rows)
    return RedeliveredBatch(
        [DeliveryId(each) for _, each in found], Position(*found[-1]) if len(found) == limit else None
    )


async def maintain_weeks(tx: Transaction, *, now: datetime, oldest: datetime) -> int:
    """Create the next weekly partitions, and drop old ones.

    Partitions with pending deliveries stay. Returns the number of dropped ones. Needs the worker's role and a
    transaction of its own, because it blocks others. Locked partitions are left to the next run.
    """
    (row,) = await tx.fetch(MAINTAIN_WEEKS, now, oldest)
    return int(row["removed"])


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


def _encode_attempt(reply: Reply | None) -> str | None:
    """Encode an attempt. The database numbers it."""
    if reply is None:
        return None
    milliseconds = round(reply.duration.total_seconds() * 1000)
    attempt = {"at": reply.at, "status": reply.status, "duration_ms": milliseconds}
    return _encode({**attempt, "error": reply.error, "answer": reply.answer}).decode()


def _record(row: Record) -> DeliveryRecord:
    request_id = row["request_id"]
    return DeliveryRecord(
        id=DeliveryId(row["delivery_id"]),
        tenant_id=TenantId(row["tenant_id"]),
        event_id=EventId(row["event_id"]),
        type=row["type"],
        request_id=None if request_id is None else RequestId(request_id),
        template_id=TemplateId(row["template_id"]),
        url=row["url"],
        state=DeliveryState(row["state"]),
        next_attempt_at=row["next_attempt_at"],
        attempts=_decode_attempts(row["attempts"]),
        created_at=row["created_at"],
    )
