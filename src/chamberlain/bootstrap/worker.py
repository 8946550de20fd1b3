"""A worker, wired: the queue of all tenants, and the directory that it changes."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from chamberlain.bootstrap.databases import Databases
from chamberlain.bootstrap.jobs import errand_handlers, request_handlers
from chamberlain.bootstrap.means import WorkMeans, make_work_means
from chamberlain.bootstrap.origins import new_id
from chamberlain.bootstrap.processes import running
from chamberlain.metrics import jobs_done
from chamberlain.rules.jobs import JobKind
from chamberlain.settings import Settings
from chamberlain.store.database import listen
from chamberlain.store.notifier import JOBS_CHANNEL, Notifier
from chamberlain.store.watchers import REQUESTS_CHANNEL
from chamberlain.usecases.job_hold import HoldJob
from chamberlain.worker.loop import Handler, Loop, Pace


@asynccontextmanager
async def running_worker(settings: Settings, databases: Databases, stop: asyncio.Event) -> AsyncIterator[None]:
    """Works for as long as the block runs; then what is not done within the grace is given back.

    With `stop` the grace begins at once, beside whatever else has to end: the service has ten seconds for all of it.
    """
    wake = asyncio.Event()
    notifier = Notifier(databases.addresses.direct, REQUESTS_CHANNEL)
    means = make_work_means(settings, databases, notifier)
    pace = Pace(tenant_limit=settings.tenant_running_jobs)
    # What takes seconds and hurries nobody has a loop of its own, so that no request waits for it.
    loops = (
        _loop(means, request_handlers(means), wake, pace),
        _loop(means, await errand_handlers(means), asyncio.Event(), Pace()),
    )
    work = [asyncio.create_task(each.run()) for each in loops]
    async with (
        running(listen(databases.addresses.direct, JOBS_CHANNEL, lambda _payload: wake.set())),
        running(_stop_with(stop, *loops)),
        running(notifier.run()),
    ):
        try:
            yield
        finally:
            for loop in loops:
                loop.stop()
            await asyncio.gather(*work)


def _loop(means: WorkMeans, handlers: Mapping[JobKind, Handler], wake: asyncio.Event, pace: Pace) -> Loop:
    hold = HoldJob(means.database, means.notifier)
    return Loop(means.database, handlers, wake=wake, new_id=new_id, hold=hold, observe=jobs_done, pace=pace)


async def _stop_with(stop: asyncio.Event, *loops: Loop) -> None:
    await stop.wait()
    for loop in loops:
        loop.stop()
