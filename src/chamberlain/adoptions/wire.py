# SPDX-License-Identifier: Apache-2.0
"""Adoptions and their previews as they are sent."""

from uuid import UUID

from msgspec import Struct

from chamberlain.adoptions.models import (
    MOST_SHOWN,
    AdoptionConflict,
    AdoptionRecord,
    AdoptionRule,
    AdoptionState,
    AdoptionView,
    Candidate,
    RefusedItem,
)
from chamberlain.adoptions.models import Preview as RulePreview
from chamberlain.changes.models import format_time
from chamberlain.directory.steps import Step
from chamberlain.http.wire import Actor, Time
from chamberlain.requests.wire import DryRunTemplate
from chamberlain.templates.models import TemplateKind


class AdoptionFilter(Struct, rename="camel", frozen=True):
    """Which were chosen; null is any."""

    q: str | None
    domain: str | None
    ids: tuple[UUID, ...] | None


class Adoptable(Struct, rename="camel", frozen=True):
    """An object to adopt, by its id in the directory.

    `differences` are steps of the template whose effect is missing. For a group they may be present.
    """

    id: UUID
    display_name: str
    mail: str | None
    differences: tuple[Step, ...]


class NotAdoptable(Struct, rename="camel", frozen=True):
    """One that is not taken, and why."""

    id: UUID
    display_name: str
    mail: str | None
    code: str
    detail: str


class PreviewCounts(Struct, rename="camel", frozen=True):
    """How many would be taken, and how many not for which reason."""

    taken: int
    conflicts: dict[str, int]


class AdoptionPreview(Struct, rename="camel", frozen=True):
    """The preview of a rule.

    `digest` covers all objects to adopt. `taken` and `conflicts` are the first hundred by address.
    """

    dry_run: bool
    kind: TemplateKind
    template: DryRunTemplate
    filter: AdoptionFilter
    digest: str
    counts: PreviewCounts
    taken: tuple[Adoptable, ...]
    conflicts: tuple[NotAdoptable, ...]


class AdoptionCounts(Struct, rename="camel", frozen=True):
    """The numbers of confirmed, adopted, refused and released objects."""

    total: int
    adopted: int
    refused: int
    released: int


class Adoption(Struct, rename="camel", frozen=True):
    """A rule that was confirmed, and how far it has come."""

    id: UUID
    kind: TemplateKind
    template: DryRunTemplate
    filter: AdoptionFilter
    state: AdoptionState
    counts: AdoptionCounts
    created_at: Time
    created_by: Actor
    updated_at: Time
    finished_at: Time | None


class WholeAdoption(Adoption, rename="camel", frozen=True):
    """An adoption with its first hundred refused items."""

    refused: tuple[NotAdoptable, ...]


class AdoptionPage(Struct, rename="camel", frozen=True):
    """Some adoptions, newest first; `nextCursor` is null on the last page."""

    items: tuple[Adoption, ...]
    next_cursor: str | None


def build_preview(preview: RulePreview) -> AdoptionPreview:
    """Encode a preview."""
    return AdoptionPreview(
        dry_run=True,
        kind=preview.rule.kind,
        template=DryRunTemplate(preview.template.id, preview.template.name),
        filter=_filter(preview.rule),
        digest=preview.digest,
        counts=PreviewCounts(len(preview.taken), dict(preview.conflict_counts)),
        taken=tuple([_adoptable(one) for one in preview.taken[:MOST_SHOWN]]),
        conflicts=tuple([_conflict(one, conflict) for one, conflict in preview.conflicts[:MOST_SHOWN]]),
    )


def adoption_of(record: AdoptionRecord) -> Adoption:
    """Encode an adoption for a list."""
    by = record.editor.actor
    return Adoption(
        id=record.id,
        kind=record.rule.kind,
        template=DryRunTemplate(record.template.id, record.template.name),
        filter=_filter(record.rule),
        state=record.state,
        counts=AdoptionCounts(record.total, record.adopted, record.refused, record.released),
        created_at=format_time(record.created_at),
        created_by=Actor(by.type, by.id, by.display_name),
        updated_at=format_time(record.updated_at),
        finished_at=None if record.finished_at is None else format_time(record.finished_at),
    )


def whole_adoption_of(view: AdoptionView) -> WholeAdoption:
    """Encode an adoption with its refused items."""
    listed = {name: getattr(adoption_of(view.record), name) for name in Adoption.__struct_fields__}
    return WholeAdoption(**listed, refused=tuple(map(_refused, view.refused)))


def _filter(rule: AdoptionRule) -> AdoptionFilter:
    chosen = rule.filter
    return AdoptionFilter(chosen.prefix, chosen.domain, None if chosen.ids is None else tuple(sorted(chosen.ids)))


def _adoptable(one: Candidate) -> Adoptable:
    return Adoptable(one.id, one.display_name, one.mail, one.differences)


def _conflict(one: Candidate, conflict: AdoptionConflict) -> NotAdoptable:
    return NotAdoptable(one.id, one.display_name, one.mail, conflict.code, conflict.detail)


def _refused(refused: RefusedItem) -> NotAdoptable:
    item, conflict = refused.item, refused.conflict
    return NotAdoptable(item.id, item.display_name, item.mail or None, conflict.code, conflict.detail)
