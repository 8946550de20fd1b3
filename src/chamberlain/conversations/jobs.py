# SPDX-License-Identifier: Apache-2.0
"""Talk with approvers, in the worker.

The job of a tenant queues itself again while an approver has to decide. One job of the installation queues those of
tenants with an open suite that have something to do, so that idle tenants cost nothing.
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from chamberlain.conversations import store
from chamberlain.conversations.port import Messenger
from chamberlain.conversations.service import ConversationService
from chamberlain.core.errors import Rejected, TryAgain
from chamberlain.core.ids import TenantId, TraceId
from chamberlain.database.transactions import Database
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import Claim, Job, JobKind, Postponed
from chamberlain.queue.worker import JobTable

# Pause between two looks for answers and new questions: our choice. A person waits for the outcome of a tap.
PAUSE: Final = timedelta(seconds=5)
# A new question waits so long at most.
SWEEP_PAUSE: Final = timedelta(seconds=10)
# Administrators correct settings meanwhile. Without a chat, mails ask the approvers.
IDLE_PAUSE: Final = timedelta(minutes=10)
# Returns the bot of a tenant, None if its suite has no chat. Raises TryAgain.
FindMessenger = Callable[[TenantId], Awaitable[Messenger | None]]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ConversationJobs:
    """Job handlers of conversations. They need the worker's role."""

    database: Database
    service: ConversationService
    find_messenger: FindMessenger

    async def begin(self, trace_id: TraceId) -> None:
        """Queue the job of the installation unless it exists. Raises Unavailable."""
        async with self.database.across_tenants() as tx:
            await queue_jobs.queue_the_one(tx, JobKind.CONVERSATION_SWEEP, trace_id)

    async def sweep(self, claim: Claim) -> None:
        """Queue missing jobs. Raises Unavailable."""
        for job in claim.jobs:
            async with self.database.across_tenants() as tx:
                await store.queue_missing_jobs(tx, job.trace_id)
            async with self.database.across_tenants() as tx:
                await queue_jobs.postpone(tx, claim.lease_id, [Postponed(job.id, SWEEP_PAUSE)])

    async def talk(self, claim: Claim) -> None:
        """Read answers, and ask. Raises Unavailable."""
        for job in claim.jobs:
            after = await self._talk(job)
            async with self.database.across_tenants() as tx:
                if after is None:
                    await queue_jobs.complete(tx, claim.lease_id, [job.id])
                else:
                    await queue_jobs.postpone(tx, claim.lease_id, [Postponed(job.id, after)])

    async def _talk(self, job: Job) -> timedelta | None:
        """Return the time until the next run.

        None for a tenant with nothing to do.
        """
        extra = {"tenantId": str(job.tenant_id), "traceId": job.trace_id}
        try:
            if not await self.service.has_work(job.tenant_id):
                return None
            messenger = await self.find_messenger(job.tenant_id)
            if messenger is None:
                return IDLE_PAUSE
            await self.service.listen(job.tenant_id, messenger, job.trace_id)
            return timedelta(0) if await self.service.ask(job.tenant_id, messenger) else PAUSE
        except TryAgain as fault:
            logger.warning("Approvers cannot be asked in the chat now.", extra={**extra, "reason": fault.reason})
            return max(fault.after, PAUSE)
        except Rejected as fault:
            logger.warning("Approvers cannot be asked in the chat.", extra={**extra, "reason": fault.detail})
            return IDLE_PAUSE


JOBS = JobTable(
    ConversationJobs,
    {JobKind.CONVERSATION_SWEEP: ConversationJobs.sweep, JobKind.CONVERSATION_RUN: ConversationJobs.talk},
)
