# SPDX-License-Identifier: Apache-2.0
"""Compare managed objects within a minute of their change in the directory.

The discovery of groups and sites reads the changes of the directory, also those of mailboxes. It notes managed objects
among them in the transaction of its cursor, and queues a job of their tenant. The job compares them as the nightly
check does. A note is deleted after its object was compared, so an interrupted job repeats the last page.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from chamberlain.core.errors import TryAgain
from chamberlain.core.ids import TraceId
from chamberlain.drift import store
from chamberlain.drift.models import Managed, Observed
from chamberlain.drift.pages import PageChecks, current_page
from chamberlain.drift.rules import Page, compared_paths, compared_properties, judge_all
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import Claim, Job, JobKind, Postponed
from chamberlain.queue.worker import JobTable
from chamberlain.requests.models import RequestKind
from chamberlain.tenants import records as tenant_records
from chamberlain.tenants.models import Tenant

# Pages of one run, so that each tenant has its turn.
PAGES_PER_RUN = 10
# Least wait after the directory did not answer. Our choice: the change is still reported soon.
SHORTEST_WAIT = timedelta(seconds=10)
PHASES = {
    "group": RequestKind.GROUP,
    "assignment": RequestKind.ASSIGNMENT,
    **{kind.value: kind for kind in (RequestKind.SHARED, RequestKind.EQUIPMENT, RequestKind.ROOM)},
}


@dataclass(frozen=True, slots=True)
class DriftWatchJobs(PageChecks):
    """Compare changed objects. Needs the worker's role."""

    async def watch(self, claim: Claim) -> None:
        """Compare the changed objects of the tenants of claimed jobs.

        Raises Unavailable.
        """
        for job in claim.jobs:
            after = await self._watch(job)
            async with self.database.across_tenants() as tx:
                if after is None:
                    await queue_jobs.complete(tx, claim.lease_id, [job.id])
                else:
                    await queue_jobs.postpone(tx, claim.lease_id, [Postponed(job.id, after)])

    async def _watch(self, job: Job) -> timedelta | None:
        """Return the time until the next run, None if nothing is left."""
        async with self.database.across_tenants() as tx:
            tenant = await tenant_records.find(tx, job.tenant_id)
            if tenant is None:
                await store.delete_all_changed(tx, job.tenant_id)
                return None
        tenant = await self._comparable(tenant)
        try:
            for _ in range(PAGES_PER_RUN):
                if not await self._compare_changed(tenant, job.trace_id):
                    return None
        except TryAgain as fault:
            return max(fault.after, SHORTEST_WAIT)
        return timedelta(0)

    async def _compare_changed(self, tenant: Tenant, trace_id: TraceId) -> bool:
        """Compare a page of changed objects.

        Returns False if there are none.
        """
        async with self.database.across_tenants() as tx:
            changed = await store.read_changed(tx, tenant.id, limit=self.page_size)
        for kind, phase in PHASES.items():
            await self._compare_phase(tenant, phase, [each.id for each in changed if each.kind == kind], trace_id)
        async with self.database.across_tenants() as tx:
            await store.delete_changed(tx, tenant.id, changed)
        return bool(changed)

    async def _compare_phase(self, tenant: Tenant, phase: RequestKind, ids: Sequence[UUID], trace_id: TraceId) -> None:
        size = await self._batch_size(tenant)
        for begin in range(0, len(ids), size):
            batch = ids[begin : begin + size]
            async with self.database.across_tenants() as tx:
                objects = await store.read_objects(tx, self.revisions, tenant.id, phase, batch)
            if objects:
                await self._check(tenant, phase, objects, trace_id)

    async def _check(self, tenant: Tenant, phase: RequestKind, objects: Sequence[Managed], trace_id: TraceId) -> None:
        """Compare objects of a phase, and write their findings.

        They are repaired if the tenant says so.
        """
        shown: Sequence[Observed | None] = await self._observe(objects)
        comparisons = await self._ignore_missing_people(tenant, await self._compare(tenant, objects, shown))
        async with self.database.across_tenants() as tx:
            ids = [each.subject.id for each in objects]
            states = await store.read_states(tx, tenant.id, ids, compared_paths(phase))
        comparisons = await self._settled(tenant, comparisons, states)
        judged = judge_all(tenant, states, comparisons, now=self.now())
        page = await self._repair(Page(tenant, compared_properties(phase), states, comparisons, comparisons, judged))
        async with self.database.across_tenants() as tx:
            await self._write(tx, await current_page(tx, page), trace_id)


JOBS = JobTable(DriftWatchJobs, {JobKind.DRIFT_WATCH: DriftWatchJobs.watch})
