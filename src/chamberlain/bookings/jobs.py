# SPDX-License-Identifier: Apache-2.0
"""Find the mail of resources and answer it, in the worker.

Each tenant with an open suite has a job that finds mail, and queues itself again. One job of the installation queues
those of new tenants. Each mail has a job of its own: one with a bug is held, and the others are answered.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from chamberlain.bookings import store
from chamberlain.bookings.models import Resource
from chamberlain.bookings.port import BookingServers
from chamberlain.bookings.service import BookingService, LeaseLost, Place
from chamberlain.core.errors import Rejected, TryAgain
from chamberlain.core.ids import MailboxId, TenantId, TraceId
from chamberlain.database.transactions import Database
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import Claim, Job, JobKind, Postponed
from chamberlain.queue.worker import JobTable

# Pause between two looks at all mailboxes of a tenant: our choice. An answer within half a minute is that of a person
# who waits for it.
PAUSE: Final = timedelta(seconds=15)
# A new tenant waits so long for its first answers.
SWEEP_PAUSE: Final = timedelta(minutes=1)
# Mails of a resource that one look queues: a flood of mails to one resource delays no other.
MOST_OF_RESOURCE: Final = 20
# Another worker answers a mail of the same resource.
BUSY_FOR: Final = timedelta(seconds=1)
# Servers that do not take an answer are asked less and less often, and then an administrator decides. As for requests.
LONGEST_PAUSE: Final = timedelta(minutes=15)
GIVEN_UP_AFTER: Final = timedelta(hours=24)
# A tenant without resources that answer gets its settings by an administrator, who can wait so long.
IDLE_PAUSE: Final = timedelta(minutes=10)
# Returns the servers of a tenant, None if it has no resources that answer. Raises TryAgain.
FindServers = Callable[[TenantId], Awaitable[BookingServers | None]]
# The servers of a tenant, and its resources.
Resources = tuple[BookingServers | None, Mapping[MailboxId, Resource]]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BookingJobs:
    """Job handlers of answers. They need the worker's role."""

    database: Database
    find_servers: FindServers
    now: Callable[[], datetime]

    async def begin(self, trace_id: TraceId) -> None:
        """Queue the job of the installation unless it exists. Raises Unavailable."""
        async with self.database.across_tenants() as tx:
            await queue_jobs.queue_the_one(tx, JobKind.BOOKING_SWEEP, trace_id)

    async def sweep(self, claim: Claim) -> None:
        """Queue missing jobs. Raises Unavailable."""
        for job in claim.jobs:
            async with self.database.across_tenants() as tx:
                await store.queue_missing_jobs(tx, job.trace_id)
            async with self.database.across_tenants() as tx:
                await queue_jobs.postpone(tx, claim.lease_id, [Postponed(job.id, SWEEP_PAUSE)])

    async def find(self, claim: Claim) -> None:
        """Queue the jobs of new mails. Raises Unavailable."""
        for job in claim.jobs:
            after = await self._find(job)
            async with self.database.across_tenants() as tx:
                await queue_jobs.postpone(tx, claim.lease_id, [Postponed(job.id, after)])

    async def answer(self, claim: Claim) -> None:
        """Answer mails in their order. Raises Unavailable."""
        found: dict[TenantId, Resources] = {}
        for job in claim.jobs:
            async with self.database.transaction(job.tenant_id) as tx:
                mail = await store.find_mail(tx, job.subject)
            try:
                if job.tenant_id not in found:
                    found[job.tenant_id] = await self._resources(job.tenant_id)
                after = None if mail is None else await self._answer(job, found[job.tenant_id], *mail)
            except TryAgain as fault:
                waited = self.now() - job.queued_at
                if fault.is_attempt and waited > GIVEN_UP_AFTER:
                    await self._hold(claim, job, fault.reason)
                    continue
                logger.warning("A resource cannot answer now.", extra={**_about(job), "reason": fault.reason})
                after = max(fault.after, PAUSE, min(waited / 10, LONGEST_PAUSE))
            except Rejected as fault:
                await self._hold(claim, job, fault.detail)
                continue
            await self._end(claim, job, after)

    async def _find(self, job: Job) -> timedelta:
        """Return the time until the next look."""
        try:
            servers, resources = await self._resources(job.tenant_id)
            if servers is None:
                return IDLE_PAUSE
            unread = await servers.inboxes.unread(list(resources.values()), MOST_OF_RESOURCE)
            for resource_id, uids in unread.items():
                async with self.database.transaction(job.tenant_id) as tx:
                    added = await store.add_mails(tx, resource_id, uids, job.trace_id)
                for mail_id, uid in added:
                    extra = {**_about(job), "mailId": str(mail_id), "resourceId": str(resource_id), "uid": uid}
                    logger.info("A mail to a resource is queued.", extra=extra)
                # After the commit: a mail that was found twice is queued once, and answered once.
                await servers.inboxes.mark_handled(resources[resource_id], uids)
        except TryAgain as fault:
            logger.warning("The mail of resources cannot be read now.", extra={**_about(job), "reason": fault.reason})
            return max(fault.after, PAUSE)
        except Rejected as fault:
            logger.warning("The mail of resources cannot be read.", extra={**_about(job), "reason": fault.detail})
            return SWEEP_PAUSE
        return PAUSE

    async def _resources(self, tenant_id: TenantId) -> Resources:
        servers = await self.find_servers(tenant_id)
        found = () if servers is None else await servers.resources.find_all()
        return servers, {each.id: each for each in found}

    async def _answer(self, job: Job, found: Resources, resource_id: MailboxId, uid: int) -> timedelta | None:
        """Return the time until the next try.

        None if the mail is handled. A resource that does not answer by itself any more needs no answer.
        """
        servers, resources = found
        if servers is None:
            return IDLE_PAUSE if self.now() - job.queued_at < GIVEN_UP_AFTER else None
        if resource_id not in resources:
            return None
        # The same lease in each run of the job: after a crash, the next run continues at once.
        place = Place(job.tenant_id, resources[resource_id], servers, job.subject)
        async with self.database.transaction(job.tenant_id) as tx:
            if not await store.acquire(tx, resource_id, place.lease_id):
                return BUSY_FOR
        is_held = True
        try:
            return None if await BookingService(self.database, self.now).answer(place, uid) else PAUSE
        except LeaseLost:
            is_held = False
            logger.warning("Another worker answers for a resource.", extra=_about(job))
            return BUSY_FOR
        finally:
            if is_held:
                async with self.database.transaction(job.tenant_id) as tx:
                    await store.give_back(tx, resource_id, place.lease_id)

    async def _end(self, claim: Claim, job: Job, after: timedelta | None) -> None:
        if after is not None:
            async with self.database.across_tenants() as tx:
                await queue_jobs.postpone(tx, claim.lease_id, [Postponed(job.id, after)])
            return
        async with self.database.transaction(job.tenant_id) as tx:
            if await queue_jobs.complete(tx, claim.lease_id, [job.id]):
                await store.remove_mail(tx, job.subject)

    async def _hold(self, claim: Claim, job: Job, detail: str) -> None:
        logger.error("A mail to a resource cannot be answered and is held.", extra={**_about(job), "reason": detail})
        async with self.database.across_tenants() as tx:
            await queue_jobs.hold(tx, claim.lease_id, job.id, detail)


def _about(job: Job) -> Mapping[str, object]:
    mail = {"mailId": str(job.subject)} if job.kind is JobKind.BOOKING_MAIL else {}
    return {"tenantId": str(job.tenant_id), "traceId": job.trace_id, **mail}


JOBS = JobTable(
    BookingJobs,
    {
        JobKind.BOOKING_SWEEP: BookingJobs.sweep,
        JobKind.BOOKING_ANSWER: BookingJobs.find,
        JobKind.BOOKING_MAIL: BookingJobs.answer,
    },
)
