"""Check for drift: what the directory shows of everything that was asked for here is compared with what is wanted, and
put right where the tenant says so.

There is a job for each tenant that queues itself again every night, and one for the whole installation that gives new
tenants theirs. Each page is looked at, put right and written by itself, with the place where the next one begins; so a
check that was cut short goes on there.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol, TypeVar
from uuid import UUID

from chamberlain.directory.port import Directory, Guests, GuestWork, MailboxWork, Work
from chamberlain.rules.drift import EXISTENCES, Difference
from chamberlain.rules.drift_checks import (
    LATE,
    PHASES,
    Extent,
    Managed,
    ManagedAssignment,
    ManagedGroup,
    ManagedMailbox,
    Stretch,
    beginning_after,
    first_of,
    next_night,
)
from chamberlain.rules.drift_pages import (
    Broken,
    Look,
    Observed,
    Page,
    change_of,
    judge_all,
    look_at,
    paths_of,
    people_in,
)
from chamberlain.rules.drift_properties import DriftProperty
from chamberlain.rules.drift_works import assignment_repair, group_repair, mailbox_repair, steps_of
from chamberlain.rules.errors import OutsideFault, TryAgain
from chamberlain.rules.findings import FindingKind, FindingSource, FindingState, Searched, Standpoint, standpoint_of
from chamberlain.rules.groups import ObservedGroup
from chamberlain.rules.ids import TraceId
from chamberlain.rules.jobs import NOBODY, Claim, Job, JobKind, Postponed
from chamberlain.rules.mailboxes import ObservedMailbox
from chamberlain.rules.requests import RequestKind
from chamberlain.rules.subjects import ObservedSubject
from chamberlain.rules.tenants import Tenant
from chamberlain.store import assignment_tasks, changes, drift, drift_pages, findings, jobs, tenants
from chamberlain.store.database import Database, Transaction
from chamberlain.store.revisions import Revisions

# A new tenant has its job after so long.
SPREAD_EVERY = timedelta(minutes=1)
# So many things are looked at in one page, and so many pages at a time, so that every tenant has its turn.
MOST = 200
PAGES = 10
# So many are asked for in one call, and with so many people in them a page ends: a group has up to 10,000 members.
TOGETHER = 25
MOST_PEOPLE = 50_000
AT_ONCE = timedelta(0)
EXISTENCE = frozenset(name.path for name in EXISTENCES)
# What a check finds.
KINDS = (FindingKind.DRIFT, FindingKind.REPAIR_DOES_NOT_HOLD)
# A directory that does not answer is asked again after so long at least. Ours: a night has many minutes.
SHORTEST_WAIT = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class CheckDrift:
    """Works as the worker's role, on all tenants."""

    database: Database
    directory: Directory
    guests: Guests
    revisions: Revisions
    new_id: Callable[[], UUID]
    now: Callable[[], datetime]
    most: int = MOST
    most_people: int = MOST_PEOPLE
    together: int = TOGETHER

    async def begin(self, trace_id: TraceId) -> None:
        """See to it that there is the job for the installation. Raises Unavailable."""
        async with self.database.across_tenants() as tx:
            await jobs.queue_the_one(tx, JobKind.DRIFT_CHECK, trace_id)

    async def __call__(self, claim: Claim) -> None:
        """Raises Unavailable."""
        for job in claim.jobs:
            if job.tenant_id == NOBODY:
                await self._spread(claim, job)
            else:
                await self._check(claim, job)

    async def _spread(self, claim: Claim, job: Job) -> None:
        now = self.now()
        async with self.database.across_tenants() as tx:
            for tenant_id in await drift.unscheduled(tx):
                await drift.schedule(tx, tenant_id, next_night(tenant_id, now), job.trace_id)
            await jobs.postpone(tx, claim.lease_id, [Postponed(job.id, SPREAD_EVERY)])

    async def _check(self, claim: Claim, job: Job) -> None:
        """Some pages of a tenant's check. Who asks for one is told to hurry after it, or is heard here."""
        tenant = await self._begun(job)
        if tenant is None:
            async with self.database.across_tenants() as tx:
                await drift.forget(tx, job.tenant_id)
                await jobs.complete(tx, claim.lease_id, [job.id])
            return
        try:
            for _ in range(PAGES):
                if not await self._take_page(tenant, job.trace_id):
                    break
        except TryAgain as fault:
            await self._postpone(claim, job, max(fault.after, SHORTEST_WAIT))
            return
        async with self.database.across_tenants() as tx:
            check = await drift.hold(tx, tenant.id)
            now = self.now()
            rests = check.position is None and not check.is_asked_for
            after = next_night(tenant.id, now) - now if rests else AT_ONCE
            await jobs.postpone(tx, claim.lease_id, [Postponed(job.id, after)])

    async def _begun(self, job: Job) -> Tenant | None:
        """The tenant, whose check has begun by now; None when it is not there any more."""
        async with self.database.across_tenants() as tx:
            tenant, check = await tenants.find(tx, job.tenant_id), await drift.hold(tx, job.tenant_id)
            if tenant is not None and check.position is None:
                await drift.put(tx, tenant.id, replace(check, position=first_of(PHASES[0]), began_at=self.now()))
        return tenant

    async def _postpone(self, claim: Claim, job: Job, after: timedelta) -> None:
        async with self.database.across_tenants() as tx:
            await jobs.postpone(tx, claim.lease_id, [Postponed(job.id, after)])

    async def _take_page(self, tenant: Tenant, trace_id: TraceId) -> bool:
        """Look at the next page and put right what is to be; False when the check is through."""
        async with self.database.across_tenants() as tx:
            check = await drift.hold(tx, tenant.id)
            if check.position is None:
                return False
            extent = Extent(tenant.id, check.position, self.most)
            stretch = await drift_pages.read(tx, self.revisions, extent)
            paths = paths_of(check.position.phase)
            known = await drift.known(tx, tenant.id, [each.subject.id for each in stretch.things], paths)
        stretch, looks = await self._look_along(tenant, stretch)
        judged = judge_all(tenant, known, looks, now=self.now())
        looked = Page(tenant, paths, known, looks, looks, judged)
        page = await self._repair(looked)
        following = stretch.following or beginning_after(check.position.phase)
        async with self.database.across_tenants() as tx:
            current = await _current(tx, page)
            await self._write(tx, current, trace_id)
            # What was assigned anew meanwhile is looked at once more.
            at = following if len(current.looks) == len(looked.looks) else check.position
            await drift.put(tx, tenant.id, check.at(at, now=self.now()))
            if at is None:
                await drift.let_go(tx, tenant.id, paths_of(RequestKind.ASSIGNMENT), at=self.now())
        return at is not None

    async def _look_along(self, tenant: Tenant, stretch: Stretch) -> tuple[Stretch, Sequence[Look]]:
        """What the directory shows, until it has shown so many people that the page ends there; and as much of the
        stretch as that is."""
        things, shown = stretch.things, list[Observed | None]()
        while len(shown) < len(things) and sum(map(people_in, shown)) < self.most_people:
            shown += await self._observe(things[len(shown) : len(shown) + self.together])
        seen = stretch.first(len(shown))
        return seen, self._looks(tenant, seen.things, shown)

    def _looks(self, tenant: Tenant, page: Sequence[Managed], shown: Sequence[Observed | None]) -> Sequence[Look]:
        """What is seen of each; what the directory does not show yet is left out, and so is an assignment to a group
        that it does not show: whoever follows the directory's changes finds out that it is gone."""
        now = self.now()
        return [
            look_at(tenant, managed, observed)
            for managed, observed in zip(page, shown, strict=True)
            if observed is not None or (now - managed.since >= LATE and not isinstance(managed, ManagedAssignment))
        ]

    async def _observe(self, page: Sequence[Managed]) -> Sequence[Observed | None]:
        """What the directory shows of each; a page holds things of one kind alone."""
        mailboxes = [each.reference for each in page if isinstance(each, ManagedMailbox)]
        groups = [each.reference for each in page if isinstance(each, ManagedGroup)]
        assignments = [each.assigned.reference for each in page if isinstance(each, ManagedAssignment)]
        shown: list[Observed | None] = []
        shown += await self.directory.observe_mailboxes(mailboxes) if mailboxes else ()
        shown += await self.directory.observe(groups) if groups else ()
        shown += await self.guests.observe(assignments) if assignments else ()
        return shown

    async def _repair(self, page: Page) -> Page:
        """The page after what can be was put right, without what is not to be any more. That is announced before:
        afterwards nobody would know."""
        if not page.broken:
            return page
        async with self.database.across_tenants() as tx:
            page = await _current(tx, page)
            await findings.keep(tx, [(self.new_id(), each) for each in page.announced], at=self.now())
        faults = await self._ensure(page.broken)
        things = [look.managed for look, _ in page.broken]
        again = self._looks(page.tenant, things, await self._observe(things))
        return page.faulted(faults, {look.id: look for look in again})

    async def _ensure(self, broken: Sequence[Broken]) -> Mapping[UUID, OutsideFault | None]:
        """Put these right, and say of each what stopped it."""
        try:
            return {
                **await _ensured(_mailbox_works(broken), self.directory.ensure_mailboxes),
                **await _ensured(_group_works(broken), self.directory.ensure),
                **await _ensured(_assignment_works(broken), self.guests.ensure),
            }
        except TryAgain as fault:
            return {look.id: fault for look, _ in broken}

    async def _write(self, tx: Transaction, page: Page, trace_id: TraceId) -> None:
        now, tenant_id = self.now(), page.tenant.id
        found = page.found
        records = page.records(now=now)
        await findings.keep(tx, [(self.new_id(), each) for each in found], at=now)
        await drift.remember(tx, tenant_id, records)
        standing = {standpoint_of(each) for each in found}
        # A report that repairs do not hold stands until somebody has accepted it, whatever the directory shows.
        given_up = [place for place, record in records.items() if record is not None and record.has_given_up]
        standing |= {Standpoint(tenant_id, id_, FindingKind.REPAIR_DOES_NOT_HOLD, about) for id_, about in given_up}
        # Of what the directory does not show nobody knows whether it differs.
        hidden = [look.id for look in page.after if look.observed is None]
        shown = [look.id for look in page.looks if look.id not in hidden]
        for ids, paths in ((shown, page.paths), (hidden, EXISTENCE)):
            searched = Searched(FindingSource.DRIFT, KINDS, paths)
            places = [(tenant_id, id_) for id_ in ids]
            settled = await findings.settle(tx, places, searched, standing=standing, at=now)
            repaired = [each for each in settled if each.state is FindingState.REPAIRED]
            await changes.record_all(tx, [change_of(each, trace_id) for each in repaired])


class Faulty(Protocol):
    """What came of a piece of work, as far as it matters here."""

    @property
    def fault(self) -> OutsideFault | None: ...


Wanted = TypeVar("Wanted")


async def _ensured(
    works: Mapping[UUID, Wanted], ensure: Callable[[Sequence[Wanted]], Awaitable[Sequence[Faulty]]]
) -> Mapping[UUID, OutsideFault | None]:
    outcomes = await ensure(list(works.values())) if works else ()
    return {id_: outcome.fault for id_, outcome in zip(works, outcomes, strict=True)}


def _mailbox_works(broken: Sequence[Broken]) -> Mapping[UUID, MailboxWork]:
    return {
        look.id: MailboxWork(mailbox_repair(look.managed.wanted, look.observed, _names(each)), steps_of(each))
        for look, each in broken
        if isinstance(look.managed, ManagedMailbox) and isinstance(look.observed, ObservedMailbox)
    }


def _group_works(broken: Sequence[Broken]) -> Mapping[UUID, Work]:
    return {
        look.id: Work(group_repair(look.managed.wanted, look.observed, _names(each)), steps_of(each))
        for look, each in broken
        if isinstance(look.managed, ManagedGroup) and isinstance(look.observed, ObservedGroup)
    }


def _assignment_works(broken: Sequence[Broken]) -> Mapping[UUID, GuestWork]:
    return {
        look.id: GuestWork(assignment_repair(look.managed.assigned.wanted, look.observed, _names(each)), steps_of(each))
        for look, each in broken
        if isinstance(look.managed, ManagedAssignment) and isinstance(look.observed, ObservedSubject)
    }


def _names(differences: Sequence[Difference]) -> frozenset[DriftProperty]:
    return frozenset(each.name for each in differences)


async def _current(tx: Transaction, page: Page) -> Page:
    """The page without what something else has been assigned to meanwhile, and what is not managed any more: what is
    found of that would stand for ever."""
    assigned = [look.managed.assigned for look in page.looks if isinstance(look.managed, ManagedAssignment)]
    same = await assignment_tasks.unchanged(tx, assigned) if assigned else frozenset()
    gone: set[UUID] = {each.id for each in assigned if each.place not in same}
    gone |= await drift_pages.released(tx, page.tenant.id, [look.managed for look in page.looks])
    return page.without(gone) if gone else page
