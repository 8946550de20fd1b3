"""A pool that finds out when its server hangs, and that has a connection at hand for whoever comes next.

The driver takes a connection back by a task of its own and some turns of the event loop, for which whoever has used it
waits. Where few ask at a time that was a tenth of all that a request takes; so a connection stays at hand for a while
when nothing is the matter with it and nobody waits for one.
"""

import asyncio
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

import asyncpg
from asyncpg.pool import PoolAcquireContext, PoolConnectionProxy

from chamberlain.database.pool_outage_record import OutageRecord

# The driver's classes take a parameter for the type checker only.
if TYPE_CHECKING:
    from collections.abc import Generator

    LentConnection = PoolConnectionProxy[asyncpg.Record]
    _Pool = asyncpg.Pool[asyncpg.Record]
    _AcquireContext = PoolAcquireContext[asyncpg.Record]
else:
    LentConnection = PoolConnectionProxy
    _Pool = asyncpg.Pool
    _AcquireContext = PoolAcquireContext

# A server that is well hears at once that it shall give up what took too long; a busy machine takes a little more.
RELEASED_WITHIN = timedelta(seconds=3)
# So often the driver gets all that are at hand, ends those that were used often enough, and those that are idle later.
AT_HAND = timedelta(seconds=10)


class WatchfulPool(_Pool):
    """Gives up a connection whose server does not even hear that it shall give up, and with it all others there are:
    they lead to the same server, and each would be waited for in its turn. New ones find who leads by now."""

    released_within = RELEASED_WITHIN
    at_hand_for = AT_HAND

    def __init__(self, outages: OutageRecord, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]  # The driver knows them.
        self.outages = outages
        self._at_hand: list[LentConnection] = []
        # Those that somebody has and that are good for somebody else: none of them was given up meanwhile.
        self._lent: set[LentConnection] = set()
        # How often all were given up.
        self._expiries = 0
        # How many wait for the driver to lend one.
        self._waiting = 0
        self._timer: asyncio.TimerHandle | None = None
        self._putting_away: asyncio.Task[None] | None = None
        self._ends = False

    def acquire(self, *, timeout: float | None = None) -> "_Lent":
        """One of the connections, to be awaited or for as long as a block runs, as the driver has it."""
        return _Lent(self, timeout)

    def is_used_up(self) -> bool:
        """Whether all connections that the pool may have are open and lent."""
        return self.get_size() >= self.get_max_size() and self.get_idle_size() == 0 and not self._at_hand

    def lend_at_hand(self) -> LentConnection | None:
        """The one that was used last, unless that has ended meanwhile or none is at hand."""
        if not self._at_hand or not _is_open(self._at_hand[-1]):
            return None
        connection = self._at_hand.pop()
        self._lent.add(connection)
        return connection

    async def lend(
        self,
        timeout: float | None = None,  # noqa: ASYNC109 - it is the driver's.
    ) -> LentConnection:
        """The one that was used last, or what the driver has. Raises TimeoutError."""
        while self._at_hand:
            if (ready := self.lend_at_hand()) is not None:
                return ready
            await self.release(self._at_hand.pop())
        expiries = self._expiries
        self._waiting += 1
        try:
            connection = await super().acquire(timeout=timeout)
        finally:
            self._waiting -= 1
        # One that was made while all were given up may lead where they led.
        if expiries == self._expiries:
            self._lent.add(connection)
        return connection

    def keep(self, connection: LentConnection) -> bool:
        """Have it at hand for the next one, unless something speaks against that (False); then it has to be released.
        For those whose last statement has come to its end, however it ended."""
        if self._waiting or self._ends or connection not in self._lent or not _is_open(connection):
            return False
        # What was begun and not ended is put right by the driver.
        if connection.is_in_transaction():
            return False
        self._lent.remove(connection)
        self._at_hand.append(connection)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self.at_hand_for.total_seconds(), self._put_away_soon)
        return True

    async def release(
        self,
        connection: LentConnection,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - it is the driver's.
    ) -> None:
        """Give it back to the driver."""
        self._lent.discard(connection)
        try:
            await super().release(connection, timeout=timeout or self.released_within.total_seconds())
        except TimeoutError:
            await self.expire_connections()

    async def expire_connections(self) -> None:
        """Give up all that there are, as soon as nobody uses them."""
        await super().expire_connections()
        self._expiries += 1
        self._lent.clear()
        given_up, self._at_hand = self._at_hand, []
        for connection in given_up:
            if _is_open(connection):
                connection.terminate()

    async def close(self) -> None:
        """End all connections, once they are given back."""
        self._ends = True
        if self._timer is not None:
            self._timer.cancel()
        await self._put_away()
        await super().close()

    def _put_away_soon(self) -> None:
        self._timer = None
        self._putting_away = asyncio.create_task(self._put_away())

    async def _put_away(self) -> None:
        while self._at_hand:
            # One whose server is gone is gone as well.
            with suppress(OSError):
                await self.release(self._at_hand.pop())


class _Lent(_AcquireContext):
    """A connection while it is lent. Behind a block that ends in order it stays at hand."""

    __slots__ = ()

    pool: WatchfulPool

    async def __aenter__(self) -> LentConnection:
        self.connection = await self.pool.lend(self.timeout)
        return self.connection

    async def __aexit__(self, *error: object) -> None:
        connection, self.connection = self.connection, None
        if connection is not None and (any(error) or not self.pool.keep(connection)):
            await self.pool.release(connection)

    def __await__(self) -> "Generator[object, None, LentConnection]":
        return self.pool.lend(self.timeout).__await__()


def _is_open(connection: LentConnection) -> bool:
    try:
        return not connection.is_closed()
    except asyncpg.InterfaceError:
        # It has ended, and the driver has taken note of it.
        return False
