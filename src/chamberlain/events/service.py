"""List events, oldest first.

For administrators of the tenant, and applications that configure it.
"""

from dataclasses import dataclass
from datetime import datetime

from chamberlain.auth.authorization import Authorization
from chamberlain.auth.models import Caller
from chamberlain.auth.permissions import Operation
from chamberlain.core.ids import EventId, RequestId, TenantId
from chamberlain.core.paging import FeedPage, FeedPosition, FeedWanted
from chamberlain.database.transactions import PLANNING, Database, Record, Transaction
from chamberlain.queries import load_queries

SQL = load_queries(__name__)


@dataclass(frozen=True, slots=True)
class EventRecord:
    """A stored event.

    `type` is a text, because newer code may write other types. `data` is JSON.
    """

    id: EventId
    type: str
    timestamp: datetime
    request_id: RequestId | None
    tenant_id: TenantId
    data: bytes


PAGE = SQL["page"]
PLACE = SQL["place"]

# Events that get a position at once: more than a page has, and few enough to keep the next reader from waiting.
PLACED = 500


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


def _record(row: Record) -> EventRecord:
    return EventRecord(
        id=EventId(row["event_id"]),
        type=row["type"],
        timestamp=row["at"],
        request_id=None if row["request_id"] is None else RequestId(row["request_id"]),
        tenant_id=TenantId(row["tenant_id"]),
        data=str(row["data"]).encode(),
    )


@dataclass(slots=True)
class EventService:
    """List the events of a tenant.

    Raises Forbidden for callers who are not administrators, and Unavailable.
    """

    database: Database
    authorization: Authorization

    async def list(self, caller: Caller, wanted: FeedWanted) -> FeedPage[EventRecord]:
        """List the events after a position, oldest first."""
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        async with self.database.transaction(caller.tenant_id) as tx:
            return await find_page(tx, wanted)
