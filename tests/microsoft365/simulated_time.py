# SPDX-License-Identifier: Apache-2.0
"""Time that passes only while every task waits.

A measurement of rates takes seconds instead of minutes, and other programs on the machine do not slow it down.
"""

import asyncio
import heapq
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from datetime import timedelta
from itertools import count
from typing import Any, Final

from chamberlain.database.transactions import Database, Transaction
from tests.microsoft365.fake.clock import Clock

# Passes of the event loop without a call outside, after which every task waits. The longest chain of tasks that wake
# each other has about ten.
_QUIET_PASSES: Final = 50


class SimulatedClock(Clock):
    """A clock that `run` advances from one end of a sleep to the next.

    `outside` are the running calls of the database and of threads, which take no simulated time.
    """

    def __init__(self) -> None:
        super().__init__()
        self.outside = 0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._numbers = count()

    async def sleep(self, seconds: float) -> None:
        """Wait in simulated time."""
        end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.monotonic() + seconds, next(self._numbers), end))
        await end

    async def run(self) -> None:
        """Advance the clock until this task is cancelled."""
        asyncio.get_running_loop().set_default_executor(_CountedThreads(self))
        quiet = 0
        while True:
            await asyncio.sleep(0)
            quiet = 0 if self.outside else quiet + 1
            if quiet > _QUIET_PASSES and self._sleepers:
                at, _, end = heapq.heappop(self._sleepers)
                self.wait(timedelta(seconds=max(0.0, at - self.monotonic())))
                quiet = 0
                if not end.done():
                    end.set_result(None)


class _CountedThreads(ThreadPoolExecutor):
    """Threads whose calls are outside of simulated time."""

    def __init__(self, clock: SimulatedClock) -> None:
        super().__init__(max_workers=4)
        self._clock = clock

    def submit(self, call: Callable[..., Any], /, *values: Any, **named: Any) -> Future[Any]:  # noqa: ANN401 - as the executor has it.
        loop = asyncio.get_running_loop()
        self._clock.outside += 1
        future = super().submit(call, *values, **named)
        future.add_done_callback(lambda _: loop.call_soon_threadsafe(self._end))
        return future

    def _end(self) -> None:
        self._clock.outside -= 1


class CountedDatabase(Database):
    """A database whose statements are outside of simulated time."""

    def __init__(self, database: Database, clock: SimulatedClock) -> None:
        super().__init__(database.pool)
        self._clock = clock

    @asynccontextmanager
    async def across_tenants(self, *, before_disk: bool = False) -> AsyncIterator[Transaction]:
        """Open a transaction."""
        self._clock.outside += 1
        try:
            async with super().across_tenants(before_disk=before_disk) as tx:
                yield tx
        finally:
            self._clock.outside -= 1
