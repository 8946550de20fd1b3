"""The loop of a worker: claim, hand over, and see to it that nothing is lost, whatever happens in between."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from itertools import groupby
from typing import Generic, TypeVar
from uuid import UUID

from chamberlain.core.errors import Unavailable
from chamberlain.database.transactions import Database, Overtaken
from chamberlain.queue import jobs
from chamberlain.queue.models import Claim, Job, JobHolder, JobKind

# Works on a claim and records what came of it. What it raises is a bug, but for Unavailable.
Handler = Callable[[Claim], Awaitable[None]]
# Kind, outcome and number of finished jobs.
Observe = Callable[[JobKind, str, int], None]

Jobs = TypeVar("Jobs")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class JobTable(Generic[Jobs]):
    """The job kinds of one noun: the class that runs them, and its method for each kind."""

    jobs: type[Jobs]
    methods: Mapping[JobKind, Callable[[Jobs, Claim], Awaitable[None]]]

    def handlers(self, instances: Sequence[object]) -> Mapping[JobKind, Handler]:
        """Bind the methods to the instance of their class. Raises LookupError if there is none."""
        for each in instances:
            if isinstance(each, self.jobs):
                return {kind: partial(method, each) for kind, method in self.methods.items()}
        raise LookupError(f"No {self.jobs.__name__} for {', '.join(self.methods)}.")


@dataclass(frozen=True, slots=True)
class Pace:
    """How much a worker takes, and how long it waits for what."""

    batch: int = 200
    # At the same time. What is queued beside a small batch makes the next one larger, and a larger one costs less for
    # each job; so another one goes beside those that are full, and works here while the database works for them.
    batches: int = 1
    lease: timedelta = timedelta(seconds=10)
    renewal: timedelta = timedelta(seconds=3)
    # A wake-up may be lost; then a job waits so long.
    poll: timedelta = timedelta(seconds=2)
    grace: timedelta = timedelta(seconds=8)
    # While the database is away.
    pause: timedelta = timedelta(milliseconds=500)
    tenant_limit: int = 500
    most_attempts: int = 20


class Loop:
    """Runs jobs until it is stopped. `wake` is set when a job may be due.

    While `may_claim` says no, running jobs go on and no further ones are claimed.
    """

    def __init__(
        self,
        database: Database,
        handlers: Mapping[JobKind, Handler],
        *,
        wake: asyncio.Event,
        new_id: Callable[[], UUID],
        holder: JobHolder,
        observe: Observe,
        may_claim: Callable[[], bool] = lambda: True,
        pace: Pace = Pace(),
    ) -> None:
        self._database = database
        self._handlers = handlers
        self._wake = wake
        self._new_id = new_id
        self._holder = holder
        self._observe = observe
        self._may_claim = may_claim
        self._pace = pace
        self._running: dict[asyncio.Task[None], Claim] = {}
        self._stopping = False
        # By the loop's clock: until then there was nothing more to be had beside what runs.
        self._alone_until = 0.0

    async def run(self) -> None:
        """Work until `stop` was called; what is not through within the grace is given back."""
        renewal = asyncio.create_task(self._renew_for_ever())
        renewal.add_done_callback(tell)
        try:
            while not self._stopping:
                await self._take_more_or_tell()
        finally:
            if self._running:
                await asyncio.wait(self._running, timeout=self._pace.grace.total_seconds())
            await self._give_back()
            renewal.cancel()
            await asyncio.wait({renewal})

    def stop(self) -> None:
        """Claim nothing more."""
        self._stopping = True
        self._wake.set()

    async def _take_more_or_tell(self) -> None:
        """A worker that cannot take jobs says so and tries again: no error of the database ends it in silence."""
        try:
            await self._take_more()
        except Exception:
            logger.exception("The worker cannot take jobs; it tries again.")
            await asyncio.sleep(self._pace.pause.total_seconds())

    async def _take_more(self) -> None:
        """Start one batch; without one, wait until there may be one: somebody wakes us, a batch is through, or it is
        time to look."""
        self._wake.clear()
        try:
            if self._may_claim() and self._has_room():
                if (claim := await self._claim()).jobs:
                    self._start(claim)
                    return
                if self._running:
                    # A tenant that has as many as it may have would be looked at in vain at each wake-up.
                    self._alone_until = asyncio.get_running_loop().time() + self._pace.poll.total_seconds()
        except Unavailable:
            # The pool has logged the cause (database/pool.py).
            await asyncio.sleep(self._pace.pause.total_seconds())
            return
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), self._pace.poll.total_seconds())

    def _has_room(self) -> bool:
        running, pace = self._running.values(), self._pace
        if not running:
            return True
        if asyncio.get_running_loop().time() < self._alone_until:
            return False
        return len(running) < pace.batches and all(len(claim.jobs) >= pace.batch for claim in running)

    async def _claim(self) -> Claim:
        lease_id = self._new_id()
        # A claim that a crash of PostgreSQL takes back is a job that nobody has.
        async with self._database.across_tenants(before_disk=True) as tx:
            taken = await jobs.claim(
                tx,
                lease_id,
                kinds=self._handlers,
                most=self._pace.batch,
                lease=self._pace.lease,
                tenant_limit=self._pace.tenant_limit,
            )
        return Claim(lease_id, tuple(taken))

    def _start(self, claim: Claim) -> None:
        task = asyncio.create_task(self._work(claim))
        self._running[task] = claim
        task.add_done_callback(self._through)

    def _through(self, task: asyncio.Task[None]) -> None:
        self._running.pop(task, None)
        self._alone_until = 0.0
        self._wake.set()
        tell(task)

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
            await self._handlers[kind](claim)
        except Unavailable:
            raise
        except Exception as error:  # noqa: BLE001 - a bug in a handler must not stop the others; this is the one place for it
            await self._isolate(kind, claim, error)
        else:
            self._observe(kind, "done", len(claim.jobs))

    async def _isolate(self, kind: JobKind, claim: Claim, error: Exception) -> None:
        """Find the job that a bug is in by running each alone; that one is held for a person to look at."""
        if len(claim.jobs) > 1:
            for job in claim.jobs:
                await self._handle(kind, replace(claim, jobs=(job,)))
            return
        (job,) = claim.jobs
        logger.error(
            "A job cannot be run and is held.",
            exc_info=error,
            extra={"jobId": job.id, "kind": job.kind, "requestId": str(job.subject), "traceId": job.trace_id},
        )
        await self._hold(claim, job, "Its run met a bug. The log has it under this trace id.")

    async def _hold_worn_out(self, claim: Claim) -> tuple[Job, ...]:
        """Hold what was cut short too often: something about it kills workers. The rest may be run."""
        fit = tuple(job for job in claim.jobs if job.attempts < self._pace.most_attempts)
        for job in claim.jobs:
            if job.attempts >= self._pace.most_attempts:
                logger.error("A job was cut short too often and is held.", extra={"jobId": job.id, "kind": job.kind})
                await self._hold(claim, job, f"Its run was cut short {job.attempts} times.")
        return fit

    async def _hold(self, claim: Claim, job: Job, reason: str) -> None:
        await self._holder.hold(claim, job, reason)
        self._observe(job.kind, "held", 1)

    async def _renew_for_ever(self) -> None:
        while True:
            await asyncio.sleep(self._pace.renewal.total_seconds())
            if self._running:
                # A renewal that fails costs a lease, never a job: another worker takes over, and we notice on
                # recording.
                with contextlib.suppress(Unavailable):
                    async with self._database.across_tenants() as tx:
                        await jobs.renew(tx, list(self._running.values()), self._pace.lease)

    async def _give_back(self) -> None:
        left = dict(self._running)
        if not left:
            return
        for task in left:
            task.cancel()
        await asyncio.wait(left)
        with contextlib.suppress(Unavailable):
            async with self._database.across_tenants() as tx:
                count = await jobs.give_back(tx, list(left.values()))
            logger.info("Jobs were given back.", extra={"count": count})


def tell(task: asyncio.Task[None]) -> None:
    """A task that nobody waits for must not die in silence. Its jobs are taken up again after their lease."""
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("A part of the worker has ended by a bug.", exc_info=error)


def _by_kind(batch: Iterable[Job]) -> Iterable[tuple[JobKind, tuple[Job, ...]]]:
    in_order = sorted(batch, key=lambda job: job.kind)
    return [(kind, tuple(group)) for kind, group in groupby(in_order, key=lambda job: job.kind)]
