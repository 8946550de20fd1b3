# SPDX-License-Identifier: Apache-2.0
"""Check for drift: compare the directory with the desired state.

The tenant's settings decide which differences are repaired. Each tenant has a job that runs every night. One more job,
for the whole installation, schedules those of new tenants. Each page is observed, repaired and written on its own, with
the position of the next page. An interrupted check resumes there.
"""

from dataclasses import dataclass, replace
from datetime import timedelta

from chamberlain.core.errors import TryAgain
from chamberlain.core.ids import NoticeId, TraceId
from chamberlain.drift import store
from chamberlain.drift.models import PHASES, next_night, next_phase_start, phase_start
from chamberlain.drift.pages import PageChecks, current_page
from chamberlain.drift.rules import Page, compared_paths, compared_properties, judge_all
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import NOBODY, Claim, Job, JobKind, Postponed
from chamberlain.queue.worker import JobTable
from chamberlain.requests.models import RequestKind
from chamberlain.tenants import records as tenant_records
from chamberlain.tenants.models import Tenant

# How often new tenants get their jobs.
SCHEDULE_EVERY = timedelta(minutes=1)
# Pages of one run, so that each tenant has its turn.
PAGES_PER_RUN = 10
# Least wait after the directory did not answer. Our choice, as a night is long enough.
SHORTEST_WAIT = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class DriftJobs(PageChecks):
    """Check all tenants for drift."""

    async def begin(self, trace_id: TraceId) -> None:
        """Queue the job of the installation unless it exists.

        Raises Unavailable.
        """
        async with self.database.across_tenants() as tx:
            await queue_jobs.queue_the_one(tx, JobKind.DRIFT_CHECK, trace_id)

    async def check(self, claim: Claim) -> None:
        """Run the claimed jobs.

        Raises Unavailable.
        """
        for job in claim.jobs:
            if job.tenant_id == NOBODY:
                await self._schedule_tenants(claim, job)
            else:
                await self._check_tenant(claim, job)

    async def _schedule_tenants(self, claim: Claim, job: Job) -> None:
        now = self.now()
        async with self.database.across_tenants() as tx:
            for tenant_id in await store.list_unscheduled(tx):
                await store.schedule_check(tx, tenant_id, next_night(tenant_id, now), job.trace_id)
            await queue_jobs.postpone(tx, claim.lease_id, [Postponed(job.id, SCHEDULE_EVERY)])

    async def _check_tenant(self, claim: Claim, job: Job) -> None:
        """Run some pages of a tenant's check.

        A check that a caller requests meanwhile is due at the end of this one.
        """
        tenant = await self._begin(job)
        if tenant is None:
            async with self.database.across_tenants() as tx:
                await store.delete_check(tx, job.tenant_id)
                await queue_jobs.complete(tx, claim.lease_id, [job.id])
            return
        tenant = await self._comparable(tenant)
        try:
            for _ in range(PAGES_PER_RUN):
                if not await self._check_page(tenant, job.trace_id):
                    break
        except TryAgain as fault:
            after = max(fault.after, SHORTEST_WAIT)
            async with self.database.across_tenants() as tx:
                await queue_jobs.postpone(tx, claim.lease_id, [Postponed(job.id, after)])
            return
        async with self.database.across_tenants() as tx:
            check = await store.lock_check(tx, tenant.id)
            now = self.now()
            is_idle = check.position is None and not check.is_requested
            after = next_night(tenant.id, now) - now if is_idle else timedelta(0)
            await queue_jobs.postpone(tx, claim.lease_id, [Postponed(job.id, after)])

    async def _begin(self, job: Job) -> Tenant | None:
        """Begin the check unless it has begun.

        Returns None if the tenant was deleted.
        """
        async with self.database.across_tenants() as tx:
            tenant, check = await tenant_records.find(tx, job.tenant_id), await store.lock_check(tx, job.tenant_id)
            if tenant is not None and check.position is None:
                await store.save_check(
                    tx, tenant.id, replace(check, position=phase_start(PHASES[0]), began_at=self.now())
                )
        return tenant

    async def _check_page(self, tenant: Tenant, trace_id: TraceId) -> bool:
        """Check and repair the next page.

        Returns False if it was the last one.
        """
        limit = max(self.page_size, await self._batch_size(tenant))
        async with self.database.across_tenants() as tx:
            check = await store.lock_check(tx, tenant.id)
            if check.position is None:
                return False
            batch = await store.read_batch(tx, self.revisions, tenant.id, check.position, limit=limit)
            names = compared_properties(check.position.phase)
            objects = [each.subject.id for each in batch.objects]
            states = await store.read_states(tx, tenant.id, objects, compared_paths(check.position.phase))
        batch, comparisons = await self._observe_until_full(tenant, batch, states)
        judged = judge_all(tenant, states, comparisons, now=self.now())
        looked = Page(tenant, names, states, comparisons, comparisons, judged)
        page = await self._repair(looked)
        following = batch.following or next_phase_start(check.position.phase)
        async with self.database.across_tenants() as tx:
            current = await current_page(tx, page)
            await self._write(tx, current, trace_id)
            # Assignments that changed meanwhile are checked again.
            at = following if len(current.comparisons) == len(looked.comparisons) else check.position
            await store.save_check(tx, tenant.id, check.at(at, now=self.now()))
            if at is None:
                await store.close_unmanaged(tx, tenant.id, compared_paths(RequestKind.ASSIGNMENT), at=self.now())
                if self.database.notices:
                    await store.queue_report(tx, tenant.id, NoticeId(self.new_id()), trace_id)
        return at is not None


JOBS = JobTable(DriftJobs, {JobKind.DRIFT_CHECK: DriftJobs.check})
