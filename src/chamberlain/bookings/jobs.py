# SPDX-License-Identifier: Apache-2.0
"""Read the mail of resources and answer it, in the worker.

Each tenant with an open suite has a job, which queues itself again. One job of the installation queues those of new
tenants.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

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
# Mails of one run, so that it ends soon when the worker stops. The next run follows at once.
MOST_OF_RUN: Final = 50
MOST_OF_RESOURCE: Final = 10
# Returns the servers of a tenant, None if it has no resources that answer. Raises TryAgain.
FindServers = Callable[[TenantId], Awaitable[BookingServers | None]]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BookingJobs:
    """Job handlers of answers. They need the worker's role."""

    database: Database
    find_servers: FindServers
    new_id: Callable[[], UUID]
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

    async def answer(self, claim: Claim) -> None:
        """Answer the mail of the resources of tenants. Raises Unavailable."""
        for job in claim.jobs:
            after = await self._answer(job)
            async with self.database.across_tenants() as tx:
                if after is None:
                    await queue_jobs.complete(tx, claim.lease_id, [job.id])
                else:
                    await queue_jobs.postpone(tx, claim.lease_id, [Postponed(job.id, after)])

    async def _answer(self, job: Job) -> timedelta | None:
        """Return the time until the next run.

        None for a tenant without an open suite.
        """
        try:
            servers = await self.find_servers(job.tenant_id)
            if servers is None:
                return None
            resources = {each.id: each for each in await servers.resources.find_all()}
            unread = await servers.inboxes.unread(list(resources.values()), MOST_OF_RESOURCE)
            return await self._answer_all(job, servers, resources, unread)
        except TryAgain as fault:
            logger.warning("Resources cannot answer now.", extra={**_about(job), "reason": fault.reason})
            return max(fault.after, PAUSE)
        except Rejected as fault:
            logger.warning("Resources cannot answer.", extra={**_about(job), "reason": fault.detail})
            return SWEEP_PAUSE

    async def _answer_all(
        self,
        job: Job,
        servers: BookingServers,
        resources: Mapping[MailboxId, Resource],
        unread: Mapping[MailboxId, Sequence[int]],
    ) -> timedelta:
        service, left = BookingService(self.database, self.now), MOST_OF_RUN
        for resource_id, uids in unread.items():
            place = Place(job.tenant_id, resources[resource_id], servers, self.new_id())
            await self._answer_resource(job, service, place, uids[:left])
            left -= min(len(uids), left)
            if left == 0:
                return timedelta(0)
        return PAUSE

    async def _answer_resource(self, job: Job, service: BookingService, place: Place, uids: Sequence[int]) -> None:
        """Answer the mails of one resource in their order.

        Nothing is done while another worker has it.
        """
        try:
            for uid in uids:
                if not await self._acquire(place):
                    return
                if not await service.answer(place, uid):
                    # Later mails about the same appointment must not overtake it.
                    return
                await place.servers.inboxes.mark_handled(place.resource, [uid])
        except LeaseLost:
            logger.warning("Another worker answers for a resource.", extra={**_about(job)})
        except Rejected as fault:
            extra = {**_about(job), "resourceId": str(place.resource.id), "reason": fault.detail}
            logger.warning("A resource cannot answer.", extra=extra)
        finally:
            async with self.database.transaction(place.tenant_id) as tx:
                await store.give_back(tx, place.resource.id, place.lease_id)

    async def _acquire(self, place: Place) -> bool:
        async with self.database.transaction(place.tenant_id) as tx:
            return await store.acquire(tx, place.resource.id, place.lease_id)


def _about(job: Job) -> Mapping[str, object]:
    return {"tenantId": str(job.tenant_id), "traceId": job.trace_id}


JOBS = JobTable(BookingJobs, {JobKind.BOOKING_SWEEP: BookingJobs.sweep, JobKind.BOOKING_ANSWER: BookingJobs.answer})
