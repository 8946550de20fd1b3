"""Seal the audit trail: a job for each tenant that queues itself again, and one that sees to it that each has its own.

The head of each chain is logged while it moves. Logs are kept elsewhere, so that whoever cuts off the tail of a chain,
with all that the database knows of it, is found out (`chamberlain audit verify --head`).
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from chamberlain.rules.ids import TenantId, TraceId
from chamberlain.rules.jobs import Claim, Job, JobKind, Postponed
from chamberlain.rules.seals import BATCH, BATCHES, LOG_PERIOD, LONG_PAUSE, next_look
from chamberlain.store import jobs, seals
from chamberlain.store.database import Database

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SealAudit:
    """Works as the worker's role, the only one that may write seals."""

    database: Database
    now: Callable[[], datetime]

    async def begin(self, trace_id: TraceId) -> None:
        """See to it that there is the one job that finds the tenants. Raises Unavailable."""
        async with self.database.across_tenants() as tx:
            await jobs.queue_the_one(tx, JobKind.AUDIT_SEAL_BEGIN, trace_id)

    async def find_tenants(self, claim: Claim) -> None:
        """Give every tenant that has none a job that seals. Raises Unavailable."""
        for job in claim.jobs:
            async with self.database.across_tenants() as tx:
                await seals.queue_for_all(tx, JobKind.AUDIT_SEAL, job.trace_id)
                await jobs.postpone(tx, claim.lease_id, [Postponed(job.id, LONG_PAUSE)])

    async def __call__(self, claim: Claim) -> None:
        """Seal what was written since the last look. Raises Unavailable."""
        for job in claim.jobs:
            if await self._is_there(job.tenant_id):
                sealed = await self._seal(job.tenant_id)
                await self._log_head(job.tenant_id)
                await self._look_again(claim, job, after=next_look(sealed=sealed))
            else:
                await self._give_up(claim, job)

    async def _is_there(self, tenant_id: TenantId) -> bool:
        async with self.database.across_tenants() as tx:
            return await seals.is_there(tx, tenant_id)

    async def _seal(self, tenant_id: TenantId) -> int:
        """Gives the number of rows; when every batch was full, there may be more."""
        sealed = 0
        for _ in range(BATCHES):
            async with self.database.across_tenants() as tx:
                number = await seals.seal(tx, tenant_id, BATCH)
            sealed += number
            if number < BATCH:
                break
        return sealed

    async def _log_head(self, tenant_id: TenantId) -> None:
        now = self.now()
        async with self.database.across_tenants() as tx:
            head = await seals.note_logged(tx, tenant_id, now=now, before=now - LOG_PERIOD)
            if head is not None:
                # Before the commit: a line too many does no harm, one too few might.
                logger.info("The audit trail is sealed.", extra={"tenantId": str(tenant_id), "head": str(head)})

    async def _look_again(self, claim: Claim, job: Job, *, after: timedelta) -> None:
        async with self.database.across_tenants() as tx:
            await jobs.postpone(tx, claim.lease_id, [Postponed(job.id, after)])

    async def _give_up(self, claim: Claim, job: Job) -> None:
        """The tenant is gone, and nothing of it is to be left behind."""
        async with self.database.across_tenants() as tx:
            await jobs.complete(tx, claim.lease_id, [job.id])
