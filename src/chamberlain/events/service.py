"""List events, oldest first.

For administrators of the tenant, and applications that configure it.
"""

from dataclasses import dataclass

from chamberlain.auth.authorization import Authorization
from chamberlain.rules.callers import Caller
from chamberlain.rules.event_records import EventRecord
from chamberlain.rules.pages import FeedPage, FeedWanted
from chamberlain.rules.permissions import Operation
from chamberlain.store import events
from chamberlain.store.database import Database


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
            return await events.find_page(tx, wanted)
