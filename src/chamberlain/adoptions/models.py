"""Adoptions: mailboxes and groups that were in the directory before are taken under management by a rule.

A rule is shown first: whom it would take, and what stands against the others. Carrying it out takes those who were
shown and nobody else, which the digest of what was shown is for.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeAlias
from uuid import UUID

from chamberlain.auth.models import Actor, Editor
from chamberlain.changes.models import Change, Subject
from chamberlain.core.errors import Conflict, Fault, NotFound, NotPossible, OutsideFault, TryAgain
from chamberlain.core.ids import AdoptionId, MailboxId, RequestId, TemplateId, TenantId, UserId
from chamberlain.core.values import Json
from chamberlain.directory.models import ObjectType
from chamberlain.directory.steps import Step
from chamberlain.mailboxes.names import comparison_form
from chamberlain.requests.models import RequestResult, RequestState, TemplateReference
from chamberlain.requests.steps import Entry, EntryKind, StateEntry
from chamberlain.templates.models import TemplateHead, TemplateKind

# What one rule may take. Ours: so many are carried out within minutes, and who takes more can do it in parts.
MOST_TAKEN = 10_000
# So many of those who are taken, and of those who are not, are shown with their names.
MOST_SHOWN = 100


class AdoptionState(StrEnum):
    """Where an adoption stands; none goes back to one that stands above."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    UNDOING = "undoing"
    UNDONE = "undone"


class ItemState(StrEnum):
    """Where one that is to be taken stands: it is waited for, taken, could not be taken, or was given back."""

    PENDING = "pending"
    ADOPTED = "adopted"
    REFUSED = "refused"
    RELEASED = "released"


def object_type_of(kind: TemplateKind) -> ObjectType:
    """What a template of this kind makes. Raises ValueError for one of guests, which makes nothing."""
    match kind:
        case TemplateKind.SHARED | TemplateKind.EQUIPMENT | TemplateKind.ROOM:
            return ObjectType.MAILBOX
        case TemplateKind.GROUP | TemplateKind.TEAM:
            return ObjectType.GROUP
        case TemplateKind.GUEST:
            raise ValueError("A guest template makes nothing that could be adopted.")


@dataclass(frozen=True, slots=True)
class AdoptionFilter:
    """Which of all there are; None is any. `prefix` is how the name, the display name or the address begins, `domain`
    what stands behind the @ of the address, and `ids` are those that the directory knows them by."""

    prefix: str | None = None
    domain: str | None = None
    ids: frozenset[UUID] | None = None


@dataclass(frozen=True, slots=True)
class AdoptionRule:
    """Whom to take, and the template by which they are managed from then on. `kind` is that of the template."""

    kind: TemplateKind
    template_id: TemplateId
    filter: AdoptionFilter = AdoptionFilter()


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why one is not taken: a stable code, and a sentence that says what to do."""

    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """One that the filter names. `held` is what must be its own among all that is managed, by kind and value;
    `differences` are the steps whose effect it does not show, as far as that is known before it is taken."""

    id: UUID
    display_name: str
    mail: str | None
    held: tuple[tuple[str, str], ...] = ()
    obstacle: Obstacle | None = None
    differences: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Preview:
    """What a rule comes to at one moment."""

    rule: AdoptionRule
    template: TemplateHead
    taken: tuple[Candidate, ...]
    conflicts: tuple[tuple[Candidate, Obstacle], ...]

    @property
    def digest(self) -> str:
        """Names what would be taken: the same for the same ones under the same template."""
        head, chosen = self.template, self.rule.filter
        said: list[object] = [str(head.id), head.revision, chosen.prefix, chosen.domain]
        said.append(sorted(map(str, chosen.ids or ())))
        said.extend([str(one.id), one.display_name, one.mail, one.held, one.differences] for one in self.taken)
        return "sha256:" + hashlib.sha256(json.dumps(said).encode()).hexdigest()

    @property
    def conflict_counts(self) -> Mapping[str, int]:
        """How many are not taken for which reason, by its code."""
        return dict(sorted(Counter(obstacle.code for _, obstacle in self.conflicts).items()))


def is_chosen(chosen: AdoptionFilter, *, object_id: UUID, names: Collection[str], mail: str | None) -> bool:
    """Whether a filter names somebody who is called so."""
    if chosen.ids is not None and object_id not in chosen.ids:
        return False
    if chosen.domain is not None and (mail or "").rpartition("@")[2].lower() != chosen.domain.lower():
        return False
    if chosen.prefix is None:
        return True
    begins = comparison_form(chosen.prefix)
    return any(comparison_form(name).startswith(begins) for name in (*names, mail or ""))


def preview_of(
    rule: AdoptionRule, template: TemplateHead, candidates: Sequence[Candidate], *, given: Collection[tuple[str, str]]
) -> Preview:
    """Who of the candidates is taken and who is not. `given` are the names and addresses that are given away already;
    of two candidates with one name, the first by address has it."""
    ordered = sorted(candidates, key=lambda one: (one.mail or "", one.id))
    taken: list[Candidate] = []
    conflicts: list[tuple[Candidate, Obstacle]] = []
    used = set(given)
    for one in ordered:
        obstacle = one.obstacle or next(_taken_names(one, used), None)
        if obstacle is None:
            taken.append(one)
            used.update(one.held)
        else:
            conflicts.append((one, obstacle))
    return Preview(rule, template, tuple(taken), tuple(conflicts))


def require_as_shown(preview: Preview, digest: str) -> None:
    """Raises Conflict when others would be taken than were shown, and NotPossible when they are too many or none."""
    if preview.digest != digest:
        raise changed_since()
    if not preview.taken:
        detail = "This rule takes nothing. Ask for it with ?dryRun=true: it says what stands against each."
        raise NotPossible((Fault("/filter", "nothingToAdopt", detail),))
    if len(preview.taken) > MOST_TAKEN:
        detail = f"This rule takes {len(preview.taken)}; one adoption may take {MOST_TAKEN}. Narrow the filter."
        raise NotPossible((Fault("/filter", "tooManyToAdopt", detail),))


def changed_since() -> Conflict:
    """What to say when what was shown is not what would be taken."""
    detail = "What this rule takes has changed since it was shown. Ask for it again with ?dryRun=true, and look at it."
    return Conflict("previewChanged", detail)


def require_undoable(state: AdoptionState | None) -> None:
    """Raises NotFound when there is no such adoption (None), and Conflict when it is undone, or about to be."""
    match state:
        case None:
            raise NotFound("There is no such adoption. The list has those that there are.")
        case AdoptionState.UNDOING | AdoptionState.UNDONE:
            detail = f"An adoption that is {state} cannot be undone; only one that is running or succeeded."
            raise Conflict("stateDoesNotAllow", detail)
        case AdoptionState.RUNNING | AdoptionState.SUCCEEDED:
            return


ALREADY_MANAGED = Obstacle("alreadyManaged", "It carries the mark of a request already, and is managed under that.")
CHANGED = Obstacle(
    "changedSince", "It has another name or address than when it was confirmed. Look at it again, and take it then."
)
NO_ANSWER = Obstacle("noAnswer", "The directory has not marked it for a day. Look at it again, and take it then.")
MARK_STAYS = Obstacle("markStays", "The directory has not taken its mark away for a day. Take it away there.")
GONE = Obstacle("gone", "The directory does not have it any more.")


def type_differs(wanted: TemplateKind, shown: str) -> Obstacle:
    """What to say of one that the template does not make."""
    return Obstacle("typeDiffers", f"It is a {shown}, and the template makes a {wanted}. Use a template of its kind.")


def not_representable(why: str) -> Obstacle:
    """What to say of one that shows what no record can hold."""
    return Obstacle("notRepresentable", f"A record cannot hold what it shows. {why}")


def with_mark(obstacle: Obstacle) -> Obstacle:
    """What to say of one that is not taken, and whose mark the directory does not take away."""
    return replace(obstacle, detail=f"{obstacle.detail} {MARK_STAYS.detail}")


def _taken_names(one: Candidate, used: Collection[tuple[str, str]]) -> Iterator[Obstacle]:
    for kind, value in one.held:
        if (kind, value) in used:
            noun = "name" if kind == "name" else "address"
            cure = "Cancel what has it, or have this one called otherwise in the directory."
            yield Obstacle(f"{noun}Taken", f'The {noun} "{value}" is given away to something managed already. {cure}')


# What the audit trail keeps of an adoption as a whole.
NOUN = "adoption"


@dataclass(frozen=True, slots=True)
class AdoptionRecord:
    """An adoption whole. `total` were shown and confirmed; of those, so many were adopted, whatever became of them
    since, could not be, or were given back, those included that undoing has overtaken. `extension_prefix` is under
    which their marks stand, None for that of the tenant; `undone_by` who had it undone."""

    id: AdoptionId
    tenant_id: TenantId
    rule: AdoptionRule
    template: TemplateReference
    template_revision: int
    state: AdoptionState
    total: int
    adopted: int
    refused: int
    released: int
    editor: Editor
    created_at: datetime
    updated_at: datetime
    finished_at: datetime | None
    extension_prefix: str | None = None
    undone_by: Editor | None = None


@dataclass(frozen=True, slots=True)
class AdoptionItem:
    """One that is taken, by the id that the directory knows it by, and the request whose mark it carries. The directory
    has kept it waiting since `waits_since`. `held` is what is reserved for it, by kind and value."""

    id: UUID
    request_id: RequestId
    display_name: str
    mail: str
    held: frozenset[tuple[str, str]] = frozenset()
    waits_since: datetime | None = None


@dataclass(frozen=True, slots=True)
class RefusedItem:
    """One that was to be taken and could not be, and why; or one that was given back, and why its mark has stayed."""

    item: AdoptionItem
    obstacle: Obstacle


@dataclass(frozen=True, slots=True)
class AdoptionView:
    """An adoption with the first hundred of those that could not be taken, or whose mark has stayed."""

    record: AdoptionRecord
    refused: tuple[RefusedItem, ...]


@dataclass(frozen=True, slots=True)
class MailboxPart:
    """What stands in the records of a mailbox beside its request. `content` is the order with the template's defaults,
    as JSON."""

    id: MailboxId
    name: str
    name_key: str
    alias: str | None
    content: bytes
    readers: frozenset[UserId]


@dataclass(frozen=True, slots=True)
class AdoptedObject:
    """What is written for one that is taken, as if `created_by` had asked for it by this body. `mailbox` is None for a
    group."""

    item: AdoptionItem
    display_name: str
    mail: str
    body: bytes
    created_by: Actor
    result: RequestResult
    mailbox: MailboxPart | None

    @property
    def held(self) -> frozenset[tuple[str, str]]:
        """What must be its own, by kind and value."""
        part = self.mailbox
        alias = None if part is None or part.alias is None else part.alias.lower()
        addresses = {("address", each) for each in (self.mail.lower(), alias) if each}
        return frozenset(addresses if part is None else {*addresses, ("name", part.name_key)})

    def timeline(self, at: datetime) -> tuple[Entry, ...]:
        """What whoever watches the request is told: it has succeeded."""
        state = StateEntry(RequestState.SUCCEEDED, at, result=self.result)
        return (Entry(EntryKind.STATE, state=state),)


def new_record(preview: Preview, adoption_id: AdoptionId, editor: Editor, *, at: datetime) -> AdoptionRecord:
    """The record of a preview that was confirmed just now."""
    return AdoptionRecord(
        id=adoption_id,
        tenant_id=preview.template.tenant_id,
        rule=preview.rule,
        template=TemplateReference(preview.template.id, preview.template.name),
        template_revision=preview.template.revision,
        state=AdoptionState.RUNNING,
        total=len(preview.taken),
        adopted=0,
        refused=0,
        released=0,
        editor=editor,
        created_at=at,
        updated_at=at,
        finished_at=None,
    )


def confirmed(record: AdoptionRecord) -> Change:
    """The record of a confirmation."""
    chosen = _written_filter(record.rule.filter)
    after: dict[str, Json] = {
        "state": record.state,
        "kind": record.rule.kind,
        "templateId": str(record.rule.template_id),
        "filter": chosen,
        "total": record.total,
    }
    return _change(record, "adoption.confirm", record.editor, before=None, after=after)


def undone(record: AdoptionRecord, editor: Editor, said: Mapping[str, str]) -> Change:
    """The record of somebody who has it undone; `said` is what they said to it."""
    after: dict[str, Json] = {"state": AdoptionState.UNDOING, **said}
    return _change(record, "adoption.undo", editor, before={"state": record.state}, after=after)


def taken(record: AdoptionRecord, adopted: AdoptedObject) -> Change:
    """The record of one that is managed from now on; nobody is told by an event."""
    after = {"adoptionId": str(record.id), "mail": adopted.mail}
    return _of_item(record, "adopt", adopted.item, after, record.editor)


def given_back(record: AdoptionRecord, item: AdoptionItem) -> Change:
    """The record of one that is not managed any more."""
    return _of_item(record, "release", item, {"adoptionId": str(record.id)}, record.undone_by or record.editor)


def _of_item(
    record: AdoptionRecord, verb: str, item: AdoptionItem, after: Mapping[str, Json], editor: Editor
) -> Change:
    noun = object_type_of(record.rule.kind)
    return Change(
        tenant_id=record.tenant_id,
        action=f"{noun}.{verb}",
        actor=editor.actor,
        client_id=editor.client_id,
        subject=Subject(noun, item.id, item.display_name),
        before=None,
        after=after,
        request_id=item.request_id,
        trace_id=editor.trace_id,
        client_address=editor.client_address,
    )


def _change(
    record: AdoptionRecord, action: str, editor: Editor, *, before: Mapping[str, Json] | None, after: Mapping[str, Json]
) -> Change:
    return Change(
        tenant_id=record.tenant_id,
        action=action,
        actor=editor.actor,
        client_id=editor.client_id,
        subject=Subject(NOUN, record.id, record.template.name),
        before=before,
        after=after,
        request_id=None,
        trace_id=editor.trace_id,
        client_address=editor.client_address,
    )


def _written_filter(chosen: AdoptionFilter) -> dict[str, Json]:
    ids: list[Json] = [str(each) for each in sorted(chosen.ids or ())]
    return {"q": chosen.prefix, "domain": chosen.domain, "ids": ids if chosen.ids is not None else None}


# What the directory does not answer for, or does not show, for so long is refused; and so long it may keep a mark.
PATIENCE = timedelta(days=1)
# A search is often behind what was just written.
NOT_SHOWN = TryAgain(timedelta(seconds=30), "The directory does not show it under its mark yet.")

# What has to wait, and what for.
Waiting: TypeAlias = tuple[AdoptionItem, TryAgain]


def has_waited(item: AdoptionItem, *, now: datetime, times: int = 1) -> bool:
    """Whether the directory has had its time, or so many times that."""
    return item.waits_since is not None and now - item.waits_since >= times * PATIENCE


def end_of_wait(item: AdoptionItem, fault: TryAgain, *, now: datetime) -> RefusedItem | Waiting:
    """What becomes of one that the directory does not mark or show yet."""
    if has_waited(item, now=now):
        return RefusedItem(item, GONE if fault is NOT_SHOWN else NO_ANSWER)
    return item, fault


def end_of_refused(refused: RefusedItem, fault: OutsideFault | None, *, now: datetime) -> RefusedItem | Waiting:
    """What becomes of one that is refused, when this came of taking its mark away. It may have waited to be shown
    before, and waits as long again."""
    if not isinstance(fault, TryAgain):
        return refused
    if has_waited(refused.item, now=now, times=2):
        return replace(refused, obstacle=with_mark(refused.obstacle))
    return refused.item, fault
