"""A pool of connections that notices a hanging server, and the record of its outages."""

import logging
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from math import inf
from typing import TYPE_CHECKING

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from chamberlain.core.outages import Outage

# The driver's classes take a parameter for the type checker only.
if TYPE_CHECKING:
    LentConnection = PoolConnectionProxy[asyncpg.Record]
    _Pool = asyncpg.Pool[asyncpg.Record]
else:
    LentConnection = PoolConnectionProxy
    _Pool = asyncpg.Pool


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


# A healthy server acknowledges a cancellation at once; a busy machine takes a little longer.
RELEASED_WITHIN = timedelta(seconds=3)


class WatchfulPool(_Pool):
    """A pool that expires all connections when the server of one does not acknowledge a cancellation.

    All of them lead to the same server, and each would time out in turn. New ones find the host that leads now.
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
