# SPDX-License-Identifier: Apache-2.0
"""Budgets of calls: equal shares, use of the limit, refusals, slowing down."""

import asyncio
import heapq
from collections import Counter, deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from uuid import uuid4

import pytest

from chamberlain.core.errors import BudgetWait
from chamberlain.core.ids import TenantId
from chamberlain.directory.budgets import SHARE, Budget, Budgets
from chamberlain.embedded import postgres
from tests.databases import Databases, migrated_database

FIRST, SECOND = TenantId(uuid4()), TenantId(uuid4())


@pytest.fixture
async def databases(postgres_server: postgres.Server) -> AsyncIterator[Databases]:
    async with migrated_database(postgres_server) as opened:
        yield opened


@dataclass
class Simulation:
    """Workers that make calls, against a remote limit in a sliding window. Time passes without waiting."""

    databases: Databases
    limit: int
    window: float
    workers: int = 3
    share: float = SHARE
    time: float = 0.0
    calls: Counter[TenantId] = field(default_factory=Counter)
    refused: int = 0
    asleep: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))
    may_pass: asyncio.Event = field(default_factory=asyncio.Event)
    _recent: deque[float] = field(default_factory=deque)

    def __post_init__(self) -> None:
        start = datetime(2026, 11, 26, 9, 0, tzinfo=UTC)
        self.budgets = [
            Budgets(
                self.databases.worker,
                lambda: self.time,
                at=lambda: start + timedelta(seconds=self.time),
                sleep=self._pass,
            )
            for _ in range(self.workers)
        ]
        self.budget = Budget.within("test", self.limit, timedelta(seconds=self.window), self.share)

    async def run(self, until: float, jobs: dict[TenantId, int], *, from_time: float = 0.0) -> None:
        """Run this number of waiting jobs for each tenant; each makes one call after the other."""
        number = count()
        queue = [
            (from_time + job % 17 / 20, next(number), tenant, job % self.workers)
            for tenant, jobs_of_tenant in jobs.items()
            for job in range(jobs_of_tenant)
        ]
        heapq.heapify(queue)
        while queue and queue[0][0] < until:
            self.time, _, tenant, worker = heapq.heappop(queue)
            wait = (await self.wait(worker, tenant)).total_seconds()
            if not wait:
                self._call(tenant)
                wait = 0.05
            heapq.heappush(queue, (self.time + wait, next(number), tenant, worker))
        self.time = until

    async def wait(self, worker: int, tenant: TenantId, cost: float = 1.0) -> timedelta:
        """Take the first call of some work, and return the time until its turn."""
        try:
            await self.budgets[worker].begin(self.budget, tenant, cost)
        except BudgetWait as wait:
            return wait.after
        return timedelta(0)

    async def _pass(self, seconds: float) -> None:
        self.asleep.release()
        await self.may_pass.wait()
        self.time += seconds

    def _call(self, tenant: TenantId) -> None:
        while self._recent and self._recent[0] <= self.time - self.window:
            self._recent.popleft()
        if len(self._recent) >= self.limit:
            self.refused += 1
            return
        self._recent.append(self.time)
        self.calls[tenant] += 1


@pytest.mark.heavy
@pytest.mark.parametrize(("limit", "window"), [(60, 10.0), (300, 10.0)])
async def test_two_tenants_have_equal_shares_of_nearly_all_calls(
    databases: Databases, limit: int, window: float
) -> None:
    simulation = Simulation(databases, limit, window)

    await simulation.run(60, {FIRST: 60, SECOND: 12})

    first, second = simulation.calls[FIRST], simulation.calls[SECOND]
    assert abs(first - second) <= 0.1 * second
    assert 0.8 * limit * 60 / window < first + second <= limit * 60 / window
    assert simulation.refused <= 0.01 * (first + second)


async def test_one_tenant_alone_uses_nearly_all_calls(databases: Databases) -> None:
    simulation = Simulation(databases, 100, 10)

    await simulation.run(30, {FIRST: 20})

    assert simulation.calls[FIRST] > 0.8 * 300
    assert simulation.refused == 0


@pytest.mark.parametrize("limit", [6, 30])
async def test_a_limit_of_one_second_is_used_and_never_exceeded(databases: Databases, limit: int) -> None:
    simulation = Simulation(databases, limit, 1, share=0.8)

    await simulation.run(30, {FIRST: 20})

    assert 0.9 * 0.8 * 30 * limit < simulation.calls[FIRST]
    assert simulation.refused == 0


async def test_a_tenant_that_begins_later_is_served_at_once_and_equally(databases: Databases) -> None:
    simulation = Simulation(databases, 100, 10)
    await simulation.run(20, {FIRST: 20})
    before = simulation.calls[FIRST]

    await simulation.run(80, {FIRST: 20, SECOND: 20}, from_time=20)

    first, second = simulation.calls[FIRST] - before, simulation.calls[SECOND]
    assert abs(first - second) <= 0.1 * second
    assert first + second > 0.8 * 600


async def test_waiting_calls_get_turns_one_after_the_other(databases: Databases) -> None:
    simulation = Simulation(databases, 20, 10, workers=1)

    waits = [await simulation.wait(0, FIRST) for _ in range(20)]

    waiting = [wait for wait in waits if wait]
    assert waiting == sorted(set(waiting))
    assert waiting[-1] > timedelta(seconds=8)


async def test_it_slows_down_and_recovers_after_quiet_minutes(databases: Databases) -> None:
    simulation = Simulation(databases, 100, 10)
    await simulation.run(10, {FIRST: 20})

    # Several processes notice the same, and halve it once.
    for budgets in simulation.budgets:
        await budgets.slow_down(simulation.budget)
    simulation.calls.clear()
    await simulation.run(40, {FIRST: 20}, from_time=10)
    slowed = simulation.calls[FIRST]
    simulation.calls.clear()
    await simulation.run(110, {FIRST: 20}, from_time=80)

    assert 0.35 * 300 < slowed < 0.5 * 300
    assert simulation.calls[FIRST] > 0.8 * 300


async def test_a_call_may_cost_more_than_a_second_of_its_budget(databases: Databases) -> None:
    simulation = Simulation(databases, 4, 60, workers=1)
    await simulation.wait(0, FIRST, 3)

    wait = await simulation.wait(0, FIRST, 3)
    simulation.time += wait.total_seconds()

    assert timedelta(seconds=45) < wait < timedelta(seconds=60)
    assert await simulation.wait(0, FIRST, 3) == timedelta(0)


async def test_a_budget_may_hold_the_calls_of_many_seconds(databases: Databases) -> None:
    simulation = Simulation(databases, 4, 60, workers=1)
    simulation.budget = Budget("members", 2 / 60, 2)

    waits = [await simulation.wait(0, FIRST) for _ in range(3)]

    assert waits[:2] == [timedelta(0), timedelta(0)]
    assert timedelta(seconds=25) < waits[2] <= timedelta(seconds=30)


async def test_idle_budgets_are_removed_when_new_ones_begin(databases: Databases) -> None:
    simulation = Simulation(databases, 4, 60, workers=1)
    for number in range(5):
        simulation.budget = Budget(f"team {number}", 1.0)
        await simulation.wait(0, FIRST)
        simulation.time += 1_000

    simulation.budget = Budget("team 0", 1.0)

    assert await simulation.wait(0, FIRST) == timedelta(0)
    async with databases.worker.across_tenants() as tx:
        rows = await tx.fetch("SELECT name FROM chamberlain.budget_share ORDER BY name")
    assert [row["name"] for row in rows] == ["team 0", "team 2", "team 3", "team 4"]


async def test_work_that_has_begun_continues_before_other_work_begins(databases: Databases) -> None:
    simulation = Simulation(databases, 20, 10, workers=1)
    while not await simulation.wait(0, FIRST):
        pass
    following = [asyncio.create_task(simulation.budgets[0].follow(simulation.budget, FIRST)) for _ in range(3)]
    for _ in following:
        await simulation.asleep.acquire()
    simulation.time = 0.6

    wait = await simulation.wait(0, FIRST)
    simulation.may_pass.set()
    await asyncio.gather(*following)

    assert wait > timedelta(0)
    assert timedelta(seconds=1) < timedelta(seconds=simulation.time) < timedelta(seconds=4)


async def test_work_that_has_begun_waits_half_a_minute_at_most(databases: Databases) -> None:
    simulation = Simulation(databases, 4, 600, workers=1)
    await simulation.wait(0, FIRST)

    with pytest.raises(BudgetWait) as caught:
        await simulation.budgets[0].follow(simulation.budget, FIRST)

    assert caught.value.after > timedelta(seconds=30)
    assert simulation.time == 0
