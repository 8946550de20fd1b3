"""List events, oldest first.

For administrators of the tenant, and applications that configure it.
"""

from dataclasses import dataclass

from chamberlain.auth.authorization import Authorization
from chamberlain.auth.models import Caller
from chamberlain.auth.permissions import Operation
from chamberlain.core.paging import FeedPage, FeedWanted
from chamberlain.database.transactions import Database
from chamberlain.events import store
from chamberlain.events.models import EventRecord


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
            return await store.find_page(tx, wanted)
