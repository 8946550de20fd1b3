# SPDX-License-Identifier: Apache-2.0
"""Run releases, page by page.

The records are removed first, so that no check for drift repairs an object without its mark. The items keep all that
the removal of the marks needs. A repeated run is harmless: records and marks that are gone stay so, and an item ends
once.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, TypeAlias
from uuid import UUID

from chamberlain.changes.models import Change
from chamberlain.changes.records import record_changes
from chamberlain.core.errors import OutsideFault, TryAgain
from chamberlain.core.ids import EventId, GroupId, ReleaseId
from chamberlain.database.transactions import Database
from chamberlain.directory.mailboxes import MailboxReference
from chamberlain.directory.models import ObjectType
from chamberlain.directory.port import Adoptions, Directory, Guests, Marking, Work
from chamberlain.directory.steps import Step
from chamberlain.directory.subjects import WantedGuestRules
from chamberlain.guests.assignments.rules import removed_assignment
from chamberlain.guests.models import Assignment, FindingSubject
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import Claim, Job, JobKind, Postponed
from chamberlain.queue.worker import JobTable
from chamberlain.releases import store
from chamberlain.releases.models import (
    ItemOutcome,
    ItemState,
    ReleaseItem,
    ReleaseReason,
    ReleaseRecord,
    ReleaseState,
    ReleaseType,
    outcome_after,
    outcome_without,
    released,
)
from chamberlain.tenants import records as tenant_records
from chamberlain.tenants.models import Tenant

# Items that are released together. Another worker repeats one page at most.
PAGE = 50
# Pages of one run, so that each tenant has its turn.
PAGES = 20
NOT_SHOWN = TryAgain(timedelta(seconds=30), "The directory does not show the mailbox under its mark.")
_OPEN: Final = frozenset({"queued", "running", "waiting"})

# Waiting items by their keys.
Waits: TypeAlias = Mapping[UUID, TryAgain]
Made: TypeAlias = tuple[ReleaseItem, ItemOutcome | TryAgain]


@dataclass(frozen=True, slots=True)
class _Page:
    """A page of a release."""

    record: ReleaseRecord
    tenant: Tenant
    items: tuple[ReleaseItem, ...]

    @property
    def prefixes(self) -> tuple[str, ...]:
        """Return all prefixes that marks of the tenant may have."""
        return (self.tenant.extension_prefix, *self.tenant.marked_under)

    def of(self, *types: ReleaseType) -> list[ReleaseItem]:
        """Return the items of these types."""
        return [item for item in self.items if item.type in types]


@dataclass(frozen=True, slots=True)
class ReleaseJobs:
    """Run the releases of all tenants.

    `page` is the number of items of a page.
    """

    database: Database
    adoptions: Adoptions
    directory: Directory
    guests: Guests
    new_id: Callable[[], UUID]
    now: Callable[[], datetime]
    page: int = PAGE

    async def run(self, claim: Claim) -> None:
        """Run the claimed jobs.

        Raises Unavailable. A job then runs again when its lease ends.
        """
        for job in claim.jobs:
            await self._run(claim, job)

    async def _run(self, claim: Claim, job: Job) -> None:
        after, waits = timedelta(0), dict[UUID, TryAgain]()
        for _ in range(PAGES):
            work = await self._load(job, waits)
            if work is not None and not work.items and waits:
                after = min(fault.after for fault in waits.values())
                break
            if work is None or not work.items:
                await self._end(claim, job, work)
                return
            try:
                waits |= await self._release(work)
            except TryAgain as fault:
                after = fault.after
                break
        async with self.database.across_tenants() as tx:
            await queue_jobs.postpone(tx, claim.lease_id, [Postponed(job.id, after)])

    async def _load(self, job: Job, waits: Waits) -> _Page | None:
        """Load the next page without waiting items.

        Returns None if the release has ended or its tenant was deleted.
        """
        async with self.database.across_tenants() as tx:
            record = await store.find(tx, job.tenant_id, ReleaseId(job.subject))
            tenant = await tenant_records.find(tx, job.tenant_id)
            if record is None or tenant is None or record.state is not ReleaseState.RUNNING:
                return None
            items = await store.find_items(tx, record, self.page, but=list(waits))
            if record.released == 0 and not waits:
                await store.forget_keys(tx, record)
        return _Page(record, tenant, tuple(items))

    async def _end(self, claim: Claim, job: Job, work: _Page | None) -> None:
        async with self.database.across_tenants() as tx:
            if work is not None:
                await store.finish(tx, work.record, at=self.now())
            await queue_jobs.complete(tx, claim.lease_id, [job.id])

    async def _release(self, work: _Page) -> Waits:
        """Remove the records and marks of a page.

        Returns the waiting items. Raises TryAgain if the directory does not answer at all.
        """
        left = replace(work, items=tuple(await self._forget(work)))
        made = [*await self._mailboxes(left), *await self._groups(left), *await self._assignments(left)]
        ends = [end for _, end in made if isinstance(end, ItemOutcome)]
        waits = {item.key: end for item, end in made if isinstance(end, TryAgain)}
        now = self.now()
        async with self.database.across_tenants() as tx:
            await store.lock(tx, work.record.tenant_id, work.record.id)
            ended = await store.settle(tx, work.record, ends, at=now)
            objects = [end for end in ends if end.item.key in ended and end.item.type is not ReleaseType.ASSIGNMENT]
            await record_changes(tx, [released(work.record, end) for end in objects])
            waited = {item.place: item.wait(waits[item.key], now=now) for item in left.items if item.key in waits}
            await store.wait(tx, work.record, waited, at=now)
        return waits

    async def _forget(self, work: _Page) -> Sequence[ReleaseItem]:
        """Remove the records of a page.

        Returns the items whose marks are left.
        """
        record, now = work.record, self.now()
        assigned = work.of(ReleaseType.ASSIGNMENT)
        objects = [item for item in work.items if item not in assigned]
        async with self.database.across_tenants() as tx:
            await store.forget(tx, record.tenant_id, objects, at=now)
            shown = await store.lock_assignments(tx, record.tenant_id, [item.key for item in assigned])
            ends = [_assignment_end(item, shown.get(item.key)) for item in assigned]
            ended = [end for end in ends if end is not None]
            await store.settle(tx, record, ended, at=now)
            left = [item for item, end in zip(assigned, ends, strict=True) if end is None]
            cleared = {item.key: shown[item.key] for item in left if item.generation is None}
            await store.clear_assignments(tx, record, {key: each[1] for key, each in cleared.items()}, at=now)
            changes = [self._cleared(record, *each[:2], now) for each in cleared.values() if each[1] != Assignment()]
            await record_changes(tx, changes)
        return [*objects, *left]

    def _cleared(self, record: ReleaseRecord, subject: FindingSubject, before: Assignment, now: datetime) -> Change:
        editor = record.editor
        change = removed_assignment(subject, before, editor.trace_id, EventId(self.new_id()), now=now)
        return replace(change, actor=editor.actor, client_id=editor.client_id)

    async def _mailboxes(self, work: _Page) -> Sequence[Made]:
        items = work.of(ReleaseType.MAILBOX)
        found: dict[UUID, UUID] = {}
        for prefix in work.prefixes:
            rest = [item for item in items if item.key not in found and item.request_id is not None]
            if rest:
                references = [
                    MailboxReference(work.tenant.id, f"{prefix}_mailbox", item.request_id)
                    for item in rest
                    if item.request_id is not None
                ]
                shown = await self.directory.observe_mailboxes(references)
                found |= {item.key: each.id for item, each in zip(rest, shown, strict=True) if each is not None}
        now = self.now()
        missing = [(item, outcome_without(item, NOT_SHOWN, now=now)) for item in items if item.key not in found]
        there = [replace(item, object_id=found[item.key]) for item in items if item.key in found]
        return [*missing, *await self._unmark(work, there, ObjectType.MAILBOX)]

    async def _groups(self, work: _Page) -> Sequence[Made]:
        return await self._unmark(work, work.of(ReleaseType.GROUP, ReleaseType.TEAM), ObjectType.GROUP)

    async def _unmark(self, work: _Page, items: Sequence[ReleaseItem], type_: ObjectType) -> Sequence[Made]:
        """Remove the marks of mailboxes or groups under all prefixes."""
        faults: dict[UUID, OutsideFault | None] = {}
        known = [item for item in items if item.object_id is not None]
        for prefix in work.prefixes if known else ():
            ends = await self.adoptions.unmark(list(_markings(work, known, type_, prefix)))
            faults |= {item.key: faults.get(item.key) or fault for item, fault in zip(known, ends, strict=True)}
        now = self.now()
        return [(item, outcome_after(item, faults.get(item.key), now=now)) for item in items]

    async def _assignments(self, work: _Page) -> Sequence[Made]:
        """Remove the marks of assignments under all prefixes.

        The settings for guests stay.
        """
        items = work.of(ReleaseType.ASSIGNMENT)
        faults: dict[UUID, OutsideFault | None] = {}
        for prefix in work.prefixes if items else ():
            works = [
                Work(
                    WantedGuestRules(work.tenant.id, GroupId(item.key), f"{prefix}_group", None, None, None),
                    (Step.MARK_ASSIGNMENT,),
                )
                for item in items
            ]
            ends = await self.guests.ensure(works)
            faults |= {item.key: faults.get(item.key) or end.fault for item, end in zip(items, ends, strict=True)}
        now = self.now()
        return [(item, outcome_after(item, faults[item.key], now=now)) for item in items]


def _assignment_end(item: ReleaseItem, shown: tuple[FindingSubject, Assignment, int, str] | None) -> ItemOutcome | None:
    """Decide on a locked group or site.

    None means that its assignment is or will be cleared.
    """
    if shown is None:
        return ItemOutcome(item, ItemState.RELEASED, ReleaseReason.GONE)
    _, _, generation, state = shown
    if item.generation is not None and item.generation != generation:
        return ItemOutcome(item, ItemState.SKIPPED, ReleaseReason.ASSIGNED_AGAIN)
    if state in _OPEN:
        return ItemOutcome(item, ItemState.SKIPPED, ReleaseReason.REQUEST_OPEN)
    return None


def _markings(work: _Page, items: Sequence[ReleaseItem], type_: ObjectType, prefix: str) -> Iterator[Marking]:
    for item in items:
        if item.object_id is not None and item.request_id is not None:
            yield Marking(work.tenant.id, type_, item.object_id, f"{prefix}_{type_}", item.request_id)


JOBS = JobTable(ReleaseJobs, {JobKind.RELEASE_RUN: ReleaseJobs.run})
