"""Check for drift: compare the directory with the desired state.

The tenant's settings decide which differences are repaired. Each tenant has a job that runs every night. One more job,
for the whole installation, schedules those of new tenants. Each page is observed, repaired and written on its own, with
the position of the next page. An interrupted check resumes there.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from chamberlain.changes import record as change_record
from chamberlain.core.errors import TryAgain
from chamberlain.core.ids import TraceId, UserId
from chamberlain.database.transactions import Database, Transaction
from chamberlain.directory.models import PeopleQuestion
from chamberlain.directory.port import Directory, Guests, People
from chamberlain.drift import store
from chamberlain.drift import store as drift_store
from chamberlain.drift.compare import EXISTENCES
from chamberlain.drift.models import (
    LATE,
    PHASES,
    Extent,
    Look,
    Managed,
    ManagedAssignment,
    ManagedGroup,
    ManagedMailbox,
    Observed,
    Stretch,
    beginning_after,
    first_of,
    look_at,
    look_without,
    missing_people,
    next_night,
    people_in,
)
from chamberlain.drift.pages import Page, change_of, judge_all, names_of, paths_of
from chamberlain.drift.repair import mend
from chamberlain.guests import finding_records
from chamberlain.guests.assignments import tasks
from chamberlain.guests.models import FindingKind, FindingSource, FindingState, Searched, Standpoint, standpoint_of
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import NOBODY, Claim, Job, JobKind, Postponed
from chamberlain.requests.models import RequestKind
from chamberlain.templates.cache import Revisions
from chamberlain.tenants import records as tenant_records
from chamberlain.tenants.models import Tenant

# How often new tenants get their jobs.
SPREAD_EVERY = timedelta(minutes=1)
# Objects of a page, and pages of one run, so that each tenant has its turn.
MOST = 200
PAGES = 10
# Objects of one directory call, and people of one page. A group has up to 10,000 members.
TOGETHER = 25
MOST_PEOPLE = 50_000
AT_ONCE = timedelta(0)
EXISTENCE = frozenset(name.path for name in EXISTENCES)
# Findings of a check.
KINDS = (FindingKind.DRIFT, FindingKind.REPAIR_DOES_NOT_HOLD)
# Least wait after the directory did not answer. Our choice, as a night is long enough.
SHORTEST_WAIT = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class CheckDrift:
    """Check all tenants for drift.

    `most` is the number of objects of a page, `together` that of one directory call. A page ends once it has
    `most_people` people.
    """

    database: Database
    directory: Directory
    guests: Guests
    people: People
    revisions: Revisions
    new_id: Callable[[], UUID]
    now: Callable[[], datetime]
    most: int = MOST
    most_people: int = MOST_PEOPLE
    together: int = TOGETHER

    async def begin(self, trace_id: TraceId) -> None:
        """Queue the job of the installation unless it exists.

        Raises Unavailable.
        """
        async with self.database.across_tenants() as tx:
            await queue_jobs.queue_the_one(tx, JobKind.DRIFT_CHECK, trace_id)

    async def __call__(self, claim: Claim) -> None:
        """Run the claimed jobs.

        Raises Unavailable.
        """
        for job in claim.jobs:
            if job.tenant_id == NOBODY:
                await self._spread(claim, job)
            else:
                await self._check(claim, job)

    async def _spread(self, claim: Claim, job: Job) -> None:
        now = self.now()
        async with self.database.across_tenants() as tx:
            for tenant_id in await store.unscheduled(tx):
                await store.schedule(tx, tenant_id, next_night(tenant_id, now), job.trace_id)
            await queue_jobs.postpone(tx, claim.lease_id, [Postponed(job.id, SPREAD_EVERY)])

    async def _check(self, claim: Claim, job: Job) -> None:
        """Run some pages of a tenant's check.

        A check that a caller requests meanwhile is due at the end of this one.
        """
        tenant = await self._begun(job)
        if tenant is None:
            async with self.database.across_tenants() as tx:
                await store.forget(tx, job.tenant_id)
                await queue_jobs.complete(tx, claim.lease_id, [job.id])
            return
        try:
            for _ in range(PAGES):
                if not await self._take_page(tenant, job.trace_id):
                    break
        except TryAgain as fault:
            await self._postpone(claim, job, max(fault.after, SHORTEST_WAIT))
            return
        async with self.database.across_tenants() as tx:
            check = await store.hold(tx, tenant.id)
            now = self.now()
            rests = check.position is None and not check.is_asked_for
            after = next_night(tenant.id, now) - now if rests else AT_ONCE
            await queue_jobs.postpone(tx, claim.lease_id, [Postponed(job.id, after)])

    async def _begun(self, job: Job) -> Tenant | None:
        """Begin the check unless it has begun.

        Returns None if the tenant was deleted.
        """
        async with self.database.across_tenants() as tx:
            tenant, check = await tenant_records.find(tx, job.tenant_id), await store.hold(tx, job.tenant_id)
            if tenant is not None and check.position is None:
                await store.put(tx, tenant.id, replace(check, position=first_of(PHASES[0]), began_at=self.now()))
        return tenant

    async def _postpone(self, claim: Claim, job: Job, after: timedelta) -> None:
        async with self.database.across_tenants() as tx:
            await queue_jobs.postpone(tx, claim.lease_id, [Postponed(job.id, after)])

    async def _take_page(self, tenant: Tenant, trace_id: TraceId) -> bool:
        """Check and repair the next page.

        Returns False if it was the last one.
        """
        async with self.database.across_tenants() as tx:
            check = await store.hold(tx, tenant.id)
            if check.position is None:
                return False
            extent = Extent(tenant.id, check.position, self.most)
            stretch = await drift_store.read(tx, self.revisions, extent)
            names = names_of(check.position.phase)
            things = [each.subject.id for each in stretch.things]
            known = await store.known(tx, tenant.id, things, paths_of(check.position.phase))
        stretch, looks = await self._observe_until_full(tenant, stretch)
        judged = judge_all(tenant, known, looks, now=self.now())
        looked = Page(tenant, names, known, looks, looks, judged)
        page = await self._repair(looked)
        following = stretch.following or beginning_after(check.position.phase)
        async with self.database.across_tenants() as tx:
            current = await _current(tx, page)
            await self._write(tx, current, trace_id)
            # Assignments that changed meanwhile are checked again.
            at = following if len(current.looks) == len(looked.looks) else check.position
            await store.put(tx, tenant.id, check.at(at, now=self.now()))
            if at is None:
                await store.let_go(tx, tenant.id, paths_of(RequestKind.ASSIGNMENT), at=self.now())
        return at is not None

    async def _observe_until_full(self, tenant: Tenant, stretch: Stretch) -> tuple[Stretch, Sequence[Look]]:
        """Observe objects until the page has enough people.

        Returns the observed part of the page with its observations.
        """
        things, shown = stretch.things, list[Observed | None]()
        while len(shown) < len(things) and sum(map(people_in, shown)) < self.most_people:
            shown += await self._observe(things[len(shown) : len(shown) + self.together])
        seen = stretch.first(len(shown))
        return seen, await self._without_missing_people(tenant, self._looks(tenant, seen.things, shown))

    async def _without_missing_people(self, tenant: Tenant, looks: Sequence[Look]) -> Sequence[Look]:
        """Remove people from the desired state who are not in the directory.

        The directory would reject them.
        """
        missing = frozenset[UserId]().union(*map(missing_people, looks))
        if not missing:
            return looks
        answer = await self.people.look_up(PeopleQuestion(tenant.id, users=missing))
        gone = missing - answer.people.keys()
        return [look_without(tenant, look, gone) for look in looks]

    def _looks(self, tenant: Tenant, page: Sequence[Managed], shown: Sequence[Observed | None]) -> Sequence[Look]:
        """Compare each object with its observation.

        New objects may be missing for a while, so they are left out. So are assignments to missing groups, because the
        discovery of groups and sites reports them.
        """
        now = self.now()
        return [
            look_at(tenant, managed, observed)
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
        if not page.broken:
            return page
        async with self.database.across_tenants() as tx:
            page, now = await _current(tx, page), self.now()
            known = await store.hold_known(tx, page.tenant.id, [look.id for look in page.looks], page.paths)
            page = page.judged_anew(known, now=now).announcing(now=now)
            await finding_records.keep(tx, [(self.new_id(), each) for each in page.announced], at=now)
            await store.remember(tx, page.tenant.id, page.announced_records)
        if not page.broken:
            return page
        faults = await mend(self.directory, self.guests, page.broken)
        things = [look.managed for look, _ in page.broken]
        again = self._looks(page.tenant, things, await self._observe(things))
        return page.faulted(faults, {look.id: look for look in again})

    async def _write(self, tx: Transaction, page: Page, trace_id: TraceId) -> None:
        now, tenant_id = self.now(), page.tenant.id
        found = page.found
        records = page.records(now=now)
        await finding_records.keep(tx, [(self.new_id(), each) for each in found], at=now)
        await store.remember(tx, tenant_id, records)
        standing = {standpoint_of(each) for each in found}
        # A finding that repairs do not hold stays open until an administrator accepts it.
        given_up = [place for place, record in records.items() if record is not None and record.has_given_up]
        standing |= {Standpoint(tenant_id, id_, FindingKind.REPAIR_DOES_NOT_HOLD, about) for id_, about in given_up}
        # A missing object may or may not differ.
        hidden = [look.id for look in page.after if look.observed is None]
        shown = [look.id for look in page.looks if look.id not in hidden]
        for ids, paths in ((shown, page.paths), (hidden, EXISTENCE)):
            searched = Searched(FindingSource.DRIFT, KINDS, paths)
            places = [(tenant_id, id_) for id_ in ids]
            settled = await finding_records.settle(tx, places, searched, standing=standing, at=now, mended=page.mended)
            repaired = [each for each in settled if each.state is FindingState.REPAIRED]
            await change_record.record_all(tx, [change_of(each, trace_id) for each in repaired])


async def _current(tx: Transaction, page: Page) -> Page:
    """Remove objects from the page that changed or are no longer managed.

    Their findings would stay open forever.
    """
    assigned = [look.managed.assigned for look in page.looks if isinstance(look.managed, ManagedAssignment)]
    same = await tasks.unchanged(tx, assigned) if assigned else frozenset()
    gone: set[UUID] = {each.id for each in assigned if each.place not in same}
    gone |= await drift_store.released(tx, page.tenant.id, [look.managed for look in page.looks])
    return page.without(gone) if gone else page
