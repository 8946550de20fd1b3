"""A pool that finds out when its server hangs, and that has a connection at hand for whoever comes next.

The driver takes a connection back by a task of its own and some turns of the event loop, for which whoever has used it
waits. Where few ask at a time that was a tenth of all that a request takes; so a connection stays at hand for a while
when nothing is the matter with it and nobody waits for one.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from math import inf
from typing import TYPE_CHECKING

import asyncpg
from asyncpg.pool import PoolAcquireContext, PoolConnectionProxy

from chamberlain.core.outages import Outage

if TYPE_CHECKING:
    from collections.abc import Generator

    LentConnection = PoolConnectionProxy[asyncpg.Record]
    _Pool = asyncpg.Pool[asyncpg.Record]
    _AcquireContext = PoolAcquireContext[asyncpg.Record]
else:
    LentConnection = PoolConnectionProxy
    _Pool = asyncpg.Pool
    _AcquireContext = PoolAcquireContext


# Seconds between two lines of the same cause. Ours: seldom enough to read, often enough to see that it lasts.
_REPEATED_AFTER = 60.0
# Seconds without a failure after which an outage has ended. Other calls may succeed all the while: reads with a full
# disk, and every second call where connections are scarce. Ours: a few times the interval of a health check.
_QUIET_FOR = 10.0

logger = logging.getLogger(__name__)


# Takes a sentence and the named values of its log line.
Report = Callable[[str, Mapping[str, object]], None]


def log_outage(sentence: str, values: Mapping[str, object]) -> None:
    """Report to the log, as processes do. A command has one answer, and reports the cause in that."""
    logger.warning(sentence, extra=values)


class OutageRecord:
    """The outage of one pool. `name` is that of the pool; `refine` may know a better cause than the driver."""

    def __init__(
        self,
        name: str,
        *,
        report: Report = lambda _, __: None,
        refine: Callable[[Outage], Outage] = lambda outage: outage,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.current: Outage | None = None
        self.refine = refine
        self._name = name
        self._report = report
        self._clock = clock
        self._began_at = self._failed_at = 0.0
        self._logged_at: dict[Outage, float] = {}
        self._failures = 0

    def failed(self, outage: Outage) -> Outage:
        """Note a failure and answer its refined cause."""
        outage, now = self.refine(outage), self._clock()
        if self.current is None:
            self._began_at, self._failures = now, 0
            self._logged_at.clear()
        self._failures += 1
        self._failed_at = now
        # Calls that fail in turn may have different causes.
        if now - self._logged_at.get(outage, -inf) >= _REPEATED_AFTER:
            self._logged_at[outage] = now
            self._report(f"The database cannot be used. {outage.seen} {outage.cure}", self._facts(outage))
        self.current = outage
        return outage

    def worked(self) -> None:
        """Note a success. It ends the outage when nothing has failed for a while."""
        if self.current is None or self._clock() - self._failed_at < _QUIET_FOR:
            return
        seconds = round(self._failed_at - self._began_at, 1)
        self._report("The database can be used again.", {**self._facts(self.current), "outageSeconds": seconds})
        self.current = None

    def _facts(self, outage: Outage) -> dict[str, object]:
        return {"reasonCode": outage.value, "pool": self._name, "failures": self._failures}


# The driver's classes take a parameter for the type checker only.

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
