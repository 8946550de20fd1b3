# SPDX-License-Identifier: Apache-2.0
"""Follow the feeds of tenants.

Each followed tenant has one task and any number of readers. The task looks for new events after each notification of
this installation, and once a second. It gives them their positions. Readers keep their own position and read only up
to that, so a slow one delays no other and holds one page.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta

from chamberlain.core.errors import Unavailable
from chamberlain.core.ids import TenantId
from chamberlain.core.paging import FeedPage, FeedPosition, FeedWanted
from chamberlain.database.notify import Watchers
from chamberlain.database.transactions import PLANNING, Database
from chamberlain.events import feed
from chamberlain.events.feed import EventFilter, EventRecord, Tip

# The interval of heartbeats, which keep proxies from closing the connection.
QUIET = timedelta(seconds=15)
# Not every event comes with a notification. A look at the end of a feed costs about a millisecond.
EVERY = timedelta(seconds=1)
# Between two looks at one feed, however many notifications come.
THROTTLE = timedelta(milliseconds=100)
# Between retries while the database is unavailable.
PAUSE = timedelta(seconds=1)
# The most events of one read: below a megabyte.
PAGE = 50


@dataclass(slots=True)
class _Feed:
    """A followed feed, with the task that looks for new events.

    `moved` is replaced after each move, so that all readers see it.
    """

    tip: Tip | None = None
    readers: int = 0
    moved: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] = field(init=False)

    def move(self, tip: Tip) -> None:
        if tip != self.tip:
            self.tip = tip
            self.moved.set()
            self.moved = asyncio.Event()


@dataclass(slots=True)
class _Reader:
    """A reader of a feed.

    Everything up to `after` was sent or does not match.
    """

    tenant_id: TenantId
    chosen: EventFilter
    after: FeedPosition


class Followers:
    """Follows the feeds of tenants."""

    def __init__(
        self, database: Database, watchers: Watchers, *, quiet: timedelta = QUIET, every: timedelta = EVERY
    ) -> None:
        self._database = database
        self._watchers = watchers
        self._quiet = quiet
        self._every = every
        self._feeds: dict[TenantId, _Feed] = {}

    async def find_newest(self, tenant_id: TenantId) -> FeedPosition:
        """Find the end of a feed. Raises Unavailable."""
        while True:
            tip = await self._look(tenant_id)
            if not tip.is_unplaced:
                return tip.newest

    async def follow(
        self, tenant_id: TenantId, after: FeedPosition, chosen: EventFilter
    ) -> AsyncGenerator[FeedPage[EventRecord], None]:
        """Yield the matching events after a position for ever, page by page.

        An empty page is a heartbeat; the first page is empty. Retries while the database is unavailable.
        """
        reader = _Reader(tenant_id, chosen, after)
        yield FeedPage((), after)
        async with self._followed(tenant_id) as followed:
            while True:
                if followed.task.done():
                    # A bug in the task must not leave a stream without events.
                    followed.task.result()
                items: tuple[EventRecord, ...] = ()
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._quiet.total_seconds()):
                        items = await self._news(followed, reader)
                yield FeedPage(items, reader.after)

    async def _news(self, followed: _Feed, reader: _Reader) -> tuple[EventRecord, ...]:
        """Wait for matching events, and move the reader behind them."""
        while True:
            moved, tip = followed.moved, followed.tip
            if tip is None or tip.newest <= reader.after:
                await moved.wait()
                continue
            try:
                async with self._database.transaction(reader.tenant_id) as tx:
                    await tx.execute(PLANNING)
                    page = await feed.find_placed(tx, FeedWanted(PAGE, reader.after), reader.chosen, tip)
            except Unavailable:
                await asyncio.sleep(PAUSE.total_seconds())
                continue
            reader.after = page.next
            if page.items:
                return tuple(page.items)

    @asynccontextmanager
    async def _followed(self, tenant_id: TenantId) -> AsyncIterator[_Feed]:
        """Follow a feed while it has readers."""
        followed = self._feeds.get(tenant_id)
        if followed is None:
            followed = self._feeds[tenant_id] = _Feed()
            followed.task = asyncio.create_task(self._run(tenant_id, followed))
        followed.readers += 1
        try:
            yield followed
        finally:
            followed.readers -= 1
            if not followed.readers:
                del self._feeds[tenant_id]
                followed.task.cancel()
                await asyncio.wait([followed.task])

    async def _run(self, tenant_id: TenantId, followed: _Feed) -> None:
        with self._watchers.watching_all() as changed:
            while True:
                changed.clear()
                try:
                    followed.move(await self._look(tenant_id))
                except Unavailable:
                    await asyncio.sleep(PAUSE.total_seconds())
                    continue
                await asyncio.sleep(THROTTLE.total_seconds())
                if followed.tip is not None and followed.tip.is_unplaced:
                    continue
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._every.total_seconds()):
                        await changed.wait()

    async def _look(self, tenant_id: TenantId) -> Tip:
        """Give the next events their positions, and return the end."""
        async with self._database.transaction(tenant_id) as tx:
            await tx.execute(PLANNING)
            await feed.note_reader(tx)
            return await feed.find_tip_ahead(tx)
