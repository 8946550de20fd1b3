# SPDX-License-Identifier: Apache-2.0
"""The worker loop: claim jobs, run their handlers, renew leases, hold failures."""

import asyncio
import contextlib
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from itertools import groupby
from typing import Generic, TypeVar
from uuid import UUID

from chamberlain.core.errors import Unavailable
from chamberlain.database.transactions import Database, Overtaken
from chamberlain.queue import jobs
from chamberlain.queue.models import OF_REQUESTS, Claim, Job, JobHolder, JobKind

# Works on a claim and records the results. Any error but Unavailable is a bug.
Handler = Callable[[Claim], Awaitable[None]]
# Gets kind, outcome and number of finished jobs.
Observe = Callable[[JobKind, str, int], None]

Jobs = TypeVar("Jobs")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class JobTable(Generic[Jobs]):
    """Job kinds of one noun, each with a method of its class."""

    jobs: type[Jobs]
    methods: Mapping[JobKind, Callable[[Jobs, Claim], Awaitable[None]]]

    def handlers(self, instances: Sequence[object]) -> Mapping[JobKind, Handler]:
        """Bind the methods to the instance of their class.

        Raises LookupError if there is none.
        """
        for each in instances:
            if isinstance(each, self.jobs):
                return {kind: partial(method, each) for kind, method in self.methods.items()}
        raise LookupError(f"No {self.jobs.__name__} for {', '.join(self.methods)}.")


@dataclass(frozen=True, slots=True)
class LoopTimes:
    """Leases and intervals of a worker loop."""

    lease: timedelta = timedelta(seconds=10)
    renewal: timedelta = timedelta(seconds=3)
    # The delay of a job whose wake-up was lost.
    poll: timedelta = timedelta(seconds=2)
    grace: timedelta = timedelta(seconds=8)
    # Pause after an error of the database.
    pause: timedelta = timedelta(milliseconds=500)
    most_attempts: int = 20


Times = TypeVar("Times", bound=LoopTimes)


@dataclass(eq=False, kw_only=True)
class JobLoop(ABC, Generic[Times]):
    """Claim and run jobs until it is stopped.

    `wake` is set when a job may be due. While `may_claim` returns False, running jobs continue and no others are
    claimed.
    """

    database: Database
    handlers: Mapping[JobKind, Handler]
    wake: asyncio.Event
    new_id: Callable[[], UUID]
    holder: JobHolder
    observe: Observe
    pace: Times
    may_claim: Callable[[], bool] = lambda: True
    _running: dict[asyncio.Task[None], Claim] = field(default_factory=dict, init=False)
    _stopping: bool = field(default=False, init=False)

    async def run(self) -> None:
        """Work until `stop` is called.

        Jobs that do not finish in time are given back.
        """
        renewal = asyncio.create_task(self._renew_for_ever())
        renewal.add_done_callback(tell)
        try:
            while not self._stopping:
                await self._turn()
        finally:
            if self._running:
                await asyncio.wait(self._running, timeout=self.pace.grace.total_seconds())
            await self._give_back()
            renewal.cancel()
            await asyncio.wait({renewal})

    def stop(self) -> None:
        """Claim no more jobs."""
        self._stopping = True
        self.wake.set()

    @abstractmethod
    async def _turn(self) -> None:
        """Start jobs, or wait for the next chance."""

    @abstractmethod
    def _through(self, task: asyncio.Task[None]) -> None:
        """Remove a finished task."""

    async def _claim_or_pause(self, claim: Callable[[], Awaitable[None]]) -> None:
        """Claim jobs, and pause after any error."""
        try:
            await claim()
        except Unavailable:
            # The pool has logged the cause (database/connection.py).
            await asyncio.sleep(self.pace.pause.total_seconds())
        except Exception:
            logger.exception("The worker cannot take jobs; it tries again.")
            await asyncio.sleep(self.pace.pause.total_seconds())

    async def _wait(self, within: timedelta) -> None:
        """Wait for a wake-up, at most so long."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.wake.wait(), within.total_seconds())

    def _track(self, task: asyncio.Task[None], claim: Claim) -> None:
        self._running[task] = claim
        task.add_done_callback(self._through)

    async def _work(self, claim: Claim) -> None:
        try:
            for kind, batch in _by_kind(await self._hold_worn_out(claim)):
                await self._handle(kind, replace(claim, jobs=batch))
        except Overtaken:
            logger.warning("Two transactions waited for each other; the jobs are taken up again after their lease.")
        except Unavailable:
            logger.warning("The database went away while jobs were running; they are taken up again after their lease.")

    async def _handle(self, kind: JobKind, claim: Claim) -> None:
        try:
            await self.handlers[kind](claim)
        except Unavailable:
            raise
        except Exception as error:  # noqa: BLE001 - a bug in a handler must not stop the others; this is the one place for it
            await self._isolate(kind, claim, error)
        else:
            self.observe(kind, "done", len(claim.jobs))

    async def _isolate(self, kind: JobKind, claim: Claim, error: Exception) -> None:
        """Run each job alone, and hold the one with the bug."""
        if len(claim.jobs) > 1:
            for job in claim.jobs:
                await self._handle(kind, replace(claim, jobs=(job,)))
            return
        (job,) = claim.jobs
        logger.error("A job cannot be run and is held.", exc_info=error, extra=_log_fields(job))
        await self._hold(claim, job, "Its run met a bug. The log has it under this trace id.")

    async def _hold_worn_out(self, claim: Claim) -> tuple[Job, ...]:
        """Hold jobs with too many attempts. Returns the others.

        They may kill workers.
        """
        fit = tuple(job for job in claim.jobs if job.attempts < self.pace.most_attempts)
        for job in claim.jobs:
            if job.attempts >= self.pace.most_attempts:
                logger.error("A job was cut short too often and is held.", extra=_log_fields(job))
                await self._hold(claim, job, f"Its run was cut short {job.attempts} times.")
        return fit

    async def _hold(self, claim: Claim, job: Job, reason: str) -> None:
        await self.holder.hold(claim, job, reason)
        self.observe(job.kind, "held", 1)

    async def _renew_for_ever(self) -> None:
        while True:
            await asyncio.sleep(self.pace.renewal.total_seconds())
            if self._running:
                # A failed renewal costs a lease, never a job: another worker claims it, and the result is not
                # recorded.
                with contextlib.suppress(Unavailable):
                    async with self.database.across_tenants() as tx:
                        await jobs.renew(tx, list(self._running.values()), self.pace.lease)

    async def _give_back(self) -> None:
        left = dict(self._running)
        if not left:
            return
        for task in left:
            task.cancel()
        await asyncio.wait(left)
        with contextlib.suppress(Unavailable):
            async with self.database.across_tenants() as tx:
                count = await jobs.give_back(tx, list(left.values()))
            logger.info("Jobs were given back.", extra={"count": count})


@dataclass(frozen=True, slots=True)
class Pace(LoopTimes):
    """Batch sizes, leases and intervals of a worker."""

    batch: int = 200
    # Batches at a time. Jobs queued during a small batch make the next one larger, and larger ones cost less for each
    # job. So a further batch runs only beside full ones, and uses this process while the database works for them.
    batches: int = 1
    tenant_limit: int = 500


@dataclass(eq=False, kw_only=True)
class Loop(JobLoop[Pace]):
    """Run jobs in batches, fair by tenant."""

    pace: Pace = Pace()
    # By the loop's clock: until then the queue has nothing more than the running jobs.
    _alone_until: float = field(default=0.0, init=False)

    async def _turn(self) -> None:
        await self._claim_or_pause(self._take_more)

    async def _take_more(self) -> None:
        """Start one batch, or wait for the next chance.

        That is a wake-up, a finished batch or the next poll.
        """
        self.wake.clear()
        if self.may_claim() and self._has_room():
            if (claim := await self._claim()).jobs:
                self._track(asyncio.create_task(self._work(claim)), claim)
                return
            if self._running:
                # A tenant at its limit would cause a useless claim at each wake-up.
                self._alone_until = asyncio.get_running_loop().time() + self.pace.poll.total_seconds()
        await self._wait(self.pace.poll)

    def _has_room(self) -> bool:
        running, pace = self._running.values(), self.pace
        if not running:
            return True
        if asyncio.get_running_loop().time() < self._alone_until:
            return False
        return len(running) < pace.batches and all(len(claim.jobs) >= pace.batch for claim in running)

    async def _claim(self) -> Claim:
        lease_id = self.new_id()
        # If a crash of PostgreSQL loses the claim, the jobs are unclaimed again.
        async with self.database.across_tenants(before_disk=True) as tx:
            taken = await jobs.claim(
                tx,
                lease_id,
                kinds=self.handlers,
                most=self.pace.batch,
                lease=self.pace.lease,
                tenant_limit=self.pace.tenant_limit,
            )
        return Claim(lease_id, tuple(taken))

    def _through(self, task: asyncio.Task[None]) -> None:
        self._running.pop(task, None)
        self._alone_until = 0.0
        self.wake.set()
        tell(task)


def tell(task: asyncio.Task[None]) -> None:
    """Log the crash of a background task.

    Its jobs run again after their lease.
    """
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("A part of the worker has ended by a bug.", exc_info=error)


def _by_kind(batch: Iterable[Job]) -> Iterable[tuple[JobKind, tuple[Job, ...]]]:
    in_order = sorted(batch, key=lambda job: job.kind)
    return [(kind, tuple(group)) for kind, group in groupby(in_order, key=lambda job: job.kind)]


def _log_fields(job: Job) -> dict[str, object]:
    request = {"requestId": str(job.subject)} if job.kind in OF_REQUESTS else {}
    return {"jobId": job.id, "kind": job.kind, "traceId": job.trace_id, **request}
