# SPDX-License-Identifier: Apache-2.0
"""Budgets of calls to remote directories, shared by all processes.

A process takes slices of a second, so a budget costs about one statement a second, and not one for each call.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from chamberlain.core.errors import BudgetWait
from chamberlain.core.ids import TenantId
from chamberlain.database.transactions import Database
from chamberlain.queries import load_queries

SQL = load_queries(__name__)

# The used part of a published limit. Slower than the limit from the start, the calls are almost never refused.
SHARE: Final = 0.9
# Seconds.
_SLICE: Final = 1.0
# Seconds of the wait in place for a later call.
_SHORTEST_WAIT: Final = 0.05
_LONGEST_WAIT: Final = 30.0


@dataclass(frozen=True, slots=True)
class Budget:
    """A limit of calls.

    `name` is unique in the installation. Tenants whose calls count against the same limit use the same name.
    `per_second` is the number of calls, or of units where calls have different costs. `most` are those that it holds
    after idle time. Processes take them one by one then. None is the calls of one second, in slices.
    """

    name: str
    per_second: float
    most: float | None = None

    @classmethod
    def within(cls, name: str, limit: int, window: timedelta, share: float = SHARE) -> "Budget":
        """Use a share of a limit in a window."""
        seconds = window.total_seconds()
        # In a short window, the calls of a burst and those of the rate count together.
        most = limit * (1 - share) if seconds <= _SLICE else None
        return cls(name, limit * share / seconds, most)


@dataclass(slots=True)
class _Slice:
    """The calls of a tenant that this process may make until `ends`.

    `unused` are left from an earlier slice. `demand` counts the calls of this slice, `former_demand` those of the one
    before. Until `empty_until` the database has no more. `next_turn` is the time of the next call that has to wait.
    `following` counts calls that wait in place.
    """

    left: float = 0.0
    unused: float = 0.0
    ends: float = 0.0
    demand: float = 0.0
    former_demand: float = 0.0
    empty_until: float = 0.0
    next_turn: float = 0.0
    following: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Budgets:
    """The budgets of this process.

    `monotonic` returns seconds, as `time.monotonic` does. `at` returns the time for the database in tests; None is the
    present time.
    """

    def __init__(
        self,
        database: Database,
        monotonic: Callable[[], float],
        *,
        at: Callable[[], datetime | None] = lambda: None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._database = database
        self._monotonic = monotonic
        self._at = at
        self._sleep = sleep
        self._slices: defaultdict[tuple[str, TenantId], _Slice] = defaultdict(_Slice)

    async def begin(self, budget: Budget, tenant_id: TenantId, cost: float = 1.0) -> None:
        """Take the first call of some work.

        Raises BudgetWait with the time until its turn, and Unavailable. Turns follow each other at the rate of the
        budget, so that waiting calls do not come back together.
        """
        part = self._slices[budget.name, tenant_id]
        async with part.lock:
            now = self._monotonic()
            if part.following or not await self._has_taken(budget, tenant_id, cost, part):
                turn = max(now, part.next_turn, part.empty_until)
                part.next_turn = turn + cost / budget.per_second
                raise BudgetWait(timedelta(seconds=turn - now))

    async def follow(self, budget: Budget, tenant_id: TenantId, cost: float = 1.0) -> None:
        """Take a later call of work that has begun.

        It is served before other work begins. It waits here, because the work would begin again otherwise. Raises
        BudgetWait if that takes long, and Unavailable.
        """
        part = self._slices[budget.name, tenant_id]
        part.following += 1
        try:
            while True:
                async with part.lock:
                    if await self._has_taken(budget, tenant_id, cost, part):
                        return
                    wait = max(part.empty_until - self._monotonic(), _SHORTEST_WAIT)
                if wait > _LONGEST_WAIT:
                    raise BudgetWait(timedelta(seconds=wait))
                await self._sleep(wait)
        finally:
            part.following -= 1

    async def slow_down(self, budget: Budget) -> None:
        """Halve the rate of a budget, for all processes.

        Each quiet minute doubles it again. For a directory that asks to slow down, or reports that its limit is near.
        Raises Unavailable.
        """
        async with self._database.across_tenants(before_disk=True) as tx:
            await tx.execute(SQL["slow"], budget.name, budget.per_second, self._at())

    async def _has_taken(self, budget: Budget, tenant_id: TenantId, cost: float, part: _Slice) -> bool:
        now = self._monotonic()
        if now >= part.ends:
            part.unused, part.left = part.left, 0.0
            part.former_demand, part.demand = part.demand, 0.0
            part.ends = now + _SLICE
        part.demand += cost
        if part.left < cost and now >= part.empty_until:
            await self._lease(budget, tenant_id, cost, part)
        if part.left < cost:
            return False
        part.left -= cost
        return True

    async def _lease(self, budget: Budget, tenant_id: TenantId, cost: float, part: _Slice) -> None:
        """Lease as many calls as the slice before had."""
        least = cost - part.left
        wanted = max(least, part.former_demand - part.demand + cost) if budget.most is None else least
        most = budget.per_second if budget.most is None else budget.most
        async with self._database.across_tenants(before_disk=True) as tx:
            values = (budget.name, tenant_id, budget.per_second, most, least, wanted, part.unused, self._at())
            (row,) = await tx.fetch(SQL["take"], *values)
        part.unused = 0.0
        part.left += row["granted"]
        if part.left < cost:
            part.empty_until = self._monotonic() + row["wait"].total_seconds()
