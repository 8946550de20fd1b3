"""A worker, wired: the queue of all tenants, and the directory that it changes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from chamberlain.bootstrap.databases import Databases
from chamberlain.bootstrap.directory import make_directory, make_guests, make_people
from chamberlain.bootstrap.origins import new_id, new_trace_id, now
from chamberlain.bootstrap.processes import running
from chamberlain.metrics import jobs_done
from chamberlain.rules.jobs import JobKind
from chamberlain.rules.retention import Retention
from chamberlain.settings import Settings
from chamberlain.store.database import listen
from chamberlain.store.notifier import JOBS_CHANNEL, Notifier
from chamberlain.store.revisions import Revisions
from chamberlain.store.watchers import REQUESTS_CHANNEL
from chamberlain.usecases.assignment_apply import ApplyAssignments
from chamberlain.usecases.audit_seal import SealAudit
from chamberlain.usecases.group_provision import ProvisionGroups
from chamberlain.usecases.job_hold import HoldJob
from chamberlain.usecases.mailbox_provision import ProvisionMailboxes
from chamberlain.usecases.retention_sweep import SweepRetention
from chamberlain.usecases.subject_discover import DiscoverSubjects
from chamberlain.worker.loop import Loop, Pace


@asynccontextmanager
async def running_worker(settings: Settings, databases: Databases, stop: asyncio.Event) -> AsyncIterator[None]:
    """Works for as long as the block runs; then what is not done within the grace is given back.

    With `stop` the grace begins at once, beside whatever else has to end: the service has ten seconds for all of it.
    """
    wake = asyncio.Event()
    pool = databases.worker.pool
    notifier = Notifier(databases.addresses.direct, REQUESTS_CHANNEL)
    people, directory, revisions = make_people(settings, pool), make_directory(settings, pool), Revisions()
    groups = ProvisionGroups(
        database=databases.worker,
        people=people,
        directory=directory,
        revisions=revisions,
        notifier=notifier,
        new_id=new_id,
        now=now,
    )
    mailboxes = ProvisionMailboxes(
        database=databases.worker,
        people=people,
        directory=directory,
        revisions=revisions,
        notifier=notifier,
        new_id=new_id,
        now=now,
    )
    guests = make_guests(settings, pool)
    assignments = ApplyAssignments(databases.worker, guests, notifier, new_id, now)
    sweep = SweepRetention(
        database=databases.worker,
        watchers=notifier,
        keep=Retention(
            failed_requests=timedelta(days=settings.failed_request_days),
            finished_requests=timedelta(days=settings.retention_requests),
        ),
        new_id=new_id,
        now=now,
    )
    hold = HoldJob(databases.worker, notifier)
    await sweep.begin(new_trace_id())
    audit = SealAudit(databases.worker, now)
    await audit.begin(new_trace_id())
    discover = DiscoverSubjects(databases.worker, guests, now)
    await discover.begin(new_trace_id())
    loop = Loop(
        databases.worker,
        {
            JobKind.GROUP_PROVISION: groups,
            JobKind.MAILBOX_PROVISION: mailboxes,
            JobKind.ASSIGNMENT_APPLY: assignments,
        },
        wake=wake,
        new_id=new_id,
        hold=hold,
        observe=jobs_done,
        pace=Pace(tenant_limit=settings.tenant_running_jobs),
    )
    # What takes seconds and hurries nobody has a loop of its own, so that no request waits for it.
    errands = Loop(
        databases.worker,
        {
            JobKind.RETENTION_SWEEP: sweep,
            JobKind.SUBJECT_DISCOVER: discover,
            JobKind.AUDIT_SEAL: audit,
            JobKind.AUDIT_SEAL_BEGIN: audit.find_tenants,
        },
        wake=asyncio.Event(),
        new_id=new_id,
        hold=hold,
        observe=jobs_done,
    )
    work = [asyncio.create_task(each.run()) for each in (loop, errands)]
    async with (
        running(listen(databases.addresses.direct, JOBS_CHANNEL, lambda _payload: wake.set())),
        running(_stop_with(stop, loop, errands)),
        running(notifier.run()),
    ):
        try:
            yield
        finally:
            loop.stop()
            errands.stop()
            await asyncio.gather(*work)


async def _stop_with(stop: asyncio.Event, *loops: Loop) -> None:
    await stop.wait()
    for loop in loops:
        loop.stop()
