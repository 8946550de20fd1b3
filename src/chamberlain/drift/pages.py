# SPDX-License-Identifier: Apache-2.0
"""Compare pages of managed objects with the directory, and repair them.

The findings of a page are written in one transaction.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from chamberlain.changes.records import record_changes
from chamberlain.core.errors import OutsideFault
from chamberlain.core.ids import RequestId, TraceId, UserId
from chamberlain.database.transactions import Database, Transaction
from chamberlain.directory.models import PeopleQuestion
from chamberlain.directory.port import Directory, Guests, People
from chamberlain.directory.properties import Treatment
from chamberlain.drift import store
from chamberlain.drift.compare import EXISTENCES, Comparison, compare, compare_without, missing_people
from chamberlain.drift.models import (
    Batch,
    Managed,
    ManagedAssignment,
    ManagedGroup,
    ManagedMailbox,
    Observed,
    people_in,
)
from chamberlain.drift.repair import repair
from chamberlain.drift.rules import Page, Place, PropertyState, change_of, settled
from chamberlain.guests import finding_records
from chamberlain.guests.assignments import records as assignment_records
from chamberlain.guests.models import FindingKey, FindingKind, FindingSearch, FindingSource, FindingState, finding_key
from chamberlain.templates.cache import Revisions
from chamberlain.tenants.models import Tenant

# Least objects and most people of a page. A group has up to 10,000 members.
PAGE_SIZE = 200
MAX_PEOPLE = 50_000
EXISTENCE = frozenset(name.path for name in EXISTENCES)
# Findings of a check.
KINDS = (FindingKind.DRIFT, FindingKind.REPAIR_DOES_NOT_HOLD)


@dataclass(frozen=True, slots=True)
class PageChecks:
    """Check pages of managed objects.

    A page has `page_size` objects, or as many as the directory observes with one call. It ends once it has `max_people`
    people.
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

    async def _observe_until_full(
        self, tenant: Tenant, batch: Batch, states: Mapping[Place, PropertyState]
    ) -> tuple[Batch, Sequence[Comparison]]:
        """Observe objects until the page has enough people.

        Returns the observed part of the page with its observations.
        """
        objects, shown = batch.objects, list[Observed | None]()
        size = await self._batch_size(tenant)
        while len(shown) < len(objects) and sum(map(people_in, shown)) < self.max_people:
            shown += await self._observe(objects[len(shown) : len(shown) + size])
        seen = batch.first(len(shown))
        comparisons = await self._ignore_missing_people(tenant, await self._compare(tenant, seen.objects, shown))
        return seen, await self._settled(tenant, comparisons, states)

    async def _settled(
        self, tenant: Tenant, comparisons: Sequence[Comparison], states: Mapping[Place, PropertyState]
    ) -> Sequence[Comparison]:
        """Omit differences in data that was written shortly before.

        The directory may still show the older data.
        """
        settles_after = (await self.directory.capabilities(tenant.id)).settles_after
        if not settles_after:
            return comparisons
        now = self.now()
        return [settled(each, states, settles_after, now=now) for each in comparisons]

    async def _comparable(self, tenant: Tenant) -> Tenant:
        """Ignore the properties that the directory cannot store or report.

        They are neither reported nor repaired.
        """
        hidden = (await self.directory.capabilities(tenant.id)).hidden
        if not hidden:
            return tenant
        ignored = dict.fromkeys(hidden, Treatment.IGNORED)
        return replace(tenant, repair_properties={**tenant.repair_properties, **ignored})

    async def _batch_size(self, tenant: Tenant) -> int:
        """Return the number of objects of one directory call."""
        return (await self.directory.capabilities(tenant.id)).limits.observe_batch

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

    async def _compare(
        self, tenant: Tenant, page: Sequence[Managed], shown: Sequence[Observed | None]
    ) -> Sequence[Comparison]:
        """Compare each object with its observation.

        New objects may be missing for a while, so they are left out. So are assignments to missing groups, because the
        discovery of groups and sites reports them.
        """
        now, missing_after = self.now(), (await self.directory.capabilities(tenant.id)).missing_after
        return [
            compare(tenant, managed, observed)
            for managed, observed in zip(page, shown, strict=True)
            if observed is not None
            or (not isinstance(managed, ManagedAssignment) and now - managed.since >= missing_after)
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
            page, now = await current_page(tx, page), self.now()
            states = await self.lock_states(tx, page)
            page = page.judge_again(states, now=now).announcing(now=now)
            await finding_records.save(tx, [(self.new_id(), each) for each in page.announced_findings], at=now)
            await store.save_records(tx, page.tenant.id, page.announced_records)
        if not page.planned:
            return page
        faults = await repair(self.directory, self.guests, page.planned)
        if (await self.directory.capabilities(page.tenant.id)).trusts_writes:
            again: Sequence[Comparison] = [without_repaired(each, faults) for each in page.comparisons]
        else:
            objects = [comparison.managed for comparison, _ in page.planned]
            again = await self._compare(page.tenant, objects, await self._observe(objects))
        repaired = page.faulted(faults, {comparison.id: comparison for comparison in again})
        return repaired.trusting_repairs((await self.directory.capabilities(page.tenant.id)).settles_after)

    async def lock_states(self, tx: Transaction, page: Page) -> Mapping[Place, PropertyState]:
        """Read the states of the page's properties.

        Their findings are locked against acceptance.
        """
        ids = [comparison.id for comparison in page.comparisons]
        return await store.lock_states(tx, page.tenant.id, ids, page.paths)

    async def _write(
        self, tx: Transaction, page: Page, trace_id: TraceId, *, request_id: RequestId | None = None
    ) -> None:
        """Write the findings of a page, and the records of its repairs.

        `request_id` is the request that asked for the repair, if any.
        """
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
            await record_changes(tx, [change_of(each, trace_id, request_id) for each in repaired])


def without_repaired(comparison: Comparison, faults: Mapping[Place, OutsideFault | None]) -> Comparison:
    """Remove the differences whose repair the directory has acknowledged.

    A replica may not show them yet.
    """
    repaired = {path for (id_, path), fault in faults.items() if id_ == comparison.id and fault is None}
    return replace(
        comparison,
        differences=tuple([each for each in comparison.differences if each.name.path not in repaired]),
    )


async def current_page(tx: Transaction, page: Page) -> Page:
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
