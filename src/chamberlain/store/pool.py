"""A pool that finds out when its server hangs."""

from datetime import timedelta
from typing import TYPE_CHECKING

import asyncpg

if TYPE_CHECKING:
    from asyncpg.pool import PoolConnectionProxy

    _Pool = asyncpg.Pool[asyncpg.Record]
else:
    _Pool = asyncpg.Pool

# A server that is well hears at once that it shall give up what took too long; a busy machine takes a little more.
RELEASED_WITHIN = timedelta(seconds=3)


class WatchfulPool(_Pool):
    """Gives up a connection whose server does not even hear that it shall give up, and with it all others there are:
    they lead to the same server, and each would be waited for in its turn. New ones find who leads by now."""

    released_within = RELEASED_WITHIN

    async def release(
        self,
        connection: "PoolConnectionProxy[asyncpg.Record]",
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - it is the driver's.
    ) -> None:
        """Take it back."""
        try:
            await super().release(connection, timeout=timeout or self.released_within.total_seconds())
        except TimeoutError:
            await self.expire_connections()
