"""Records of adoptions: what was confirmed and how far it has come, and what is written for each that is taken."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from chamberlain.adoptions.models import AdoptionFilter, AdoptionRule, AdoptionState, Obstacle, Preview, object_type_of
from chamberlain.auth.models import Actor
from chamberlain.auth.models_edits import Editor
from chamberlain.changes.models import Change, Subject
from chamberlain.core.ids import AdoptionId, MailboxId, RequestId, TenantId, UserId
from chamberlain.core.values import Json
from chamberlain.requests.models import RequestResult, RequestState, TemplateReference
from chamberlain.requests.steps_timeline import Entry, EntryKind, StateEntry

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
