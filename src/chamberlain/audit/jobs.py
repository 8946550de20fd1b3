# SPDX-License-Identifier: Apache-2.0
"""Seal the audit trail, by a job of each tenant.

The job of a tenant without new rows sleeps. Another job, for the whole installation, wakes those of tenants with new
rows, and queues those of new tenants. While a chain grows, its head is logged. Logs are kept elsewhere.
So `chamberlain audit verify --head` finds a chain whose end was removed together with its head in the database.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from chamberlain.audit import records
from chamberlain.audit.rules import BATCH, BATCHES, LOG_PERIOD, LONG_PAUSE, LOOK_PERIOD, next_look
from chamberlain.core.ids import TenantId, TraceId
from chamberlain.database.transactions import Database
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import Claim, Job, JobKind, Postponed, sleep_time
from chamberlain.queue.worker import JobTable

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AuditJobs:
    """Seal the audit trail of every tenant.

    `database` has the worker's role, the only one that may write seals. Every method raises Unavailable.
    """

    database: Database
    now: Callable[[], datetime]

    async def begin(self, trace_id: TraceId) -> None:
        """Queue the job that finds tenants, unless it exists."""
        async with self.database.across_tenants() as tx:
            await queue_jobs.queue_the_one(tx, JobKind.AUDIT_SEAL_BEGIN, trace_id)

    async def find_tenants(self, claim: Claim) -> None:
        """Queue the missing sealing jobs, and wake those that sleep.

        A job is woken if its tenant has new rows.
        """
        for job in claim.jobs:
            async with self.database.across_tenants() as tx:
                await records.queue_for_all(tx, JobKind.AUDIT_SEAL, job.trace_id)
                await records.wake(tx)
                await records.note_looks(tx, older_than=LOOK_PERIOD)
                await queue_jobs.postpone(tx, claim.lease_id, [Postponed(job.id, LONG_PAUSE)])

    async def seal(self, claim: Claim) -> None:
        """Seal the rows that were written since the last run."""
        for job in claim.jobs:
            if await self._exists(job.tenant_id):
                sealed = await self._seal(job.tenant_id)
                await self._log_head(job.tenant_id)
                await self._postpone(claim, job, after=await self._pause(job.tenant_id, sealed))
            else:
                await self._complete(claim, job)

    async def _exists(self, tenant_id: TenantId) -> bool:
        async with self.database.across_tenants() as tx:
            return await records.is_there(tx, tenant_id)

    async def _seal(self, tenant_id: TenantId) -> int:
        """Return the number of sealed rows.

        There may be more if every batch was full.
        """
        sealed = 0
        for _ in range(BATCHES):
            async with self.database.across_tenants() as tx:
                number = await records.seal(tx, tenant_id, BATCH)
            sealed += number
            if number < BATCH:
                break
        return sealed

    async def _log_head(self, tenant_id: TenantId) -> None:
        now = self.now()
        async with self.database.across_tenants() as tx:
            head = await records.note_logged(tx, tenant_id, now=now, before=now - LOG_PERIOD)
            if head is not None:
                # Before the commit: an additional line is harmless, a missing one is not.
                logger.info("The audit trail is sealed.", extra={"tenantId": str(tenant_id), "head": str(head)})

    async def _pause(self, tenant_id: TenantId, sealed: int) -> timedelta:
        """Return the time until the next run."""
        if not sealed:
            async with self.database.across_tenants() as tx:
                if await records.may_sleep(tx, tenant_id):
                    return sleep_time(tenant_id)
        return next_look(sealed=sealed)

    async def _postpone(self, claim: Claim, job: Job, *, after: timedelta) -> None:
        async with self.database.across_tenants() as tx:
            await queue_jobs.postpone(tx, claim.lease_id, [Postponed(job.id, after)])

    async def _complete(self, claim: Claim, job: Job) -> None:
        """Complete the job of a deleted tenant.

        No row of the tenant is left.
        """
        async with self.database.across_tenants() as tx:
            await queue_jobs.complete(tx, claim.lease_id, [job.id])


JOBS = JobTable(AuditJobs, {JobKind.AUDIT_SEAL: AuditJobs.seal, JobKind.AUDIT_SEAL_BEGIN: AuditJobs.find_tenants})
