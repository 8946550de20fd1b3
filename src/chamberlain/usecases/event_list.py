"""List the events of a tenant, oldest first, from where a reader left off."""

from dataclasses import dataclass

from chamberlain.auth.authorization import Authorization
from chamberlain.rules.callers import Caller
from chamberlain.rules.event_records import EventRecord
from chamberlain.rules.pages import FeedPage, FeedWanted
from chamberlain.rules.permissions import Operation
from chamberlain.store import events
from chamberlain.store.database import Database


@dataclass(frozen=True, slots=True)
class ListEvents:
    """For administrators of the tenant, and applications that configure it."""

    database: Database
    authorization: Authorization

    async def __call__(self, caller: Caller, wanted: FeedWanted) -> FeedPage[EventRecord]:
        """Raises Forbidden and Unavailable."""
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        async with self.database.transaction(caller.tenant_id) as tx:
            return await events.find_page(tx, wanted)
