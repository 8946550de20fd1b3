# SPDX-License-Identifier: Apache-2.0
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
from chamberlain.queries import load_queries
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

SQL = load_queries(__name__)
PLANNED_ONCE: Final = SQL["planned_once"]
LOAD_DUE: Final = SQL["load_due"]
SAVE_RESULTS: Final = SQL["save_results"]
DELETE_OLD: Final = SQL["delete_old"]
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
REDELIVER: Final = SQL["redeliver"]


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
    rows = await tx.fetch(SQL["redeliver_batch"], tx.tenant_id, JobKind.WEBHOOK_DELIVER, *bounds, *place, limit)
    found = sorted((row["created_at"], row["delivery_id"]) for row in rows)
    return RedeliveredBatch(
        [DeliveryId(each) for _, each in found], Position(*found[-1]) if len(found) == limit else None
    )


async def maintain_weeks(tx: Transaction, *, now: datetime, oldest: datetime) -> int:
    """Create the next weekly partitions, and drop old ones.

    Partitions with pending deliveries stay. Returns the number of dropped ones. Needs the worker's role and a
    transaction of its own, because it blocks others. Locked partitions are left to the next run.
    """
    (row,) = await tx.fetch(SQL["maintain_weeks"], now, oldest)
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
