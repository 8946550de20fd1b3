# SPDX-License-Identifier: Apache-2.0
"""Run and undo adoptions, page by page.

The marks in the directory are written before the records. A repeated run is harmless: the confirmation fixes the
request id of each item, existing marks stay, and one transaction writes a page and its progress.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias
from uuid import UUID

from chamberlain.adoptions import store
from chamberlain.adoptions.models import (
    CHANGED,
    GONE,
    MARK_STAYS,
    NOT_SHOWN,
    AdoptedObject,
    AdoptionConflict,
    AdoptionItem,
    AdoptionRecord,
    AdoptionState,
    ItemState,
    RefusedItem,
    Waiting,
    adoption_event,
    after_refusal,
    after_wait,
    has_timed_out,
    object_type_of,
    release_change,
    taken,
)
from chamberlain.adoptions.rules import adopted_group, conflict_of_marked
from chamberlain.adoptions.schema import to_adopted_group, to_adopted_mailbox
from chamberlain.changes.models import Event, EventType
from chamberlain.changes.records import append_events, record_changes
from chamberlain.core.errors import OutsideFault, Rejected, TryAgain
from chamberlain.core.ids import AdoptionId, EventId, GroupId, MailboxId, UserId
from chamberlain.core.waits import Waited
from chamberlain.database.transactions import Database, Transaction
from chamberlain.directory.groups import GroupReference, MemberShipType, ObservedGroup
from chamberlain.directory.mailboxes import MailboxReference, ObservedMailbox
from chamberlain.directory.models import ObjectType, PeopleQuestion
from chamberlain.directory.port import Adoptions, Directory, Marking, People
from chamberlain.guests.subjects import records as subject_records
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import Claim, Job, JobKind, Postponed
from chamberlain.queue.worker import JobTable
from chamberlain.templates import records as template_records
from chamberlain.templates.models import MailboxTemplate
from chamberlain.tenants import records as tenant_records
from chamberlain.tenants.models import Tenant

# Items that are marked and written together. Another worker repeats one page at most.
PAGE = 50
# Pages of one run, so that each tenant has its turn.
PAGES = 20

# Waiting items by their ids.
Waits: TypeAlias = Mapping[UUID, TryAgain]
# The outcome of a marked item.
Made: TypeAlias = AdoptedObject | RefusedItem | Waiting


@dataclass(frozen=True, slots=True)
class _Page:
    """A page of an adoption.

    `template` is None for groups. `joined` has the membership types of groups.
    """

    record: AdoptionRecord
    tenant: Tenant
    items: tuple[AdoptionItem, ...]
    template: MailboxTemplate | None
    joined: Mapping[UUID, MemberShipType]

    @property
    def type(self) -> ObjectType:
        return object_type_of(self.record.rule.kind)

    @property
    def extension(self) -> str:
        return f"{self.record.extension_prefix or self.tenant.extension_prefix}_{self.type}"

    def markings(self, items: Sequence[AdoptionItem]) -> list[Marking]:
        return [Marking(self.record.tenant_id, self.type, item.id, self.extension, item.request_id) for item in items]


@dataclass(frozen=True, slots=True)
class AdoptionJobs:
    """Run and undo adoptions of all tenants.

    `page` is the number of items of a page.
    """

    database: Database
    adoptions: Adoptions
    directory: Directory
    people: People
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
                if await self._end(claim, job, work):
                    return
                # An administrator has just undone it.
                continue
            try:
                takes = work.record.state is AdoptionState.RUNNING
                waits |= await (self._adopt(work) if takes else self._release(work))
            except TryAgain as fault:
                after = fault.after
                break
        async with self.database.across_tenants() as tx:
            await queue_jobs.postpone(tx, claim.lease_id, [Postponed(job.id, after)])

    async def _load(self, job: Job, waits: Waits) -> _Page | None:
        """Load the next page without waiting items.

        Returns None if the adoption is finished.
        """
        async with self.database.across_tenants() as tx:
            record = await store.find(tx, job.tenant_id, AdoptionId(job.subject))
            tenant = await tenant_records.find(tx, job.tenant_id)
            if record is None or tenant is None or record.state not in _LEFT:
                return None
            items = tuple(await store.find_items(tx, record, _LEFT[record.state], self.page, but=waits))
            template = await _mailbox_template(tx, record)
            groups = [GroupId(item.id) for item in items] if template is None else []
            joined = await subject_records.member_ship_types(tx, record.tenant_id, groups)
        return _Page(record, tenant, items, template, joined)

    async def _end(self, claim: Claim, job: Job, work: _Page | None) -> bool:
        """Finish the job and its adoption.

        Returns False if the adoption has changed state.
        """
        at = self.now()
        async with self.database.across_tenants() as tx:
            if work is not None:
                ended = _FINAL_STATES[work.record.state]
                after = await store.move(tx, work.record, ended, at=at, finished_at=at)
                if after is None:
                    return False
                if ended is AdoptionState.UNDONE:
                    await append_events(tx, (self._undone(after, at),))
            await queue_jobs.complete(tx, claim.lease_id, [job.id])
        return True

    def _undone(self, record: AdoptionRecord, at: datetime) -> Event:
        by = (record.undone_by or record.editor).actor
        return adoption_event(EventId(self.new_id()), EventType.ADOPTION_UNDONE, record, by, now=at)

    async def _adopt(self, work: _Page) -> Waits:
        """Mark a page, write its records, return the waiting items.

        Raises TryAgain if all items have to wait.
        """
        came = list(zip(work.items, await self.adoptions.mark(work.markings(work.items)), strict=True))
        marked = [item for item, fault in came if fault is None]
        made = await (self._mailboxes(work, marked) if work.template else self._groups(work, marked))
        made += [RefusedItem(item, _group_conflict(fault)) for item, fault in came if isinstance(fault, Rejected)]
        made += [(item, fault) for item, fault in came if isinstance(fault, TryAgain)]
        now = self.now()
        ends = [after_wait(*each, now=now) if isinstance(each, tuple) else each for each in made]
        ends = await self._remove_marks(work, ends, marked)
        written = [each for each in ends if isinstance(each, AdoptedObject)]
        waits = {each[0].id: each[1] for each in ends if isinstance(each, tuple)}
        refused = [each for each in ends if isinstance(each, RefusedItem)]
        if not await self._record(work, written, refused, waits):
            # It is undone or being undone, so no mark may stay.
            if (later := _first_retry(await self.adoptions.unmark(work.markings(marked)))) is not None:
                raise later
            return {}
        return waits

    async def _remove_marks(self, work: _Page, ends: Sequence[Made], marked: Sequence[AdoptionItem]) -> list[Made]:
        """Remove the marks of refused items.

        An item that keeps its mark waits.
        """
        refused = [each for each in ends if isinstance(each, RefusedItem) and each.item in marked]
        faults = await self.adoptions.unmark(work.markings([each.item for each in refused])) if refused else ()
        others = [each for each in ends if each not in refused]
        now = self.now()
        return others + [after_refusal(*pair, now=now) for pair in zip(refused, faults, strict=True)]

    async def _record(
        self, work: _Page, written: Sequence[AdoptedObject], refused: Sequence[RefusedItem], waits: Waits
    ) -> bool:
        """Write the outcomes of a page.

        Returns False if the adoption is undone or being undone. Then no mark may stay.
        """
        record, at = work.record, self.now()
        async with self.database.across_tenants() as tx:
            current = await store.lock(tx, record.tenant_id, record.id)
            if current is None or current.state is not AdoptionState.RUNNING:
                return False
            # An earlier run of this job may have written some of them.
            left = await store.lock_items(tx, record, work.items, (ItemState.PENDING,))
            new = [each for each in written if each.item.id in left]
            await store.adopt(tx, record, new, at=at)
            await store.refuse(tx, record, [each for each in refused if each.item.id in left], at=at)
            await store.wait(tx, record, _waited(work.items, waits, at), at=at)
            await record_changes(tx, [taken(record, each) for each in new])
        return True

    async def _release(self, work: _Page) -> Waits:
        """Remove the marks and records of a page.

        Returns the waiting items. An item that has waited too long is released, and its remaining mark is reported.
        Raises TryAgain if all items have to wait.
        """
        faults, now = await self.adoptions.unmark(work.markings(work.items)), self.now()
        # The directory rejects an item only if it no longer has it.
        kept = {item: fault for item, fault in zip(work.items, faults, strict=True) if isinstance(fault, TryAgain)}
        waits = {item.id: fault for item, fault in kept.items() if not has_timed_out(item, fault, now=now)}
        free = [item for item in work.items if item.id not in waits]
        record = work.record
        async with self.database.across_tenants() as tx:
            await store.lock(tx, record.tenant_id, record.id)
            left = await store.lock_items(tx, record, free, _LEFT[AdoptionState.UNDOING])
            now_free = [item for item in free if item.id in left]
            await store.release_objects(tx, record, now_free, at=now)
            await store.save_remaining_marks(
                tx, record, [RefusedItem(item, MARK_STAYS) for item in now_free if item in kept]
            )
            await record_changes(tx, [release_change(record, item) for item in now_free])
            await store.wait(tx, record, _waited(work.items, waits, now), at=now)
        return waits

    async def _mailboxes(self, work: _Page, items: Sequence[AdoptionItem]) -> list[Made]:
        references = [MailboxReference(work.tenant.id, work.extension, item.request_id, item.id) for item in items]
        shown = await self.directory.observe_mailboxes(references)
        return [self._mailbox(work, item, one) for item, one in zip(items, shown, strict=True)]

    def _mailbox(self, work: _Page, item: AdoptionItem, observed: ObservedMailbox | None) -> Made:
        if observed is None or work.template is None:
            return item, NOT_SHOWN
        if (conflict := conflict_of_marked(observed, work.template, work.tenant, unwritable=None)) is not None:
            return RefusedItem(item, conflict)
        mailbox_id, actor = MailboxId(self.new_id()), work.record.editor.actor
        return _require_same_names(
            item, to_adopted_mailbox(item, observed, work.template, actor=actor, mailbox_id=mailbox_id)
        )

    async def _groups(self, work: _Page, items: Sequence[AdoptionItem]) -> list[Made]:
        references = [
            GroupReference(work.tenant.id, work.extension, item.request_id, GroupId(item.id)) for item in items
        ]
        shown = await self.directory.observe(references)
        owners = frozenset([min(one.owners) for one in shown if one is not None and one.owners])
        answer = await self.people.look_up(PeopleQuestion(work.tenant.id, users=owners))
        names = {user: person.display_name for user, person in answer.people.items()}
        return [_group(work, item, one, names) for item, one in zip(items, shown, strict=True)]


# Item states with work left, and the final state, by the state of the adoption.
_LEFT: Mapping[AdoptionState, tuple[ItemState, ...]] = {
    AdoptionState.RUNNING: (ItemState.PENDING,),
    AdoptionState.UNDOING: (ItemState.PENDING, ItemState.ADOPTED),
}
_FINAL_STATES: Mapping[AdoptionState, AdoptionState] = {
    AdoptionState.RUNNING: AdoptionState.SUCCEEDED,
    AdoptionState.UNDOING: AdoptionState.UNDONE,
}


def _group(work: _Page, item: AdoptionItem, observed: ObservedGroup | None, names: Mapping[UserId, str]) -> Made:
    if item.id not in work.joined:
        return RefusedItem(item, GONE)
    if observed is None:
        return item, NOT_SHOWN
    rule = work.record.rule
    adopted = adopted_group(observed, rule.kind, rule.template_id, work.joined[item.id])
    if isinstance(adopted, AdoptionConflict):
        return RefusedItem(item, adopted)
    owner_name = names.get(adopted.owner, "")
    return _require_same_names(item, to_adopted_group(item, observed, adopted, kind=rule.kind, owner_name=owner_name))


def _require_same_names(item: AdoptionItem, adopted: AdoptedObject | AdoptionConflict) -> Made:
    """Refuse an item whose names have changed since the confirmation.

    New names are not reserved.
    """
    if isinstance(adopted, AdoptionConflict):
        return RefusedItem(item, adopted)
    return adopted if adopted.held <= item.held else RefusedItem(item, CHANGED)


def _waited(items: Sequence[AdoptionItem], waits: Waits, now: datetime) -> Mapping[UUID, Waited]:
    return {item.id: item.wait(waits[item.id], now=now) for item in items if item.id in waits}


def _group_conflict(fault: Rejected) -> AdoptionConflict:
    return AdoptionConflict(fault.code, fault.detail)


def _first_retry(faults: Sequence[OutsideFault | None]) -> TryAgain | None:
    """Return the shortest wait, if there is one."""
    waits = [fault for fault in faults if isinstance(fault, TryAgain)]
    return min(waits, key=lambda fault: fault.after) if waits else None


async def _mailbox_template(tx: Transaction, record: AdoptionRecord) -> MailboxTemplate | None:
    """Find the mailbox template at its confirmed revision. Returns None for groups."""
    if object_type_of(record.rule.kind) is ObjectType.GROUP:
        return None
    stored = await template_records.find_revision(
        tx, record.tenant_id, record.rule.template_id, record.template_revision
    )
    compiled = None if stored is None else template_records.mailbox_template(stored)
    if compiled is None:
        raise LookupError(f"Adoption {record.id} names a template revision that does not exist.")
    return compiled.template


JOBS = JobTable(AdoptionJobs, {JobKind.ADOPTION_RUN: AdoptionJobs.run})
