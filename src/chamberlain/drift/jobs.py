"""Check for drift: compare the directory with the desired state.

The tenant's settings decide which differences are repaired. Each tenant has a job that runs every night. One more job,
for the whole installation, schedules those of new tenants. Each page is observed, repaired and written on its own, with
the position of the next page. An interrupted check resumes there.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from chamberlain.changes.records import record_changes
from chamberlain.core.errors import TryAgain
from chamberlain.core.ids import TraceId, UserId
from chamberlain.database.transactions import Database, Transaction
from chamberlain.directory.models import PeopleQuestion
from chamberlain.directory.port import Directory, Guests, People
from chamberlain.drift import store
from chamberlain.drift.compare import EXISTENCES, Comparison, compare, compare_without, missing_people
from chamberlain.drift.models import (
    LATE,
    PHASES,
    Batch,
    Managed,
    ManagedAssignment,
    ManagedGroup,
    ManagedMailbox,
    Observed,
    next_night,
    next_phase_start,
    people_in,
    phase_start,
)
from chamberlain.drift.repair import repair
from chamberlain.drift.rules import Page, change_of, compared_paths, compared_properties, judge_all
from chamberlain.guests import finding_records
from chamberlain.guests.assignments import records as assignment_records
from chamberlain.guests.models import FindingKey, FindingKind, FindingSearch, FindingSource, FindingState, finding_key
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import NOBODY, Claim, Job, JobKind, Postponed
from chamberlain.queue.worker import JobTable
from chamberlain.requests.models import RequestKind
from chamberlain.templates.cache import Revisions
from chamberlain.tenants import records as tenant_records
from chamberlain.tenants.models import Tenant

# How often new tenants get their jobs.
SCHEDULE_EVERY = timedelta(minutes=1)
# Objects of a page, and pages of one run, so that each tenant has its turn.
PAGE_SIZE = 200
PAGES_PER_RUN = 10
# Objects of one directory call, and people of one page. A group has up to 10,000 members.
BATCH_SIZE = 25
MAX_PEOPLE = 50_000
EXISTENCE = frozenset(name.path for name in EXISTENCES)
# Findings of a check.
KINDS = (FindingKind.DRIFT, FindingKind.REPAIR_DOES_NOT_HOLD)
# Least wait after the directory did not answer. Our choice, as a night is long enough.
SHORTEST_WAIT = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class DriftJobs:
    """Check all tenants for drift.

    `page_size` is the number of objects of a page, `batch_size` that of one directory call. A page ends once it has
    `max_people` people.
    """

    database: Database
    directory: Directory
    guests: Guests
    people: People
    revisions: Revisions
    new_id: Callable[[], UUID]
    now: Callable[[], datetime]
    page_size: int = PAGE_SIZE
    max_people: int = MAX_PEOPLE
    batch_size: int = BATCH_SIZE

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
        async with self.database.across_tenants() as tx:
            check = await store.lock_check(tx, tenant.id)
            if check.position is None:
                return False
            batch = await store.read_batch(tx, self.revisions, tenant.id, check.position, limit=self.page_size)
            names = compared_properties(check.position.phase)
            objects = [each.subject.id for each in batch.objects]
            states = await store.read_states(tx, tenant.id, objects, compared_paths(check.position.phase))
        batch, comparisons = await self._observe_until_full(tenant, batch)
        judged = judge_all(tenant, states, comparisons, now=self.now())
        looked = Page(tenant, names, states, comparisons, comparisons, judged)
        page = await self._repair(looked)
        following = batch.following or next_phase_start(check.position.phase)
        async with self.database.across_tenants() as tx:
            current = await _current(tx, page)
            await self._write(tx, current, trace_id)
            # Assignments that changed meanwhile are checked again.
            at = following if len(current.comparisons) == len(looked.comparisons) else check.position
            await store.save_check(tx, tenant.id, check.at(at, now=self.now()))
            if at is None:
                await store.close_unmanaged(tx, tenant.id, compared_paths(RequestKind.ASSIGNMENT), at=self.now())
        return at is not None

    async def _observe_until_full(self, tenant: Tenant, batch: Batch) -> tuple[Batch, Sequence[Comparison]]:
        """Observe objects until the page has enough people.

        Returns the observed part of the page with its observations.
        """
        objects, shown = batch.objects, list[Observed | None]()
        while len(shown) < len(objects) and sum(map(people_in, shown)) < self.max_people:
            shown += await self._observe(objects[len(shown) : len(shown) + self.batch_size])
        seen = batch.first(len(shown))
        return seen, await self._ignore_missing_people(tenant, self._compare(tenant, seen.objects, shown))

    async def _ignore_missing_people(self, tenant: Tenant, comparisons: Sequence[Comparison]) -> Sequence[Comparison]:
        """Remove people from the desired state who are not in the directory.

        The directory would reject them.
        """
        missing = frozenset[UserId]().union(*map(missing_people, comparisons))
        if not missing:
            return comparisons
        answer = await self.people.look_up(PeopleQuestion(tenant.id, users=missing))
        gone = missing - answer.people.keys()
        return [compare_without(tenant, comparison, gone) for comparison in comparisons]

    def _compare(
        self, tenant: Tenant, page: Sequence[Managed], shown: Sequence[Observed | None]
    ) -> Sequence[Comparison]:
        """Compare each object with its observation.

        New objects may be missing for a while, so they are left out. So are assignments to missing groups, because the
        discovery of groups and sites reports them.
        """
        now = self.now()
        return [
            compare(tenant, managed, observed)
            for managed, observed in zip(page, shown, strict=True)
            if observed is not None or (now - managed.since >= LATE and not isinstance(managed, ManagedAssignment))
        ]

    async def _observe(self, page: Sequence[Managed]) -> Sequence[Observed | None]:
        """Observe the objects of a page, which are of one kind."""
        mailboxes = [each.reference for each in page if isinstance(each, ManagedMailbox)]
        groups = [each.reference for each in page if isinstance(each, ManagedGroup)]
        assignments = [each.assigned.reference for each in page if isinstance(each, ManagedAssignment)]
        shown: list[Observed | None] = []
        shown += await self.directory.observe_mailboxes(mailboxes) if mailboxes else ()
        shown += await self.directory.observe(groups) if groups else ()
        shown += await self.guests.observe(assignments) if assignments else ()
        return shown

    async def _repair(self, page: Page) -> Page:
        """Repair a page, and return it with the new observations.

        Objects that are no longer managed, and differences that are now accepted, are left out. Findings are written
        before the repair, because the differences are gone afterwards.
        """
        if not page.planned:
            return page
        async with self.database.across_tenants() as tx:
            page, now = await _current(tx, page), self.now()
            states = await store.lock_states(
                tx, page.tenant.id, [comparison.id for comparison in page.comparisons], page.paths
            )
            page = page.judge_again(states, now=now).announcing(now=now)
            await finding_records.save(tx, [(self.new_id(), each) for each in page.announced_findings], at=now)
            await store.save_records(tx, page.tenant.id, page.announced_records)
        if not page.planned:
            return page
        faults = await repair(self.directory, self.guests, page.planned)
        objects = [comparison.managed for comparison, _ in page.planned]
        again = self._compare(page.tenant, objects, await self._observe(objects))
        return page.faulted(faults, {comparison.id: comparison for comparison in again})

    async def _write(self, tx: Transaction, page: Page, trace_id: TraceId) -> None:
        now, tenant_id = self.now(), page.tenant.id
        found = page.found
        records = page.records(now=now)
        await finding_records.save(tx, [(self.new_id(), each) for each in found], at=now)
        await store.save_records(tx, tenant_id, records)
        standing = {finding_key(each) for each in found}
        # A finding that repairs do not hold stays open until an administrator accepts it.
        given_up = [place for place, record in records.items() if record is not None and record.has_given_up]
        standing |= {FindingKey(tenant_id, id_, FindingKind.REPAIR_DOES_NOT_HOLD, about) for id_, about in given_up}
        # A missing object may or may not differ.
        hidden = [comparison.id for comparison in page.after if comparison.observed is None]
        shown = [comparison.id for comparison in page.comparisons if comparison.id not in hidden]
        for ids, paths in ((shown, page.paths), (hidden, EXISTENCE)):
            searched = FindingSearch(FindingSource.DRIFT, KINDS, paths)
            places = [(tenant_id, id_) for id_ in ids]
            settled = await finding_records.close_missing(
                tx, places, searched, remaining=standing, at=now, repaired=page.repaired
            )
            repaired = [each for each in settled if each.state is FindingState.REPAIRED]
            await record_changes(tx, [change_of(each, trace_id) for each in repaired])


async def _current(tx: Transaction, page: Page) -> Page:
    """Remove objects from the page that changed or are no longer managed.

    Their findings would stay open forever.
    """
    assigned = [
        comparison.managed.assigned
        for comparison in page.comparisons
        if isinstance(comparison.managed, ManagedAssignment)
    ]
    same = await assignment_records.unchanged(tx, assigned) if assigned else frozenset()
    gone: set[UUID] = {each.id for each in assigned if each.place not in same}
    gone |= await store.find_unmanaged(tx, page.tenant.id, [comparison.managed for comparison in page.comparisons])
    return page.without(gone) if gone else page


JOBS = JobTable(DriftJobs, {JobKind.DRIFT_CHECK: DriftJobs.check})
