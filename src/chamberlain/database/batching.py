# SPDX-License-Identifier: Apache-2.0
"""Batch concurrent calls: calls during one batch form the next one.

The first call starts a flush at the end of the current tick of the event loop. So a single call does not wait, and
there is no timer. Used for submissions, for lookups in the directory, and wherever one statement can serve many
callers.
"""

import asyncio
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Generic, TypeAlias, TypeVar

from chamberlain.core.errors import Unavailable

Item = TypeVar("Item")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class _Failure:
    """An error for several callers.

    Each raises it with its original traceback. Otherwise it would collect the frames of all of them.
    """

    error: BaseException
    found_at: TracebackType | None


@dataclass(slots=True)
class _Load:
    """Number and weight of pending items of one owner."""

    items: int = 0
    weight: int = 0


class Batcher(Generic[Item, Answer]):
    """Turn single calls into batches.

    One batch runs at a time, or up to `at_once` of them. Another batch starts when as many items wait as any running
    batch has. Smaller batches cost more for each item.

    `flush` returns the answers of a batch in its order. When it raises one of `divisible`, one item is taken to be the
    cause: the batch is halved until that item is alone and gets the error. Any other error goes to all items of the
    batch. `causes` names the possible causes of the error of a single item. Items of its batch with one of these causes
    get the same error without a retry.

    A batch has at most `most` items, and weighs at most `most_weight` by `weigh`, unless it is a single item.
    Unavailable is raised while `pending_limit` items or a weight of `pending_weight_limit` are pending, or half of
    either limit for one `owner`.
    """

    def __init__(
        self,
        flush: Callable[[Sequence[Item]], Awaitable[Sequence[Answer]]],
        *,
        divisible: tuple[type[Exception], ...] = (),
        causes: Callable[[Item, BaseException], Collection[Hashable]] = lambda _, __: (),
        weigh: Callable[[Item], int] = lambda _: 0,
        owner: Callable[[Item], Hashable] | None = None,
        most: int = 512,
        most_weight: int = sys.maxsize,
        at_once: int = 1,
        pending_limit: int = 20_000,
        pending_weight_limit: int = sys.maxsize,
    ) -> None:
        self._flush = flush
        self._divisible = divisible
        self._causes = causes
        self._weigh = weigh
        self._owner: Callable[[Item], Hashable] = (lambda _: None) if owner is None else owner
        self._most = most
        self._most_weight = most_weight
        self._at_once = at_once
        self._pending_limit = pending_limit
        self._pending_weight_limit = pending_weight_limit
        shares = 1 if owner is None else 2
        self._limit_of_one = _Load(pending_limit // shares, pending_weight_limit // shares)
        # Each with its weight and its owner.
        self._pending: deque[tuple[Item, asyncio.Future[Answer | _Failure], int, Hashable]] = deque()
        self._pending_weight = 0
        # Owners with pending items.
        self._loads: dict[Hashable, _Load] = {}
        self._flights: set[_Flight[Item, Answer]] = set()

    async def submit(self, item: Item) -> Answer:
        """Return the answer to one item, after its batch."""
        owner = self._owner(item)
        if self._is_full(owner):
            raise Unavailable("overloaded", "Too much is waiting already. Send the request again after a second.")
        future: asyncio.Future[Answer | _Failure] = asyncio.get_running_loop().create_future()
        self._append(item, future, owner)
        if len(self._flights) < self._at_once and all(len(self._pending) >= flight.size for flight in self._flights):
            self._start()
        outcome = await future
        if not isinstance(outcome, _Failure):
            return outcome
        try:
            raise outcome.error.with_traceback(outcome.found_at)
        finally:
            # The error refers to this frame, and the frame to the error: only the collector would free them.
            del future, outcome

    async def close(self) -> None:
        """Wait until every item has its answer."""
        while self._flights:
            # The callback of a finished batch runs before this continues.
            await asyncio.wait({flight.work for flight in self._flights})

    def _is_full(self, owner: Hashable) -> bool:
        if len(self._pending) >= self._pending_limit or self._pending_weight >= self._pending_weight_limit:
            return True
        load, limit = self._loads.get(owner), self._limit_of_one
        return load is not None and (load.items >= limit.items or load.weight >= limit.weight)

    def _append(self, item: Item, future: "asyncio.Future[Answer | _Failure]", owner: Hashable) -> None:
        weight = self._weigh(item)
        self._pending.append((item, future, weight, owner))
        self._pending_weight += weight
        load = self._loads.get(owner)
        if load is None:
            load = self._loads[owner] = _Load()
        load.items += 1
        load.weight += weight

    def _pop(self) -> None:
        _, _, weight, owner = self._pending.popleft()
        self._pending_weight -= weight
        load = self._loads[owner]
        load.items -= 1
        load.weight -= weight
        if not load.items:
            del self._loads[owner]

    def _start(self) -> None:
        """Start the next batch at the end of this tick."""
        flight: _Flight[Item, Answer] = _Flight(self._pending_limit)
        # A separate task keeps its error until it is read, so every kind of error reaches the callers.
        work = asyncio.create_task(self._depart(flight))
        work.add_done_callback(partial(self._land, flight))
        flight.work = work
        self._flights.add(flight)

    async def _depart(self, flight: "_Flight[Item, Answer]") -> Sequence[Answer]:
        flight.batch = self._take()
        flight.size = len(flight.batch)
        return await self._call([item for item, _ in flight.batch])

    def _land(self, flight: "_Flight[Item, Answer]", work: "asyncio.Task[Sequence[Answer]]") -> None:
        if self._is_divisible(flight.batch, work):
            flight.work = halves = asyncio.create_task(self._settle_halves(flight.batch, {}))
            halves.add_done_callback(partial(self._land_halves, flight))
        else:
            # The next batch starts before the callers of this one continue: the database need not wait for them.
            _tell(self._end(flight), work)

    def _land_halves(self, flight: "_Flight[Item, Answer]", halves: asyncio.Task[None]) -> None:
        batch = self._end(flight)
        # Items without a result; all others have theirs.
        if halves.cancelled() or halves.exception() is not None:
            _tell_failure(batch, halves)

    def _end(self, flight: "_Flight[Item, Answer]") -> "_Batch[Item, Answer]":
        """Start the next batch, and return the items of this one."""
        self._flights.remove(flight)
        if self._pending:
            self._start()
        # An error refers to the frame of its flight. So the flight must not refer to the error.
        batch, flight.batch = flight.batch, ()
        del flight.work
        return batch

    def _take(self) -> "_Batch[Item, Answer]":
        """Take the next batch: the limits apply after its first item."""
        batch: list[tuple[Item, asyncio.Future[Answer | _Failure]]] = []
        room = self._most_weight
        while self._pending and len(batch) < self._most:
            item, future, weight, _ = self._pending[0]
            # A caller that was cancelled needs no answer.
            if not future.done():
                room -= weight
                if room < 0 and batch:
                    break
                batch.append((item, future))
            self._pop()
        return batch

    async def _call(self, items: Sequence[Item]) -> Sequence[Answer]:
        if not items:
            return ()
        answers = await self._flush(items)
        if len(answers) != len(items):
            raise RuntimeError(f"A flush answered {len(answers)} of {len(items)} items.")
        return answers

    def _is_divisible(self, batch: "_Batch[Item, Answer]", work: "asyncio.Task[Sequence[Answer]]") -> bool:
        return len(batch) > 1 and not work.cancelled() and isinstance(work.exception(), self._divisible)

    async def _settle_halves(self, batch: "_Batch[Item, Answer]", found: "dict[Hashable, BaseException]") -> None:
        """Retry both halves.

        `found` has the causes found in other parts of the batch, each with its error.
        """
        middle = len(batch) // 2
        for half in (batch[:middle], batch[middle:]):
            if not (untold := self._tell_of_causes(half, found)):
                continue
            items = [item for item, _ in untold]
            work = asyncio.create_task(self._call(items))
            await asyncio.wait({work})
            if self._is_divisible(untold, work):
                await self._settle_halves(untold, found)
                continue
            error = None if work.cancelled() else work.exception()
            if isinstance(error, self._divisible):
                ((item, _),) = untold
                found.update(dict.fromkeys(self._causes(item, error), error))
            _tell(untold, work)

    def _tell_of_causes(
        self, batch: "_Batch[Item, Answer]", found: "dict[Hashable, BaseException]"
    ) -> "_Batch[Item, Answer]":
        """Fail the items with a known cause, and return the others."""
        untold: list[tuple[Item, asyncio.Future[Answer | _Failure]]] = []
        for item, future in batch:
            errors = (error for cause, error in found.items() if cause in self._causes(item, error))
            if (error := next(errors, None)) is None:
                untold.append((item, future))
            elif not future.done():
                future.set_result(_Failure(error, error.__traceback__))
        return untold


_Batch: TypeAlias = Sequence[tuple[Item, asyncio.Future[Answer | _Failure]]]


@dataclass(slots=True, eq=False)
class _Flight(Generic[Item, Answer]):
    """A running batch.

    Until it has taken its items, its size is that of all that may be pending.
    """

    size: int
    batch: "_Batch[Item, Answer]" = ()
    work: asyncio.Task[object] = field(init=False)


def _tell(batch: "_Batch[Item, Answer]", work: asyncio.Task[Sequence[Answer]]) -> None:
    """Resolve the futures of a finished batch."""
    if work.cancelled() or work.exception() is not None:
        _tell_failure(batch, work)
        return
    for (_, future), answer in zip(batch, work.result(), strict=True):
        if not future.done():
            future.set_result(answer)


def _tell_failure(batch: "_Batch[Item, Answer]", work: asyncio.Task[object]) -> None:
    """Resolve the remaining futures with the error of this work."""
    error = None if work.cancelled() else work.exception()
    for _, future in batch:
        if error is None:
            future.cancel()
        elif not future.done():
            future.set_result(_Failure(error, error.__traceback__))
