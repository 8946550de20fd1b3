"""The worker loop for lanes.

Each job runs alone, and one lane leaves room for others. A lane whose jobs take long is slow until one of them does
not. Slow lanes have their own places, so that hanging jobs delay other lanes only until they are detected.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from chamberlain.core.errors import Unavailable
from chamberlain.database.transactions import Database
from chamberlain.queue import jobs
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import Claim, Job, JobHolder, JobKind, Lane
from chamberlain.queue.worker import Handler, Observe, tell

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Places:
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
    lease: timedelta = timedelta(seconds=10)
    renewal: timedelta = timedelta(seconds=3)
    # The delay of a job whose wake-up was lost. While jobs run, slow ones are detected each `look`.
    poll: timedelta = timedelta(seconds=2)
    look: timedelta = timedelta(milliseconds=250)
    grace: timedelta = timedelta(seconds=8)
    pause: timedelta = timedelta(milliseconds=500)
    most_attempts: int = 20


@dataclass(frozen=True, slots=True)
class _Run:
    lane: Lane
    claim: Claim
    begun: float


class LaneLoop:
    """Run the jobs of lanes until it is stopped.

    `wake` is set when one may be due. While `may_claim` returns False, running jobs continue and no others are claimed.
    """

    def __init__(
        self,
        database: Database,
        kind: JobKind,
        handler: Handler,
        *,
        wake: asyncio.Event,
        new_id: Callable[[], UUID],
        holder: JobHolder,
        observe: Observe,
        may_claim: Callable[[], bool] = lambda: True,
        places: Places = Places(),
    ) -> None:
        self._database = database
        self._kind = kind
        self._handler = handler
        self._wake = wake
        self._new_id = new_id
        self._holder = holder
        self._observe = observe
        self._may_claim = may_claim
        self._places = places
        self._running: dict[asyncio.Task[None], _Run] = {}
        self._slow: set[Lane] = set()
        self._ended = 0
        self._stopping = False

    async def run(self) -> None:
        """Work until `stop` is called.

        Jobs that do not finish in time are given back.
        """
        renewal = asyncio.create_task(self._renew_for_ever())
        renewal.add_done_callback(tell)
        try:
            while not self._stopping:
                await self._fill_or_tell()
                await self._wait()
        finally:
            if self._running:
                await asyncio.wait(self._running, timeout=self._places.grace.total_seconds())
            await self._give_back()
            renewal.cancel()
            await asyncio.wait({renewal})

    def stop(self) -> None:
        """Claim no more jobs."""
        self._stopping = True
        self._wake.set()

    async def _fill_or_tell(self) -> None:
        """Claim jobs, and retry after any error."""
        try:
            await self._fill()
        except Unavailable:
            # The pool has logged the cause (database/pool.py).
            await asyncio.sleep(self._places.pause.total_seconds())
        except Exception:
            logger.exception("The worker cannot take jobs of lanes; it tries again.")
            await asyncio.sleep(self._places.pause.total_seconds())

    async def _fill(self) -> None:
        self._wake.clear()
        self._ended = 0
        self._find_slow()
        if not self._may_claim():
            return
        places, room = self._places, self._places.all - len(self._running)
        in_slow = sum(run.lane in self._slow for run in self._running.values())
        free = min(places.fast - (len(self._running) - in_slow), room)
        await self._take(free, places.fast_of_one, slow=False)
        if self._slow:
            room = places.all - len(self._running)
            await self._take(min(places.slow - in_slow, room), places.slow_of_one, slow=True)

    def _find_slow(self) -> None:
        long_ago = asyncio.get_running_loop().time() - self._places.slow_after.total_seconds()
        self._slow.update(run.lane for run in self._running.values() if run.begun < long_ago)

    async def _take(self, most: int, of_one: int, *, slow: bool) -> None:
        if most <= 0:
            return
        lease_id = self._new_id()
        async with self._database.across_tenants(before_disk=True) as tx:
            taken = await queue_jobs.claim_from_lanes(
                tx,
                lease_id,
                kinds=[self._kind],
                most=most,
                of_one=of_one,
                lease=self._places.lease,
                named=sorted(self._slow),
                only_named=slow,
            )
        for lane, job in taken:
            self._start(lane, Claim(lease_id, (job,)))

    def _start(self, lane: Lane, claim: Claim) -> None:
        task = asyncio.create_task(self._work(claim, claim.jobs[0]))
        self._running[task] = _Run(lane, claim, asyncio.get_running_loop().time())
        task.add_done_callback(self._through)

    def _through(self, task: asyncio.Task[None]) -> None:
        tell(task)
        run = self._running.pop(task)
        if asyncio.get_running_loop().time() - run.begun < self._places.slow_after.total_seconds():
            self._slow.discard(run.lane)
        else:
            self._slow.add(run.lane)
        self._ended += 1
        if self._ended >= self._places.free or run.lane in self._slow or not self._running:
            self._wake.set()

    async def _wait(self) -> None:
        """Wait for a wake-up, finished jobs, or the next poll."""
        span = self._places.look if self._running else self._places.poll
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), span.total_seconds())

    async def _work(self, claim: Claim, job: Job) -> None:
        try:
            await self._run_or_hold(claim, job)
        except Unavailable:
            logger.warning("The database went away while a job was running; it is taken up again after its lease.")

    async def _run_or_hold(self, claim: Claim, job: Job) -> None:
        """Run a job.

        A job with a bug, or with too many attempts, is held for an administrator.
        """
        told = {"jobId": job.id, "kind": job.kind, "traceId": job.trace_id}
        if job.attempts >= self._places.most_attempts:
            logger.error("A job was cut short too often and is held.", extra=told)
            await self._holder.hold(claim, job, f"Its run was cut short {job.attempts} times.")
            self._observe(job.kind, "held", 1)
            return
        try:
            await self._handler(claim)
        except Unavailable:
            raise
        except Exception:
            logger.exception("A job cannot be run and is held.", extra=told)
            await self._holder.hold(claim, job, "Its run met a bug. The log has it under this trace id.")
            self._observe(job.kind, "held", 1)
        else:
            self._observe(job.kind, "done", 1)

    async def _renew_for_ever(self) -> None:
        while True:
            await asyncio.sleep(self._places.renewal.total_seconds())
            if self._running:
                # A failed renewal costs a lease, never a job: another worker claims it, and the result is not
                # recorded.
                with contextlib.suppress(Unavailable):
                    async with self._database.across_tenants() as tx:
                        await jobs.renew(tx, [run.claim for run in self._running.values()], self._places.lease)

    async def _give_back(self) -> None:
        left = dict(self._running)
        if not left:
            return
        for task in left:
            task.cancel()
        await asyncio.wait(left)
        with contextlib.suppress(Unavailable):
            async with self._database.across_tenants() as tx:
                count = await jobs.give_back(tx, [run.claim for run in left.values()])
            logger.info("Jobs were given back.", extra={"count": count})
