# SPDX-License-Identifier: Apache-2.0
"""Read the feed of a tenant in commit order, or filtered.

Reads write: an event gets its position when a reader reaches it.
"""

from dataclasses import dataclass
from datetime import datetime

from chamberlain.core.ids import EventId, RequestId, TenantId
from chamberlain.core.paging import FeedPage, FeedPosition, FeedWanted
from chamberlain.database.transactions import PLANNING, Record, Transaction
from chamberlain.queries import load_queries

SQL = load_queries(__name__)


@dataclass(frozen=True, slots=True)
class EventRecord:
    """A stored event with its position in the feed.

    `type` is a text, because newer code may write other types. `data` is JSON.
    """

    id: EventId
    type: str
    timestamp: datetime
    request_id: RequestId | None
    tenant_id: TenantId
    data: bytes
    position: FeedPosition


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Filter of events. None matches any."""

    type: str | None = None
    request_id: RequestId | None = None

    @property
    def matches_all(self) -> bool:
        """Return whether no event is left out."""
        return self == EventFilter()


@dataclass(frozen=True, slots=True)
class Tip:
    """The end of a feed: everything up to `newest` has its position.

    With `is_unplaced` there may be more events, without one.
    """

    newest: FeedPosition
    is_unplaced: bool


PAGE = SQL["page"]
PAGE_OF_TYPE = SQL["page_of_type"]
PAGE_OF_REQUEST = SQL["page_of_request"]
PLACE = SQL["place"]
TIP = SQL["tip"]

# Events that get a position at once: more than a page has, and few enough to keep the next reader from waiting.
PLACED = 500
# The same before a filtered page, and for followers. They need the positions of all events.
PLACED_AHEAD = 1_000


async def find_page(tx: Transaction, wanted: FeedWanted) -> FeedPage[EventRecord]:
    """Find the next events of the tenant in commit order.

    No event is ever inserted before one that was read. This writes: the first read gives events their positions.
    """
    await tx.execute(PLANNING)
    place = (tx.tenant_id, wanted.after.number, wanted.limit)
    rows = await tx.fetch(PAGE, *place)
    if len(rows) < wanted.limit:
        await tx.execute(PLACE, tx.tenant_id, PLACED)
        rows = await tx.fetch(PAGE, *place)
    return FeedPage([_record(row) for row in rows], FeedPosition(rows[-1]["position"]) if rows else wanted.after)


async def find_filtered(tx: Transaction, wanted: FeedWanted, chosen: EventFilter) -> FeedPage[EventRecord] | None:
    """Find the next matching events of the tenant in commit order.

    Returns None after a full batch of events got positions. More may be left: call it again after the commit.
    """
    await tx.execute(PLANNING)
    tip = await find_tip_ahead(tx)
    return None if tip.is_unplaced else await find_placed(tx, wanted, chosen, tip)


async def find_placed(tx: Transaction, wanted: FeedWanted, chosen: EventFilter, tip: Tip) -> FeedPage[EventRecord]:
    """Find the next matching events that have positions.

    `tip` is from an earlier statement. So a page that is not full has all matching events up to it, and continues
    after it: no event is searched twice.
    """
    place = (tx.tenant_id, wanted.after.number, wanted.limit)
    if chosen.request_id is not None:
        rows = await tx.fetch(PAGE_OF_REQUEST, *place, chosen.request_id, chosen.type)
    elif chosen.type is not None:
        rows = await tx.fetch(PAGE_OF_TYPE, *place, chosen.type)
    else:
        rows = await tx.fetch(PAGE, *place)
    records = [_record(row) for row in rows]
    last = records[-1].position if records else wanted.after
    return FeedPage(records, last if len(rows) == wanted.limit else max(last, tip.newest))


async def find_tip_ahead(tx: Transaction) -> Tip:
    """Give the next events positions and return the end.

    They are in commit order. Only a full batch leaves unplaced events. Events of a smaller one are all that were
    committed before. So a feed that grows all the time does not keep its readers.
    """
    before = await _find_tip(tx)
    if not before.is_unplaced:
        return before
    await tx.execute(PLACE, tx.tenant_id, PLACED_AHEAD)
    after = await _find_tip(tx)
    (row,) = await tx.fetch(SQL["count_after"], tx.tenant_id, before.newest.number, PLACED_AHEAD)
    return Tip(after.newest, is_unplaced=row["number"] == PLACED_AHEAD)


async def _find_tip(tx: Transaction) -> Tip:
    (row,) = await tx.fetch(TIP, tx.tenant_id)
    return Tip(FeedPosition(row["newest"] or 0), row["is_unplaced"])


async def note_reader(tx: Transaction) -> None:
    """Store that the events of the tenant are read.

    Without a reader for a month, accepted requests have no event (docs/reference/events.md).
    """
    await tx.execute(SQL["note_reader"], tx.tenant_id)


def _record(row: Record) -> EventRecord:
    return EventRecord(
        id=EventId(row["event_id"]),
        type=row["type"],
        timestamp=row["at"],
        request_id=None if row["request_id"] is None else RequestId(row["request_id"]),
        tenant_id=TenantId(row["tenant_id"]),
        data=str(row["data"]).encode(),
        position=FeedPosition(row["position"]),
    )
