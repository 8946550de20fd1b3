"""Adoptions: mailboxes and groups that were in the directory before are taken under management by a rule.

A rule is shown first: whom it would take, and what stands against the others. Carrying it out takes those who were
shown and nobody else, which the digest of what was shown is for.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from uuid import UUID

from chamberlain.core.errors import Conflict, Fault, NotFound, NotPossible
from chamberlain.core.ids import TemplateId
from chamberlain.directory.models_object_types import ObjectType
from chamberlain.directory.steps import Step
from chamberlain.mailboxes.names import comparison_form
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
