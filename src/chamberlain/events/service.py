# SPDX-License-Identifier: Apache-2.0
"""List and follow events, oldest first.

For administrators of the tenant, and applications that configure it.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass

from chamberlain.auth.authorization import Authorization
from chamberlain.auth.models import Caller
from chamberlain.auth.permissions import Operation
from chamberlain.core.paging import FeedPage, FeedPosition, FeedWanted
from chamberlain.database.transactions import Database
from chamberlain.events import feed
from chamberlain.events.feed import EventFilter, EventRecord
from chamberlain.events.followers import Followers

ALL = EventFilter()


@dataclass(slots=True)
class EventService:
    """List and follow the events of a tenant.

    Every method raises Forbidden for callers who are not administrators, and Unavailable.
    """

    database: Database
    authorization: Authorization
    followers: Followers

    async def list(self, caller: Caller, wanted: FeedWanted, chosen: EventFilter = ALL) -> FeedPage[EventRecord]:
        """List the matching events after a position, oldest first."""
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        while True:
            async with self.database.transaction(caller.tenant_id) as tx:
                await feed.note_reader(tx)
                if chosen.matches_all:
                    return await feed.find_page(tx, wanted)
                page = await feed.find_filtered(tx, wanted, chosen)
            if page is not None:
                return page

    async def follow(
        self, caller: Caller, after: FeedPosition | None, chosen: EventFilter = ALL
    ) -> AsyncGenerator[FeedPage[EventRecord], None]:
        """Follow the matching events after a position, on any process.

        None starts with the next event. An empty page is a heartbeat. Following raises nothing.
        """
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        begin = await self.followers.find_newest(caller.tenant_id) if after is None else after
        return self.followers.follow(caller.tenant_id, begin, chosen)
