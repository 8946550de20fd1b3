"""A worker, wired: the queue of all tenants, and the directory that it changes."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TypeAlias

from chamberlain.app.clock_and_ids import new_id
from chamberlain.app.databases import Databases
from chamberlain.app.delivery import notice_loop, webhook_sender, webhook_work
from chamberlain.app.dependencies import WorkMeans, make_work_means
from chamberlain.app.jobs import errand_handlers, request_handlers
from chamberlain.app.processes import running
from chamberlain.app.tracing.wiring import Traces
from chamberlain.database.listener import listen
from chamberlain.observability.metrics import jobs_done
from chamberlain.queue.lanes import LaneLoop
from chamberlain.queue.models import PROVISIONING, JobKind
from chamberlain.queue.notifier import JOBS_CHANNEL, Notifier
from chamberlain.queue.worker import Handler, Loop, Observe, Pace
from chamberlain.requests.finish import RequestJobHolder
from chamberlain.requests.timeline import REQUESTS_CHANNEL
from chamberlain.settings import Settings
from chamberlain.webhooks.sender import Send

MayClaim: TypeAlias = Callable[[], bool]


@asynccontextmanager
async def running_worker(
    settings: Settings, databases: Databases, stop: asyncio.Event, traces: Traces, may_claim: MayClaim
) -> AsyncIterator[None]:
    """Works for as long as the block runs; then what is not done within the grace is given back.

    With `stop` the grace begins at once, beside whatever else has to end: the service has ten seconds for all of it.
    `may_claim` says whether this machine's clock allows the worker to claim jobs.
    """
    wake, lanes_wake = asyncio.Event(), asyncio.Event()
    notifier = Notifier(databases.addresses.direct, REQUESTS_CHANNEL)
    means = make_work_means(settings, databases, notifier, traces)
    pace = Pace(batches=2, tenant_limit=settings.tenant_running_jobs)

    def heard(_payload: str) -> None:
        wake.set()
        lanes_wake.set()

    def observe(kind: JobKind, outcome: str, count: int) -> None:
        jobs_done(kind, outcome, count)
        # What was created is told to whom it may concern.
        if kind in PROVISIONING:
            lanes_wake.set()

    async with webhook_sender(settings) as sender:
        # What takes seconds and hurries nobody has a loop of its own, so that no request waits for it; and so has what
        # depends on how long others take to answer.
        loops = (
            _loop(means, traces.handlers(request_handlers(means)), wake, pace, observe, may_claim=may_claim),
            _loop(means, await errand_handlers(means), asyncio.Event(), Pace(), jobs_done, may_claim=may_claim),
            _lane_loop(means, traces.send(sender.send), lanes_wake, may_claim),
            notice_loop(means, may_claim),
        )
        work = [asyncio.create_task(each.run()) for each in loops]
        async with (
            running(listen(databases.addresses.direct, JOBS_CHANNEL, heard)),
            running(_stop_with(stop, *loops)),
            running(notifier.run()),
        ):
            try:
                yield
            finally:
                for loop in loops:
                    loop.stop()
                await asyncio.gather(*work)


def _loop(
    means: WorkMeans,
    handlers: Mapping[JobKind, Handler],
    wake: asyncio.Event,
    pace: Pace,
    observe: Observe,
    *,
    may_claim: MayClaim,
) -> Loop:
    return Loop(
        means.database,
        handlers,
        wake=wake,
        new_id=new_id,
        holder=RequestJobHolder(means.database, means.notifier),
        observe=observe,
        may_claim=may_claim,
        pace=pace,
    )


def _lane_loop(means: WorkMeans, send: Send, wake: asyncio.Event, may_claim: MayClaim) -> LaneLoop:
    deliver = webhook_work(means, send)
    kind = JobKind.WEBHOOK_DELIVER
    return LaneLoop(
        means.database,
        kind,
        deliver,
        wake=wake,
        new_id=new_id,
        holder=RequestJobHolder(means.database, means.notifier),
        observe=jobs_done,
        may_claim=may_claim,
    )


async def _stop_with(stop: asyncio.Event, *loops: Loop | LaneLoop) -> None:
    await stop.wait()
    for loop in loops:
        loop.stop()
