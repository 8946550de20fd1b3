# SPDX-License-Identifier: Apache-2.0
"""Run a worker: the job handlers, and the loops that claim jobs."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

from chamberlain.adoptions import jobs as adoption_jobs
from chamberlain.app import retention
from chamberlain.app.clock_and_ids import new_id, new_webhook_secret, now
from chamberlain.app.connections import confirmed
from chamberlain.app.databases import Databases
from chamberlain.app.dependencies import WorkerDependencies, webhook_sender, worker_dependencies
from chamberlain.app.open_suites import make_booking_jobs, make_conversation_jobs
from chamberlain.app.processes import running
from chamberlain.app.tracing.traces import Traces
from chamberlain.audit import jobs as audit_jobs
from chamberlain.bookings import jobs as booking_jobs
from chamberlain.connections import jobs as connection_jobs
from chamberlain.conversations import jobs as conversation_jobs
from chamberlain.core.ids import RequestId, TenantId
from chamberlain.database.clock import decision_time
from chamberlain.database.notify import JOBS_CHANNEL, REQUESTS_CHANNEL, Notifier, listen
from chamberlain.drift import finding_repairs, watch
from chamberlain.drift import jobs as drift_jobs
from chamberlain.figures import jobs as figure_jobs
from chamberlain.groups import provision as group_jobs
from chamberlain.guests.assignments import jobs as assignment_jobs
from chamberlain.guests.assignments.service import NewGroupRules
from chamberlain.guests.discovery import jobs as subject_jobs
from chamberlain.guests.findings import jobs as finding_jobs
from chamberlain.guests.policies import jobs as policy_jobs
from chamberlain.mailboxes import provision as mailbox_jobs
from chamberlain.notifications import jobs as notice_jobs
from chamberlain.notifications.mail_server import MailServer, Sender, parse_smtp_url
from chamberlain.observability.logs import new_trace_id
from chamberlain.observability.metrics import delivery_run, jobs_done, rows_removed
from chamberlain.queue.lanes import DirectoryLaneLoop, LaneLoop, Places
from chamberlain.queue.models import PROVISIONING, USING_DIRECTORY, JobKind
from chamberlain.queue.worker import Handler, JobLoop, JobTable, Loop, Pace
from chamberlain.releases import jobs as release_jobs
from chamberlain.requests import jobs as request_jobs
from chamberlain.requests.finish import RequestJobHolder
from chamberlain.requests.replies import ReplyTokens
from chamberlain.secrets.keyring import load_keyring
from chamberlain.settings import Settings
from chamberlain.template_admin.webhook_secrets import WebhookSecrets
from chamberlain.webhooks import jobs as webhook_jobs
from chamberlain.webhooks.sender import Send

# Jobs that a caller waits for.
REQUEST_JOBS: tuple[JobTable[Any], ...] = (
    group_jobs.JOBS,
    mailbox_jobs.JOBS,
    assignment_jobs.JOBS,
    finding_repairs.JOBS,
    request_jobs.JOBS,
)
# Jobs that take seconds and that no caller waits for.
BACKGROUND_JOBS: tuple[JobTable[Any], ...] = (
    retention.JOBS,
    figure_jobs.JOBS,
    connection_jobs.JOBS,
    subject_jobs.JOBS,
    policy_jobs.JOBS,
    drift_jobs.JOBS,
    watch.JOBS,
    adoption_jobs.JOBS,
    release_jobs.JOBS,
    audit_jobs.JOBS,
    finding_jobs.JOBS,
    booking_jobs.JOBS,
    conversation_jobs.JOBS,
)
# Jobs whose duration depends on a receiver. Each receiver has a lane, so a slow one delays only itself.
LANE_JOBS: tuple[JobTable[Any], ...] = (webhook_jobs.JOBS, notice_jobs.JOBS)

# A background job of a directory lane runs up to ten pages in a row. With few places of its own, it leaves the budget
# of its directory to the jobs that a caller waits for.
BACKGROUND_PLACES = Places(fast=16, fast_of_one=4, slow=32, slow_of_one=4, all=48, free=1)

# Each place is a connection to the mail server, which usually accepts few from one client. Mail is not urgent.
MAIL_PLACES = Places(fast=4, fast_of_one=2, slow=4, slow_of_one=2, all=8, free=1)
# Without a mail server, notices left from an earlier configuration only expire.
MAIL_IDLE = timedelta(minutes=1)


@asynccontextmanager
async def running_worker(
    settings: Settings, databases: Databases, stop: asyncio.Event, traces: Traces, may_claim: Callable[[], bool]
) -> AsyncIterator[None]:
    """Run a worker for the duration of the block.

    Jobs that outlast the grace period are released. The grace period starts with `stop`, because the whole service has
    ten seconds to end. While `may_claim` is false, because of this machine's clock, the worker claims no jobs.
    """
    wake, wake_lanes, wake_directory_lanes = asyncio.Event(), asyncio.Event(), asyncio.Event()
    direct = databases.addresses.direct
    watchers = Notifier(direct, REQUESTS_CHANNEL)
    holder = RequestJobHolder(databases.worker, watchers)
    loop = partial(Loop, database=databases.worker, new_id=new_id, holder=holder, may_claim=may_claim)
    lane_loop = partial(
        LaneLoop, database=databases.worker, new_id=new_id, holder=holder, observe=jobs_done, may_claim=may_claim
    )

    directory_lanes = partial(
        DirectoryLaneLoop, database=databases.worker, new_id=new_id, holder=holder, may_claim=may_claim
    )

    def heard(_payload: str) -> None:
        wake.set()
        wake_lanes.set()
        wake_directory_lanes.set()

    def observe(kind: JobKind, outcome: str, count: int) -> None:
        jobs_done(kind, outcome, count)
        # A provisioned object queues deliveries and notices.
        if kind in PROVISIONING:
            wake_lanes.set()

    async with (
        webhook_sender(settings) as sender,
        worker_dependencies(settings, databases, watchers, traces) as shared,
    ):
        requests = traces.handlers(_handlers(REQUEST_JOBS, _request_jobs(shared)))
        background = _handlers(BACKGROUND_JOBS, await _background_jobs(shared))
        lanes = _handlers(LANE_JOBS, (_webhook_jobs(shared, traces.send(sender.send)), _notice_jobs(shared)))
        deliveries = JobKind.WEBHOOK_DELIVER
        notices = {kind: lanes[kind] for kind in notice_jobs.JOBS.methods}
        mail_places = MAIL_PLACES if settings.smtp_url else replace(MAIL_PLACES, poll=MAIL_IDLE)
        pace = Pace(batches=2, tenant_limit=settings.tenant_running_jobs)
        in_batches = partial(confirmed, connections=shared.connections, elsewhere=False)
        in_lanes = partial(confirmed, connections=shared.connections, elsewhere=True)
        loops = (
            loop(handlers=in_batches(requests), wake=wake, observe=observe, pace=pace),
            loop(handlers=in_batches(background), wake=asyncio.Event(), observe=jobs_done),
            lane_loop(handlers={deliveries: lanes[deliveries]}, wake=wake_lanes),
            lane_loop(handlers=notices, wake=asyncio.Event(), pace=mail_places),
            directory_lanes(handlers=in_lanes(_using_directory(requests)), wake=wake_directory_lanes, observe=observe),
            directory_lanes(
                handlers=in_lanes(_using_directory(background)),
                wake=asyncio.Event(),
                observe=jobs_done,
                pace=BACKGROUND_PLACES,
            ),
        )
        work = [asyncio.create_task(each.run()) for each in loops]
        async with (
            running(listen(direct, JOBS_CHANNEL, heard)),
            running(_stop_with(stop, *loops)),
            running(watchers.run()),
        ):
            try:
                yield
            finally:
                for each in loops:
                    each.stop()
                await asyncio.gather(*work)


async def _stop_with(stop: asyncio.Event, *loops: JobLoop[Any]) -> None:
    await stop.wait()
    for loop in loops:
        loop.stop()


def _handlers(tables: Sequence[JobTable[Any]], instances: Sequence[object]) -> Mapping[JobKind, Handler]:
    return {kind: handler for table in tables for kind, handler in table.handlers(instances).items()}


def _using_directory(handlers: Mapping[JobKind, Handler]) -> Mapping[JobKind, Handler]:
    return {kind: handler for kind, handler in handlers.items() if kind in USING_DIRECTORY}


def _request_jobs(shared: WorkerDependencies) -> Sequence[object]:
    database, people, directory = shared.database, shared.people, shared.directory
    return (
        group_jobs.GroupProvisioner(
            database=database,
            people=people,
            directory=directory,
            revisions=shared.revisions,
            guest_rules=NewGroupRules(new_id, now),
            notifier=shared.watchers,
            new_id=new_id,
            now=now,
        ),
        mailbox_jobs.MailboxProvisioner(
            database=database,
            people=people,
            directory=directory,
            revisions=shared.revisions,
            notifier=shared.watchers,
            new_id=new_id,
            now=now,
        ),
        assignment_jobs.AssignmentJobs(database, directory, shared.guests, shared.watchers, new_id, now),
        finding_repairs.FindingRepairJobs(
            database,
            directory,
            shared.guests,
            people,
            shared.revisions,
            new_id,
            now,
            notifier=shared.watchers,
        ),
        request_jobs.RequestJobs(database, people, shared.watchers, new_id, decision_time),
    )


async def _background_jobs(shared: WorkerDependencies) -> Sequence[object]:
    """Build the handlers of background jobs, and queue the recurring jobs."""
    database, guests, people, directory = shared.database, shared.guests, shared.people, shared.directory
    adoptions = shared.adoptions
    recurring = (
        retention.RetentionJobs(
            database=database,
            watchers=shared.watchers,
            keep=_retention(shared.settings),
            new_id=new_id,
            observe=rows_removed,
        ),
        figure_jobs.FigureJobs(database),
        connection_jobs.ConnectionJobs(database, shared.opener.check, shared.connected, shared.workers, new_id, now),
        audit_jobs.AuditJobs(database, now),
        subject_jobs.SubjectJobs(database, guests, adoptions, new_id, now, shared.changed),
        policy_jobs.PolicyJobs(database, guests, new_id, decision_time),
        drift_jobs.DriftJobs(database, directory, guests, people, shared.revisions, new_id, now),
        make_booking_jobs(shared),
        make_conversation_jobs(shared, review_link_maker(shared.settings)),
    )
    for each in recurring:
        await each.begin(new_trace_id())
    return (
        *recurring,
        adoption_jobs.AdoptionJobs(database, adoptions, directory, people, new_id, now),
        release_jobs.ReleaseJobs(database, adoptions, directory, guests, new_id, now),
        finding_jobs.FindingJobs(database, decision_time),
        watch.DriftWatchJobs(database, directory, guests, people, shared.revisions, new_id, now),
    )


def _retention(settings: Settings) -> retention.Retention:
    return retention.Retention(
        failed_requests=timedelta(days=settings.failed_request_days),
        finished_requests=timedelta(days=settings.retention_requests),
        events=timedelta(days=settings.retention_events),
    )


def _webhook_jobs(shared: WorkerDependencies, send: Send) -> webhook_jobs.WebhookJobs:
    return webhook_jobs.WebhookJobs(
        database=shared.database,
        send=send,
        secrets=WebhookSecrets(load_keyring(shared.settings.keys_file), new_webhook_secret, now),
        new_id=new_id,
        now=now,
        decision_time=decision_time,
        jitter=random.random,
        observe=delivery_run,
    )


def _notice_jobs(shared: WorkerDependencies) -> notice_jobs.NoticeJobs:
    settings = shared.settings
    return notice_jobs.NoticeJobs(
        shared.database,
        shared.people,
        mail_server(settings),
        link_maker(settings),
        confirm_address(settings),
        decision_time,
        review_link_maker(settings),
        None if settings.reply_address is None else _reply_tokens(settings),
    )


def _reply_tokens(settings: Settings) -> ReplyTokens:
    keyring = load_keyring(settings.keys_file)
    return ReplyTokens(keyring.sign, keyring.is_signed)


def mail_server(settings: Settings) -> MailServer | None:
    """Build the client of the mail server; None if none is configured."""
    if settings.smtp_url is None:
        return None
    # The settings have validated that it is `Name <address>` or an address alone.
    name, _, address = settings.smtp_sender.rpartition("<")
    sender = Sender(name.strip(), address.removesuffix(">"), settings.reply_address)
    return MailServer(parse_smtp_url(settings.smtp_url.get_secret_value()), sender)


def link_maker(settings: Settings) -> Callable[[TenantId, RequestId], str | None]:
    """Build the function that makes the link to a request.

    A link of the operator's own portal replaces the page of the console.
    """
    link = settings.notice_link or f"{settings.console_url}/console/requests/{{requestId}}"

    def link_to(tenant_id: TenantId, request_id: RequestId) -> str | None:
        return link.replace("{tenantId}", str(tenant_id)).replace("{requestId}", str(request_id))

    return link_to


def review_link_maker(settings: Settings) -> Callable[[TenantId, RequestId], str | None]:
    """Build the function that links to the review page of a request.

    A link of the operator's own portal replaces that page.
    """

    def review_page(_: TenantId, request_id: RequestId) -> str | None:
        return f"{settings.console_url}/console/approvals/{request_id}"

    return review_page if settings.notice_link is None else link_maker(settings)


def confirm_address(settings: Settings) -> str:
    """Build the address for confirming a finding, with the placeholder ID."""
    return f"{settings.base_url}/admin/v1/findings/ID/confirm/"
