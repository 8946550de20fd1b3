"""A pool of connections that detects a hanging server."""

from datetime import timedelta
from typing import TYPE_CHECKING

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from chamberlain.database.errors import OutageRecord

# The driver's classes take a parameter for the type checker only.
if TYPE_CHECKING:
    LentConnection = PoolConnectionProxy[asyncpg.Record]
    _Pool = asyncpg.Pool[asyncpg.Record]
else:
    LentConnection = PoolConnectionProxy
    _Pool = asyncpg.Pool


# A healthy server acknowledges a cancellation at once; a busy machine takes a little longer.
RELEASED_WITHIN = timedelta(seconds=3)


class WatchfulPool(_Pool):
    """A pool that expires all connections when its server hangs.

    The server hangs if it does not acknowledge a cancellation. All connections lead to it, and each would time out in
    turn. New ones find the host that leads now.
    """

    released_within = RELEASED_WITHIN

    def __init__(self, outages: OutageRecord, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]  # The driver knows them.
        self.outages = outages

    def is_used_up(self) -> bool:
        """Whether all connections of the pool are open and lent."""
        return self.get_size() >= self.get_max_size() and self.get_idle_size() == 0

    def lend_at_once(self) -> LentConnection | None:
        """Lend a connection without waiting, if that is possible (fastpath/warm_pool.py)."""
        return None

    async def lend(self) -> LentConnection:
        """Lend a connection."""
        return await self.acquire()

    async def give_back(self, connection: LentConnection) -> None:
        """Take back a connection whose last statement has ended."""
        await self.release(connection)

    async def release(
        self,
        connection: LentConnection,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - it is the driver's.
    ) -> None:
        """Give a connection back to the driver."""
        try:
            await super().release(connection, timeout=timeout or self.released_within.total_seconds())
        except TimeoutError:
            await self.expire_connections()
