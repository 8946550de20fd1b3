"""Deliveries as they are read: one, and page by page, newest first."""

from typing import Final

import msgspec

from chamberlain.core.ids import DeliveryId, EventId, RequestId, TemplateId, TenantId
from chamberlain.core.paging import Page, PageWanted, Position
from chamberlain.database.transactions import PLANNING, Record, Transaction
from chamberlain.webhooks.models import Attempt, DeliveryFilter, DeliveryRecord, DeliveryState

_SELECT: Final = """
SELECT r.delivery_id, r.tenant_id, r.event_id, r.type, r.request_id, r.template_id, r.url, r.state, r.attempts,
    r.created_at, j.run_at AS next_attempt_at
FROM chamberlain.delivery r LEFT JOIN chamberlain.job j ON j.tenant_id = r.tenant_id AND j.job_id = r.job_id
"""
FIND: Final = f"{_SELECT} WHERE r.tenant_id = $1 AND r.delivery_id = $2"

# $1 tenant, $2 and $3 the position (null at the beginning), $4 state, $5 template, $6 request, $7 number of rows.
_BEHIND: Final = "($2::timestamptz IS NULL OR (r.created_at, r.delivery_id) < ($2, $3::uuid))"
_NEWEST: Final = "ORDER BY r.created_at DESC, r.delivery_id DESC LIMIT $7"
_ANY: Final = "($4::text IS NULL OR r.state = $4)"
_OF_TEMPLATE: Final = "($5::uuid IS NULL OR r.template_id = $5)"
_OF_REQUEST: Final = "($6::uuid IS NULL OR r.request_id = $6)"


def _page_where(*conditions: str) -> str:
    where = " AND ".join(("r.tenant_id = $1", _BEHIND, *conditions))
    return f"{_SELECT} WHERE {where} {_NEWEST}"


PAGE: Final = _page_where(_ANY, _OF_TEMPLATE, _OF_REQUEST)
PAGE_OPEN: Final = _page_where("r.state <> 'succeeded'", "r.state = $4", _OF_TEMPLATE, _OF_REQUEST)
PAGE_OF_TEMPLATE: Final = _page_where("r.template_id = $5", _ANY, _OF_REQUEST)
PAGE_OF_REQUEST: Final = _page_where("r.request_id = $6", _ANY, _OF_TEMPLATE)

_decode_attempts = msgspec.json.Decoder(tuple[Attempt, ...]).decode


async def find(tx: Transaction, delivery_id: DeliveryId) -> DeliveryRecord | None:
    """The delivery, in the tenant of the transaction."""
    row = await tx.fetch_row(FIND, tx.tenant_id, delivery_id)
    return None if row is None else _record(row)


async def find_page(tx: Transaction, wanted: DeliveryFilter, page: PageWanted) -> Page[DeliveryRecord]:
    """A page of the tenant's deliveries that the filter names, newest first."""
    await tx.execute(PLANNING)
    statement, values = page_statement(tx, wanted, page)
    rows = await tx.fetch(statement, *values)
    records = [_record(row) for row in rows[: page.limit]]
    if len(rows) <= page.limit:
        return Page(records, None)
    return Page(records, Position(records[-1].created_at, records[-1].id))


def page_statement(tx: Transaction, wanted: DeliveryFilter, page: PageWanted) -> tuple[str, tuple[object, ...]]:
    """The statement that reads a page and one row more, with its values."""
    after = page.after
    place = (None, None) if after is None else (after.created_at, after.id)
    values = (tx.tenant_id, *place, wanted.state, wanted.template_id, wanted.request_id, page.limit + 1)
    return _statement(wanted), values


def _statement(wanted: DeliveryFilter) -> str:
    if wanted.request_id is not None:
        return PAGE_OF_REQUEST
    if wanted.state not in {None, DeliveryState.SUCCEEDED}:
        return PAGE_OPEN
    return PAGE if wanted.template_id is None else PAGE_OF_TEMPLATE


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
