# SPDX-License-Identifier: Apache-2.0
"""The worker loop for lanes.

Each job runs alone, and one lane leaves room for others. A lane whose jobs take long is slow until one of them does
not. Slow lanes have their own places, so that hanging jobs delay other lanes only until they are detected.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from chamberlain.database.transactions import Transaction
from chamberlain.queue import jobs
from chamberlain.queue.models import Claim, Job, Lane
from chamberlain.queue.worker import JobLoop, LoopTimes, tell


@dataclass(frozen=True, slots=True)
class Places(LoopTimes):
    """Limits of concurrent jobs in fast and slow lanes, and intervals.

    A claim is costly. So places are filled when `free` of them are free, and after each `poll` at the latest.
    """

    fast: int = 128
    fast_of_one: int = 32
    slow: int = 256
    slow_of_one: int = 8
    # Each is a connection. A process usually may have 1,024 connections and files.
    all: int = 512
    free: int = 16
    # A job that takes longer makes its lane a slow one.
    slow_after: timedelta = timedelta(seconds=1)
    # While jobs run, slow ones are detected each `look`.
    look: timedelta = timedelta(milliseconds=250)


@dataclass(frozen=True, slots=True)
class _Run:
    lane: Lane
    begun: float


@dataclass(eq=False, kw_only=True)
class LaneLoop(JobLoop[Places]):
    """Run the jobs of lanes, each alone."""

    pace: Places = Places()
    _runs: dict[asyncio.Task[None], _Run] = field(default_factory=dict, init=False)
    _slow: set[Lane] = field(default_factory=set, init=False)
    _ended: int = field(default=0, init=False)

    async def _turn(self) -> None:
        await self._claim_or_pause(self._fill)
        await self._wait(self.pace.look if self._running else self.pace.poll)

    async def _fill(self) -> None:
        self.wake.clear()
        self._ended = 0
        self._find_slow()
        if not self.may_claim():
            return
        places, room = self.pace, self.pace.all - len(self._runs)
        in_slow = sum(run.lane in self._slow for run in self._runs.values())
        free = min(places.fast - (len(self._runs) - in_slow), room)
        await self._take(free, places.fast_of_one, slow=False)
        if self._slow:
            room = places.all - len(self._runs)
            await self._take(min(places.slow - in_slow, room), places.slow_of_one, slow=True)

    def _find_slow(self) -> None:
        long_ago = asyncio.get_running_loop().time() - self.pace.slow_after.total_seconds()
        self._slow.update(run.lane for run in self._runs.values() if run.begun < long_ago)

    async def _take(self, most: int, of_one: int, *, slow: bool) -> None:
        if most <= 0:
            return
        lease_id = self.new_id()
        async with self.database.across_tenants(before_disk=True) as tx:
            taken = await self._claim_in(tx, lease_id, most=most, of_one=of_one, slow=slow)
        for lane, job in taken:
            claim = Claim(lease_id, (job,))
            task = asyncio.create_task(self._work(claim))
            self._runs[task] = _Run(lane, asyncio.get_running_loop().time())
            self._track(task, claim)

    async def _claim_in(
        self, tx: Transaction, lease_id: UUID, *, most: int, of_one: int, slow: bool
    ) -> Sequence[tuple[Lane, Job]]:
        return await jobs.claim_from_lanes(
            tx,
            lease_id,
            kinds=list(self.handlers),
            most=most,
            of_one=of_one,
            lease=self.pace.lease,
            named=sorted(self._slow),
            only_named=slow,
        )

    def _through(self, task: asyncio.Task[None]) -> None:
        tell(task)
        del self._running[task]
        run = self._runs.pop(task)
        if asyncio.get_running_loop().time() - run.begun < self.pace.slow_after.total_seconds():
            self._slow.discard(run.lane)
        else:
            self._slow.add(run.lane)
        self._ended += 1
        if self._ended >= self.pace.free or run.lane in self._slow or not self._running:
            self.wake.set()


@dataclass(eq=False, kw_only=True)
class DirectoryLaneLoop(LaneLoop):
    """Run the jobs of tenants whose directory has a lane, each alone.

    While no tenant has one, wake-ups cost nothing: only a poll looks whether there is one.
    """

    # By the loop's clock: until then the answer of the last look holds.
    _known_until: float = field(default=0.0, init=False)
    _has_lanes: bool = field(default=False, init=False)

    async def _fill(self) -> None:
        now = asyncio.get_running_loop().time()
        if now >= self._known_until:
            async with self.database.across_tenants() as tx:
                self._has_lanes = await jobs.has_directory_lanes(tx)
            self._known_until = now + self.pace.poll.total_seconds()
        if self._has_lanes:
            await super()._fill()
        else:
            self.wake.clear()

    async def _claim_in(
        self, tx: Transaction, lease_id: UUID, *, most: int, of_one: int, slow: bool
    ) -> Sequence[tuple[Lane, Job]]:
        return await jobs.claim_from_directory_lanes(
            tx,
            lease_id,
            kinds=list(self.handlers),
            most=most,
            of_one=of_one,
            lease=self.pace.lease,
            named=sorted(self._slow),
            only_named=slow,
        )
