# SPDX-License-Identifier: Apache-2.0
"""Adoptions: put existing mailboxes and groups of the directory under management.

A rule is previewed first, with the matching objects and the conflicts of others. The digest of the preview makes sure
that the run takes the same objects.
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
from chamberlain.changes.models import Change, Event, EventType, Subject, actor_document, change_by
from chamberlain.core.errors import (
    Conflict,
    Fault,
    NotFound,
    NotPossible,
    OutsideFault,
    TryAgain,
)
from chamberlain.core.ids import AdoptionId, EventId, MailboxId, RequestId, TemplateId, TenantId, UserId
from chamberlain.core.values import Json
from chamberlain.core.waits import Waited, wait_longer
from chamberlain.directory.models import ObjectType
from chamberlain.directory.steps import Step
from chamberlain.mailboxes.rules import comparison_form
from chamberlain.requests.models import RequestResult, RequestState, TemplateReference
from chamberlain.requests.steps import Entry, EntryKind, StateEntry
from chamberlain.templates.models import TemplateHead, TemplateKind

# Objects of one adoption. Our choice: a run takes minutes, and larger sets can be split.
MAX_OBJECTS = 10_000
# So many of those who are taken, and of those who are not, are shown with their names.
MOST_SHOWN = 100


class AdoptionState(StrEnum):
    """The state of an adoption, in order. A state never goes back."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    UNDOING = "undoing"
    UNDONE = "undone"


class ItemState(StrEnum):
    """The state of an item: waiting, adopted, refused or released."""

    PENDING = "pending"
    ADOPTED = "adopted"
    REFUSED = "refused"
    RELEASED = "released"


def object_type_of(kind: TemplateKind) -> ObjectType:
    """Return the type of objects of a template.

    Raises ValueError for guest templates.
    """
    match kind:
        case TemplateKind.SHARED | TemplateKind.EQUIPMENT | TemplateKind.ROOM:
            return ObjectType.MAILBOX
        case TemplateKind.GROUP | TemplateKind.TEAM:
            return ObjectType.GROUP
        case TemplateKind.GUEST:
            raise ValueError("A guest template creates no objects to adopt.")


@dataclass(frozen=True, slots=True)
class AdoptionFilter:
    """Filter of objects. None matches any.

    `prefix` is the start of the name, the display name or the address. `domain` is that of the address. `ids` are those
    of the directory.
    """

    prefix: str | None = None
    domain: str | None = None
    ids: frozenset[UUID] | None = None


@dataclass(frozen=True, slots=True)
class AdoptionRule:
    """The objects to adopt and their template.

    `kind` is that of the template.
    """

    kind: TemplateKind
    template_id: TemplateId
    filter: AdoptionFilter = AdoptionFilter()


@dataclass(frozen=True, slots=True)
class AdoptionConflict:
    """A reason against adopting an object: a code, and a solution."""

    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """An object that matches the filter.

    `held` are its unique values by kind. `differences` are steps whose effect the object lacks, as far as known.
    """

    id: UUID
    display_name: str
    mail: str | None
    held: tuple[tuple[str, str], ...] = ()
    conflict: AdoptionConflict | None = None
    differences: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Preview:
    """The result of a rule at a moment."""

    rule: AdoptionRule
    template: TemplateHead
    taken: tuple[Candidate, ...]
    conflicts: tuple[tuple[Candidate, AdoptionConflict], ...]

    @property
    def digest(self) -> str:
        """Digest the objects to adopt, with the template."""
        head, chosen = self.template, self.rule.filter
        said: list[object] = [str(head.id), head.revision, chosen.prefix, chosen.domain]
        said.append(sorted(map(str, chosen.ids or ())))
        said.extend([str(one.id), one.display_name, one.mail, one.held, one.differences] for one in self.taken)
        return "sha256:" + hashlib.sha256(json.dumps(said).encode()).hexdigest()

    @property
    def conflict_counts(self) -> Mapping[str, int]:
        """Count the conflicts by code."""
        return dict(sorted(Counter(conflict.code for _, conflict in self.conflicts).items()))


def matches(chosen: AdoptionFilter, *, object_id: UUID, names: Collection[str], mail: str | None) -> bool:
    """Return whether a filter matches these names and this address."""
    if chosen.ids is not None and object_id not in chosen.ids:
        return False
    if chosen.domain is not None and (mail or "").rpartition("@")[2].lower() != chosen.domain.lower():
        return False
    if chosen.prefix is None:
        return True
    begins = comparison_form(chosen.prefix)
    return any(comparison_form(name).startswith(begins) for name in (*names, mail or ""))


def build_preview(
    rule: AdoptionRule, template: TemplateHead, candidates: Sequence[Candidate], *, given: Collection[tuple[str, str]]
) -> Preview:
    """Split the candidates into objects to adopt and conflicts.

    `given` are reserved names and addresses. Of two candidates with one name, the first by address wins.
    """
    ordered = sorted(candidates, key=lambda one: (one.mail or "", one.id))
    taken: list[Candidate] = []
    conflicts: list[tuple[Candidate, AdoptionConflict]] = []
    used = set(given)
    for one in ordered:
        conflict = one.conflict or next(_name_conflicts(one, used), None)
        if conflict is None:
            taken.append(one)
            used.update(one.held)
        else:
            conflicts.append((one, conflict))
    return Preview(rule, template, tuple(taken), tuple(conflicts))


def require_same_preview(preview: Preview, digest: str) -> None:
    """Validate that the preview is unchanged.

    Raises Conflict, and NotPossible for an invalid number of objects.
    """
    if preview.digest != digest:
        raise preview_changed()
    if not preview.taken:
        sentence = "This rule matches nothing that can be adopted. Send it with ?dryRun=true to see the conflicts."
        raise NotPossible((Fault.build("/filter", "nothingToAdopt", sentence),))
    if len(preview.taken) > MAX_OBJECTS:
        sentence = "This rule matches {actual} objects, and one adoption may have {max}. Narrow the filter."
        fault = Fault.build("/filter", "tooManyToAdopt", sentence, actual=len(preview.taken), max=MAX_OBJECTS)
        raise NotPossible((fault,))


def preview_changed() -> Conflict:
    """Build the error for a changed preview."""
    detail = "The preview of this rule has changed. Send it again with ?dryRun=true and check the result."
    return Conflict("previewChanged", detail)


def require_undoable(state: AdoptionState | None) -> None:
    """Validate that an adoption can be undone.

    Raises NotFound for None, and Conflict for its state.
    """
    match state:
        case None:
            raise NotFound("The adoption does not exist.")
        case AdoptionState.UNDOING | AdoptionState.UNDONE:
            detail = f"An adoption that is {state} cannot be undone. Only running or succeeded ones can."
            raise Conflict("stateDoesNotAllow", detail)
        case AdoptionState.RUNNING | AdoptionState.SUCCEEDED:
            return


ALREADY_MANAGED = AdoptionConflict("alreadyManaged", "It has the mark of a request and is managed already.")
CHANGED = AdoptionConflict("changedSince", "Its name or address has changed since the confirmation. Preview it again.")
NO_ANSWER = AdoptionConflict("noAnswer", "The directory has not marked it for a day. Preview it again.")
MARK_STAYS = AdoptionConflict("markStays", "The directory has not removed its mark for a day. Remove the mark there.")
GONE = AdoptionConflict("gone", "It is no longer in the directory.")


def type_differs(wanted: TemplateKind, shown: str) -> AdoptionConflict:
    """Build the conflict of an object of another type."""
    return AdoptionConflict(
        "typeDiffers", f"It is a {shown}, and the template is for a {wanted}. Use a template of its kind."
    )


def not_representable(why: str) -> AdoptionConflict:
    """Build the conflict of an object that no record can represent."""
    return AdoptionConflict("notRepresentable", f"A record cannot represent it. {why}")


def with_mark(conflict: AdoptionConflict) -> AdoptionConflict:
    """Add to a refusal that the directory keeps the mark."""
    return replace(conflict, detail=f"{conflict.detail} {MARK_STAYS.detail}")


def _name_conflicts(one: Candidate, used: Collection[tuple[str, str]]) -> Iterator[AdoptionConflict]:
    for kind, value in one.held:
        if (kind, value) in used:
            noun = "name" if kind == "name" else "address"
            cure = "Cancel the request that has it, or rename this object in the directory."
            yield AdoptionConflict(f"{noun}Taken", f'The {noun} "{value}" belongs to a managed object. {cure}')


# Noun of adoptions in the audit trail.
NOUN = "adoption"


@dataclass(frozen=True, slots=True)
class AdoptionRecord:
    """An adoption with its counts.

    `total` objects were confirmed. `adopted` counts them even if they changed later. `released` includes those that
    were overtaken by the undo. `extension_prefix` is the prefix of their marks, or None for that of the tenant.
    """

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
    """An object to adopt, with its directory id and its request.

    The request is that of its mark. `waits_since` is the start of a wait for the directory, `waited` its time by cause.
    `held` are its reserved values by kind.
    """

    id: UUID
    request_id: RequestId
    display_name: str
    mail: str
    held: frozenset[tuple[str, str]] = frozenset()
    waits_since: datetime | None = None
    waited: Waited | None = None

    def wait(self, fault: TryAgain, *, now: datetime) -> Waited:
        """Return the time by cause, with the wait for this fault."""
        return wait_longer(self.waited, fault, since=self.waits_since or now, now=now)


@dataclass(frozen=True, slots=True)
class RefusedItem:
    """A refused item with the reason.

    It may also be a released item whose mark stays.
    """

    item: AdoptionItem
    conflict: AdoptionConflict


@dataclass(frozen=True, slots=True)
class AdoptionView:
    """An adoption with its first hundred refused items."""

    record: AdoptionRecord
    refused: tuple[RefusedItem, ...]


@dataclass(frozen=True, slots=True)
class MailboxPart:
    """The row of a mailbox besides its request.

    `content` is the order with the defaults of the template, as JSON.
    """

    id: MailboxId
    name: str
    name_key: str
    alias: str | None
    content: bytes
    readers: frozenset[UserId]


@dataclass(frozen=True, slots=True)
class AdoptedObject:
    """The rows of an adopted object, as if `created_by` had requested it.

    `mailbox` is None for a group.
    """

    item: AdoptionItem
    display_name: str
    mail: str
    body: bytes
    created_by: Actor
    result: RequestResult
    mailbox: MailboxPart | None

    @property
    def held(self) -> frozenset[tuple[str, str]]:
        """Return the unique values by kind."""
        part = self.mailbox
        alias = None if part is None or part.alias is None else part.alias.lower()
        addresses = {("address", each) for each in (self.mail.lower(), alias) if each}
        return frozenset(addresses if part is None else {*addresses, ("name", part.name_key)})

    def timeline(self, at: datetime) -> tuple[Entry, ...]:
        """Return the timeline of its request, which has succeeded."""
        state = StateEntry(RequestState.SUCCEEDED, at, result=self.result)
        return (Entry(EntryKind.STATE, state=state),)


def new_record(preview: Preview, adoption_id: AdoptionId, editor: Editor, *, at: datetime) -> AdoptionRecord:
    """Build the record of a confirmed preview."""
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
    """Build the audit entry of a confirmation."""
    chosen = _written_filter(record.rule.filter)
    after: dict[str, Json] = {
        "state": record.state,
        "kind": record.rule.kind,
        "templateId": str(record.rule.template_id),
        "filter": chosen,
        "total": record.total,
    }
    return _change(record, "adoption.confirm", record.editor, before=None, after=after)


def undo_change(record: AdoptionRecord, editor: Editor, said: Mapping[str, str]) -> Change:
    """Build the audit entry of an undo."""
    after: dict[str, Json] = {"state": AdoptionState.UNDOING, **said}
    return _change(record, "adoption.undo", editor, before={"state": record.state}, after=after)


def taken(record: AdoptionRecord, adopted: AdoptedObject) -> Change:
    """Build the audit entry of an adopted object. It has no event."""
    after = {"adoptionId": str(record.id), "mail": adopted.mail}
    return _of_item(record, "adopt", adopted.item, after, record.editor)


def release_change(record: AdoptionRecord, item: AdoptionItem) -> Change:
    """Build the audit entry of a released object."""
    return _of_item(record, "release", item, {"adoptionId": str(record.id)}, record.undone_by or record.editor)


def _of_item(
    record: AdoptionRecord, verb: str, item: AdoptionItem, after: Mapping[str, Json], editor: Editor
) -> Change:
    noun = object_type_of(record.rule.kind)
    return change_by(
        editor,
        record.tenant_id,
        f"{noun}.{verb}",
        Subject(noun, item.id, item.display_name),
        before=None,
        after=after,
        request_id=item.request_id,
    )


def _change(
    record: AdoptionRecord, action: str, editor: Editor, *, before: Mapping[str, Json] | None, after: Mapping[str, Json]
) -> Change:
    return change_by(
        editor, record.tenant_id, action, Subject(NOUN, record.id, record.template.name), before=before, after=after
    )


def adoption_event(
    event_id: EventId, event_type: EventType, record: AdoptionRecord, changed_by: Actor, *, now: datetime
) -> Event:
    """Build the event of an adoption.

    It is confirmed, or undone with all its objects released.
    """
    return Event(
        id=event_id,
        type=event_type,
        timestamp=now,
        tenant_id=record.tenant_id,
        request_id=None,
        data={
            "adoption": {
                "id": str(record.id),
                "kind": str(record.rule.kind),
                "templateId": str(record.rule.template_id),
                "total": record.total,
            },
            "changedBy": actor_document(changed_by),
        },
    )


def _written_filter(chosen: AdoptionFilter) -> dict[str, Json]:
    ids: list[Json] = [str(each) for each in sorted(chosen.ids or ())]
    return {"q": chosen.prefix, "domain": chosen.domain, "ids": ids if chosen.ids is not None else None}


# Timeout of objects without an answer, for each cause. It applies again to the removal of their mark.
TIMEOUT = timedelta(days=1)
# Searches lag behind writes, so the lookup is retried.
NOT_SHOWN = TryAgain(timedelta(seconds=30), "The directory does not show it under its mark yet.")

# A waiting item, with the reason.
Waiting: TypeAlias = tuple[AdoptionItem, TryAgain]


def has_timed_out(item: AdoptionItem, fault: TryAgain, *, now: datetime, times: int = 1) -> bool:
    """Return whether the timeout has passed, once or several times.

    It counts the time of this cause. A broken connection and a budget have none.
    """
    if not fault.is_attempt:
        return False
    return item.wait(fault, now=now).spent(fault.cause) >= times * TIMEOUT


def after_wait(item: AdoptionItem, fault: TryAgain, *, now: datetime) -> RefusedItem | Waiting:
    """Decide on the retry of an unmarked or invisible object."""
    if has_timed_out(item, fault, now=now):
        return RefusedItem(item, GONE if fault is NOT_SHOWN else NO_ANSWER)
    return item, fault


def after_refusal(refused: RefusedItem, fault: OutsideFault | None, *, now: datetime) -> RefusedItem | Waiting:
    """Decide on the retry of removing the mark of a refused object.

    The timeout starts again.
    """
    if not isinstance(fault, TryAgain):
        return refused
    if has_timed_out(refused.item, fault, now=now, times=2):
        return replace(refused, conflict=with_mark(refused.conflict))
    return refused.item, fault
