# SPDX-License-Identifier: Apache-2.0
"""Run calls at a rate that the service accepts."""

import asyncio
import heapq
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from itertools import count
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

# Enough to keep a service busy that writes in batches, and few enough for one user of it.
MOST_AT_ONCE = 16
# How long nothing at all may succeed before it is given up, in seconds. A service that restarts is back much earlier.
PATIENCE = 300.0
# The same for one that was never there: its address may be wrong.
FIRST_PATIENCE = 20.0
# Half of the first pause if the service names none, and the longest pause, in seconds.
_SOON, _LATE = 0.25, 10.0


@dataclass(frozen=True, slots=True)
class Later:
    """This one again, after so many seconds."""

    after: float


@dataclass(frozen=True, slots=True)
class Busy:
    """Retry later: no call starts before this many seconds are over.

    None means a growing backoff. `error` is raised after the last attempt.
    """

    after: float | None
    error: Exception


class Dispatch(Generic[Item, Result]):
    """Run `work` on items concurrently, with backoff while the service is busy.

    A busy service halves the concurrency and sets the wait. The concurrency grows again with each success.
    """

    def __init__(
        self,
        work: Callable[[Item], Awaitable[Result | Later | Busy]],
        done: Callable[[Result], None],
        *,
        most: int = MOST_AT_ONCE,
        patience: float = PATIENCE,
    ) -> None:
        self._work = work
        self._done = done
        self._most = self._allowed = most
        self._patience = patience
        self._waiting: deque[Item] = deque()
        self._later: list[tuple[float, int, Item]] = []
        self._running: dict[asyncio.Future[Result | Later | Busy], Item] = {}
        self._number = count()
        self._resume_at = 0.0
        self._trouble_since: float | None = None
        self._well = self._troubles = 0
        self._ever_well = False
        self._fault: BaseException | None = None

    async def run(self, items: Iterable[Item], stop: asyncio.Event) -> None:
        """Run until all are finished.

        After `stop` is set, or after the first error, no call starts. Open ones finish, and the first error is raised.
        """
        self._waiting.extend(items)
        stopped = asyncio.ensure_future(stop.wait())
        try:
            while True:
                is_over = stop.is_set() or self._fault is not None
                if not is_over:
                    self._begin()
                if not self._running and (is_over or not (self._waiting or self._later)):
                    break
                ends: set[asyncio.Future[Any]] = {*self._running}
                # Once it is set, only those under way are waited for.
                ends |= set() if stop.is_set() else {stopped}
                pause = None if is_over else self._pause()
                await asyncio.wait(ends, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
                for each in [each for each in self._running if each.done()]:
                    self._settle(each)
        finally:
            stopped.cancel()
            for each in self._running:
                each.cancel()
        if self._fault is not None:
            raise self._fault

    def _begin(self) -> None:
        now = _now()
        while self._later and self._later[0][0] <= now:
            self._waiting.appendleft(heapq.heappop(self._later)[2])
        while self._waiting and len(self._running) < self._allowed and now >= self._resume_at:
            item = self._waiting.popleft()
            self._running[asyncio.ensure_future(self._work(item))] = item

    def _pause(self) -> float | None:
        """Return the seconds until the next call may start."""
        times = [self._later[0][0]] if self._later else []
        if self._waiting and len(self._running) < self._allowed:
            times.append(self._resume_at)
        return max(0.0, min(times) - _now()) if times else None

    def _settle(self, finished: asyncio.Future[Result | Later | Busy]) -> None:
        item = self._running.pop(finished)
        if finished.cancelled() or (error := finished.exception()) is not None:
            self._fault = self._fault or (asyncio.CancelledError() if finished.cancelled() else error)
            return
        match finished.result():
            case Later(after=after):
                heapq.heappush(self._later, (_now() + after, next(self._number), item))
            case Busy(after=after, error=error):
                self._slow_down(after, error)
                self._waiting.appendleft(item)
            case result:
                self._go_on()
                self._done(result)

    def _slow_down(self, after: float | None, error: Exception) -> None:
        now = _now()
        if now >= self._resume_at:
            # Those that are refused together are refused once.
            self._allowed = max(1, self._allowed // 2)
            self._troubles += 1
        seconds = min(_LATE, _SOON * 2**self._troubles) if after is None else after
        self._resume_at = max(self._resume_at, now + seconds)
        self._well = 0
        self._trouble_since = self._trouble_since or now
        is_unheard_of = after is None and not self._ever_well
        patience = min(FIRST_PATIENCE, self._patience) if is_unheard_of else self._patience
        if (after or 0.0) > self._patience or now - self._trouble_since > patience:
            self._fault = self._fault or error

    def _go_on(self) -> None:
        self._ever_well = True
        self._trouble_since, self._troubles = None, 0
        self._well += 1
        if self._well >= self._allowed:
            self._allowed, self._well = min(self._most, self._allowed + 1), 0


def _now() -> float:
    return asyncio.get_running_loop().time()
