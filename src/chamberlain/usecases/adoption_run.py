"""Carry adoptions out, and undo them, page by page: marks in the directory, then the records.

Running it twice is boring: which request each one belongs to was written down when it was confirmed, a mark that is
there stays, and a page is written together with what is done of it.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias
from uuid import UUID

from chamberlain.directory.port import Adoptions, Directory, Marking, People
from chamberlain.rules.adopted_groups import adopted_group
from chamberlain.rules.adopted_mailboxes import obstacle_of_marked, order_of_mailbox
from chamberlain.rules.adoption_records import (
    AdoptedObject,
    AdoptionItem,
    AdoptionRecord,
    MailboxPart,
    RefusedItem,
    given_back,
    taken,
)
from chamberlain.rules.adoptions import (
    CHANGED,
    GONE,
    NO_ANSWER,
    AdoptionState,
    ItemState,
    ObjectType,
    Obstacle,
    object_type_of,
)
from chamberlain.rules.callers import Actor, ActorType
from chamberlain.rules.errors import BodyInvalid, OutsideFault, Rejected, TryAgain
from chamberlain.rules.groups import GroupReference, MemberShipType, ObservedGroup
from chamberlain.rules.ids import AdoptionId, GroupId, MailboxId, RequestId, TenantId, UserId
from chamberlain.rules.jobs import Claim, Job, Postponed
from chamberlain.rules.mailbox_drafts import readers_of
from chamberlain.rules.mailbox_names import alias_of, comparison_form
from chamberlain.rules.mailbox_records import mailbox_result
from chamberlain.rules.mailbox_templates import MailboxTemplate, completed
from chamberlain.rules.mailboxes import MailboxReference, ObservedMailbox
from chamberlain.rules.people import PeopleQuestion
from chamberlain.rules.requests import RequestResult
from chamberlain.rules.tenants import Tenant
from chamberlain.shapes.groups import read_group_order, write_group_order
from chamberlain.shapes.mailboxes import read_mailbox_order, write_mailbox_order
from chamberlain.store import adopted_objects, adoptions, changes, jobs, subjects, templates, tenants
from chamberlain.store.database import Database, Transaction

# So many are marked and written together, so that little is done twice by whoever takes over.
PAGE = 50
# So many pages at a time, so that every tenant has its turn.
PAGES = 20
AT_ONCE = timedelta(0)
# What the directory does not answer for, or does not show, for so long is refused.
PATIENCE = timedelta(days=1)
# A search is often behind what was just written.
NOT_SHOWN = TryAgain(timedelta(seconds=30), "The directory does not show it under its mark yet.")

# What has to wait, and what for.
Waiting: TypeAlias = tuple[AdoptionItem, TryAgain]
Waits: TypeAlias = Mapping[UUID, TryAgain]
# What came of one that carries its mark.
Made: TypeAlias = AdoptedObject | RefusedItem | Waiting


@dataclass(frozen=True, slots=True)
class _Work:
    """An adoption with its tenant, and those whom this page is about. `template` is that of mailboxes; `joined` says
    how people join the groups."""

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
class RunAdoptions:
    """Works as the worker's role, on all tenants. `page` is how many are taken together."""

    database: Database
    adoptions: Adoptions
    directory: Directory
    people: People
    new_id: Callable[[], UUID]
    now: Callable[[], datetime]
    page: int = PAGE

    async def __call__(self, claim: Claim) -> None:
        """Raises Unavailable; the jobs are then taken up again when their lease ends."""
        for job in claim.jobs:
            await self._run(claim, job)

    async def _run(self, claim: Claim, job: Job) -> None:
        after, waits = AT_ONCE, dict[UUID, TryAgain]()
        for _ in range(PAGES):
            work = await self._load(job, waits)
            if work is not None and not work.items and waits:
                after = min(fault.after for fault in waits.values())
                break
            if work is None or not work.items:
                if await self._end(claim, job, work):
                    return
                # Somebody has had it undone just now.
                continue
            try:
                takes = work.record.state is AdoptionState.RUNNING
                waits |= await (self._take(work) if takes else self._release(work))
            except TryAgain as fault:
                after = fault.after
                break
        async with self.database.across_tenants() as tx:
            await jobs.postpone(tx, claim.lease_id, [Postponed(job.id, after)])

    async def _load(self, job: Job, waits: Waits) -> _Work | None:
        """What is to be done next, without those that are waited for; None when there is nothing of it any more."""
        async with self.database.across_tenants() as tx:
            record = await adoptions.find(tx, job.tenant_id, AdoptionId(job.subject))
            tenant = await tenants.find(tx, job.tenant_id)
            if record is None or tenant is None or record.state not in _LEFT:
                return None
            items = tuple(await adoptions.find_items(tx, record, _LEFT[record.state], self.page, but=waits))
            template = await _mailbox_template(tx, record)
            joined = await _joined(tx, record.tenant_id, items) if template is None else {}
        return _Work(record, tenant, items, template, joined)

    async def _end(self, claim: Claim, job: Job, work: _Work | None) -> bool:
        """End the job with its adoption; False when the adoption has moved meanwhile."""
        at = self.now()
        async with self.database.across_tenants() as tx:
            if work is not None:
                ended = _ENDS[work.record.state]
                if await adoptions.move(tx, work.record, ended, at=at, finished_at=at) is None:
                    return False
            await jobs.complete(tx, claim.lease_id, [job.id])
        return True

    async def _take(self, work: _Work) -> Waits:
        """Mark a page and write its records; gives those that have to wait. Raises TryAgain when all have to."""
        faults = await self.adoptions.mark(work.markings(work.items))
        marked = [item for item, fault in zip(work.items, faults, strict=True) if fault is None]
        made = await (self._mailboxes(work, marked) if work.template else self._groups(work, marked))
        ends: list[Made] = [
            RefusedItem(item, Obstacle(fault.code, fault.detail))
            for item, fault in zip(work.items, faults, strict=True)
            if isinstance(fault, Rejected)
        ]
        made += [(item, fault) for item, fault in zip(work.items, faults, strict=True) if isinstance(fault, TryAgain)]
        made = await self._as_confirmed(work, made)
        ends += [self._end_of(*each) if isinstance(each, tuple) else each for each in made]
        await self._unmark(work, [each.item for each in ends if isinstance(each, RefusedItem) and each.item in marked])
        written = [each for each in ends if isinstance(each, AdoptedObject)]
        waits = {each[0].id: each[1] for each in ends if isinstance(each, tuple)}
        refused = [each for each in ends if isinstance(each, RefusedItem)]
        if await self._record(work, written, refused, waits):
            return waits
        await self._unmark(work, marked)
        return {}

    def _end_of(self, item: AdoptionItem, fault: TryAgain) -> RefusedItem | Waiting:
        """What becomes of one that the directory does not mark or show yet: nobody waits for ever."""
        if item.waits_since is None or self.now() - item.waits_since < PATIENCE:
            return item, fault
        return RefusedItem(item, GONE if fault is NOT_SHOWN else NO_ANSWER)

    async def _as_confirmed(self, work: _Work, made: Sequence[Made]) -> list[Made]:
        """The same, without those who are not called as they were when it was confirmed: their names are not theirs."""
        pairs = {pair for each in made if isinstance(each, AdoptedObject) for pair in each.held}
        async with self.database.across_tenants() as tx:
            held = await adoptions.held(tx, work.record.tenant_id, pairs)
        return [_unless_changed(each, held) if isinstance(each, AdoptedObject) else each for each in made]

    async def _unmark(self, work: _Work, items: Sequence[AdoptionItem]) -> None:
        """Take marks away that must not stay. Raises TryAgain when one of them has to wait."""
        if (later := _soonest(await self.adoptions.unmark(work.markings(items)))) is not None:
            raise later

    async def _record(
        self, work: _Work, written: Sequence[AdoptedObject], refused: Sequence[RefusedItem], waits: Waits
    ) -> bool:
        """Write what came of a page; False when it is being undone, or was: then nothing of it may stay."""
        record, at = work.record, self.now()
        async with self.database.across_tenants() as tx:
            current = await adoptions.hold(tx, record.tenant_id, record.id)
            if current is None or current.state is not AdoptionState.RUNNING:
                return False
            # Whoever had the job before us may have written some of it after all.
            left = await adoptions.left_of(tx, record, work.items, (ItemState.PENDING,))
            new = [each for each in written if each.item.id in left]
            await adopted_objects.adopt(tx, record, new, at=at)
            await adoptions.refuse(tx, record, [each for each in refused if each.item.id in left], at=at)
            await adoptions.wait(tx, record, waits, at=at)
            await changes.record_all(tx, [taken(record, each) for each in new])
        return True

    async def _release(self, work: _Work) -> Waits:
        """Take marks and records of a page away; gives those that have to wait. Raises TryAgain when all have to."""
        faults = await self.adoptions.unmark(work.markings(work.items))
        # What the directory refuses to unmark it does not have any more.
        bare = [item for item, fault in zip(work.items, faults, strict=True) if not isinstance(fault, TryAgain)]
        record, at = work.record, self.now()
        async with self.database.across_tenants() as tx:
            await adoptions.hold(tx, record.tenant_id, record.id)
            left = await adoptions.left_of(tx, record, bare, _LEFT[AdoptionState.UNDOING])
            now_free = [item for item in bare if item.id in left]
            await adopted_objects.release(tx, record, now_free, at=at)
            await changes.record_all(tx, [given_back(record, item) for item in now_free])
            waits = {
                item.id: fault for item, fault in zip(work.items, faults, strict=True) if isinstance(fault, TryAgain)
            }
            await adoptions.wait(tx, record, waits, at=at)
        return waits

    async def _mailboxes(self, work: _Work, items: Sequence[AdoptionItem]) -> list[Made]:
        references = [MailboxReference(work.tenant.id, work.extension, item.request_id) for item in items]
        shown = await self.directory.observe_mailboxes(references)
        return [self._mailbox(work, item, one) for item, one in zip(items, shown, strict=True)]

    def _mailbox(self, work: _Work, item: AdoptionItem, observed: ObservedMailbox | None) -> Made:
        template, actor = work.template, work.record.editor.actor
        if observed is None or template is None:
            return item, NOT_SHOWN
        if (obstacle := obstacle_of_marked(observed, template, work.tenant, unwritable=None)) is not None:
            return RefusedItem(item, obstacle)
        order = order_of_mailbox(observed, template.head.id)
        whole = completed(order, template)
        body, mailbox_id = write_mailbox_order(order), MailboxId(self.new_id())
        try:
            read_mailbox_order(body)
        except BodyInvalid as error:
            return _unwritable(item, error)
        creator = UserId(actor.id) if actor.type is ActorType.USER and actor.id is not None else None
        part = MailboxPart(
            id=mailbox_id,
            name=observed.name,
            name_key=comparison_form(observed.name),
            alias=alias_of(order, observed.type, observed.mail.rpartition("@")[2]),
            content=write_mailbox_order(whole),
            readers=readers_of(whole, creator),
        )
        result = mailbox_result(mailbox_id, observed)
        return AdoptedObject(item, observed.display_name, observed.mail, body, actor, result, part)

    async def _groups(self, work: _Work, items: Sequence[AdoptionItem]) -> list[Made]:
        references = [GroupReference(work.tenant.id, work.extension, item.request_id) for item in items]
        shown = await self.directory.observe(references)
        owners = frozenset([min(one.owners) for one in shown if one is not None and one.owners])
        answer = await self.people.look_up(PeopleQuestion(work.tenant.id, users=owners))
        names = {user: person.display_name for user, person in answer.people.items()}
        return [_group(work, item, one, names) for item, one in zip(items, shown, strict=True)]


# Those of an adoption that something is left to be done about, by its state; and what it becomes when there are none.
_LEFT: Mapping[AdoptionState, tuple[ItemState, ...]] = {
    AdoptionState.RUNNING: (ItemState.PENDING,),
    AdoptionState.UNDOING: (ItemState.PENDING, ItemState.ADOPTED),
}
_ENDS: Mapping[AdoptionState, AdoptionState] = {
    AdoptionState.RUNNING: AdoptionState.SUCCEEDED,
    AdoptionState.UNDOING: AdoptionState.UNDONE,
}


def _group(work: _Work, item: AdoptionItem, observed: ObservedGroup | None, names: Mapping[UserId, str]) -> Made:
    if item.id not in work.joined:
        return RefusedItem(item, GONE)
    if observed is None:
        return item, NOT_SHOWN
    rule = work.record.rule
    adopted = adopted_group(observed, rule.kind, rule.template_id, work.joined[item.id])
    if isinstance(adopted, Obstacle):
        return RefusedItem(item, adopted)
    body = write_group_order(adopted.order)
    try:
        read_group_order(body)
    except BodyInvalid as error:
        return _unwritable(item, error)
    owner = Actor(ActorType.USER, adopted.owner, names.get(adopted.owner, ""))
    result = RequestResult(work.record.rule.kind, observed.id, observed.display_name, observed.mail)
    return AdoptedObject(item, observed.display_name, observed.mail, body, owner, result, None)


def _unless_changed(
    adopted: AdoptedObject, held: Collection[tuple[str, str, RequestId]]
) -> AdoptedObject | RefusedItem:
    item = adopted.item
    is_same = all((kind, value, item.request_id) in held for kind, value in adopted.held)
    return adopted if is_same else RefusedItem(item, CHANGED)


def _unwritable(item: AdoptionItem, error: BodyInvalid) -> RefusedItem:
    return RefusedItem(
        item, Obstacle("notRepresentable", f"A record cannot hold what it shows. {error.faults[0].detail}")
    )


def _soonest(faults: Sequence[OutsideFault | None]) -> TryAgain | None:
    """The shortest of the waits, if any has to wait."""
    waits = [fault for fault in faults if isinstance(fault, TryAgain)]
    return min(waits, key=lambda fault: fault.after) if waits else None


async def _mailbox_template(tx: Transaction, record: AdoptionRecord) -> MailboxTemplate | None:
    """The template of mailboxes as it was when the adoption was confirmed; None for one of groups."""
    if object_type_of(record.rule.kind) is ObjectType.GROUP:
        return None
    stored = await templates.find_revision(tx, record.tenant_id, record.rule.template_id, record.template_revision)
    compiled = None if stored is None else templates.mailbox_template(stored)
    if compiled is None:
        raise LookupError(f"Adoption {record.id} names a revision of a template that is not there.")
    return compiled.template


async def _joined(tx: Transaction, tenant_id: TenantId, items: Sequence[AdoptionItem]) -> Mapping[UUID, MemberShipType]:
    """How people join those of these groups that are known still."""
    return await subjects.member_ship_types(tx, tenant_id, [GroupId(item.id) for item in items])
