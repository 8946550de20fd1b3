"""Pages of a check for drift: what was seen of some things, what is done about it, and what is told and remembered."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeAlias
from uuid import UUID

from chamberlain.rules.callers import Actor, ActorType
from chamberlain.rules.changes import Change, Subject
from chamberlain.rules.drift import Difference, assignment_differences, group_differences, mailbox_differences
from chamberlain.rules.drift_checks import (
    Managed,
    ManagedAssignment,
    ManagedGroup,
    ManagedMailbox,
    does_not_hold,
    drift_found,
)
from chamberlain.rules.drift_properties import DriftProperty, Treatment, treatment_of
from chamberlain.rules.drift_repairs import (
    NOTHING_KNOWN,
    Judgement,
    RepairRecord,
    Standing,
    Verdict,
    judge,
    remembered,
)
from chamberlain.rules.errors import OutsideFault, Rejected, TryAgain
from chamberlain.rules.findings import Found, Settled
from chamberlain.rules.groups import ObservedGroup
from chamberlain.rules.ids import TraceId
from chamberlain.rules.mailboxes import ObservedMailbox
from chamberlain.rules.requests import RequestKind
from chamberlain.rules.subjects import ObservedSubject
from chamberlain.rules.tenants import Tenant

# A property of a mailbox, group or site.
Place: TypeAlias = tuple[UUID, str]
Observed = ObservedMailbox | ObservedGroup | ObservedSubject

# Who puts things right, on the audit trail.
DRIFT = Actor(ActorType.SYSTEM, None, "Drift")


@dataclass(frozen=True, slots=True)
class Look:
    """One thing as it is wanted and shown, with what of it differs and is not ignored."""

    managed: Managed
    observed: Observed | None
    differences: tuple[Difference, ...]

    @property
    def id(self) -> UUID:
        """The mailbox, group or site."""
        return self.managed.subject.id


# What is to be put right of one thing.
Broken = tuple[Look, Sequence[Difference]]


@dataclass(frozen=True, slots=True)
class Judged:
    """A difference with what is done about it; `fault` is why a repair was not made."""

    look: Look
    difference: Difference
    judgement: Judgement
    fault: OutsideFault | None = None

    @property
    def place(self) -> Place:
        """The property."""
        return self.look.id, self.difference.name.path

    @property
    def found(self) -> Iterator[Found]:
        """What is to be told of it."""
        subject = self.look.managed.subject
        refusal = self.fault.detail if isinstance(self.fault, Rejected) else None
        repaired = self.judgement.is_repaired and refusal is None
        yield drift_found(subject, self.difference, repaired=repaired, refusal=refusal)
        if self.judgement.verdict is Verdict.GIVE_UP:
            yield does_not_hold(subject, self.difference)


@dataclass(frozen=True, slots=True)
class Page:
    """Some things of one kind: `known` is what is on record of their properties, `looks` what was seen first, `after`
    what is seen after the repairs."""

    tenant: Tenant
    paths: Sequence[str]
    known: Mapping[Place, Standing]
    looks: Sequence[Look]
    after: Sequence[Look]
    judged: Sequence[Judged]

    @property
    def broken(self) -> Sequence[Broken]:
        """What is to be put right."""
        repairs: dict[UUID, list[Difference]] = {}
        for each in self.judged:
            if each.judgement.verdict is Verdict.REPAIR:
                repairs.setdefault(each.look.id, []).append(each.difference)
        return [(look, repairs[look.id]) for look in self.looks if look.id in repairs]

    @property
    def announced(self) -> Sequence[Found]:
        """What is about to be put right."""
        return [found for each in self.judged if each.judgement.verdict is Verdict.REPAIR for found in each.found]

    @property
    def found(self) -> Sequence[Found]:
        """What is to be told: what differs still."""
        differing = {(look.id, each.name.path) for look in self.after for each in look.differences}
        return [found for each in self.judged if each.place in differing for found in each.found]

    def records(self, *, now: datetime) -> Mapping[Place, RepairRecord | None]:
        """What is known of repairs from now on. One that could not be tried does not count."""
        looked = {look.id for look in self.looks}
        quiet = {place: remembered(each, now=now) for place, each in self.known.items() if place[0] in looked}
        tried = [each for each in self.judged if not isinstance(each.fault, TryAgain)]
        untried = {each.place: self._record(each.place) for each in self.judged if isinstance(each.fault, TryAgain)}
        records = {**quiet, **untried, **{each.place: each.judgement.record for each in tried}}
        return {place: record for place, record in records.items() if record is not None or self._record(place)}

    def faulted(self, faults: Mapping[UUID, OutsideFault | None], after: Mapping[UUID, Look]) -> "Page":
        """The page after repairs were tried: what stopped some, and what is seen of all now."""
        return replace(
            self,
            judged=[
                replace(each, fault=faults.get(each.look.id)) if each.judgement.verdict is Verdict.REPAIR else each
                for each in self.judged
            ],
            after=[after.get(look.id, look) for look in self.looks],
        )

    def without(self, gone: Collection[UUID]) -> "Page":
        """The page without these."""
        return replace(
            self,
            looks=[look for look in self.looks if look.id not in gone],
            after=[look for look in self.after if look.id not in gone],
            judged=[each for each in self.judged if each.look.id not in gone],
        )

    def _record(self, place: Place) -> RepairRecord | None:
        return self.known.get(place, NOTHING_KNOWN).record


def look_at(tenant: Tenant, managed: Managed, observed: Observed | None) -> Look:
    """One thing with what of it counts as different in this tenant."""
    said = tenant.repair_properties
    if isinstance(managed, ManagedGroup) and isinstance(observed, ObservedGroup):
        managed = managed.without_removed(observed)
    counting = [
        each for each in _differences(managed, observed) if treatment_of(each.name, said) is not Treatment.IGNORED
    ]
    return Look(managed, observed, tuple(counting))


def people_in(observed: Observed | None) -> int:
    """How many people are named by what the directory shows: what a page takes in memory goes by that."""
    match observed:
        case ObservedMailbox():
            return len(observed.permissions)
        case ObservedGroup():
            return len(observed.members) + len(observed.owners)
        case ObservedSubject():
            return len(observed.guests)
        case None:
            return 0


def judge_all(
    tenant: Tenant, known: Mapping[Place, Standing], looks: Sequence[Look], *, now: datetime
) -> Sequence[Judged]:
    """What is done about all that differs."""
    return [
        Judged(look, each, _judgement(tenant, each, known.get((look.id, each.name.path), NOTHING_KNOWN), now=now))
        for look in looks
        for each in look.differences
    ]


def paths_of(phase: RequestKind) -> Sequence[str]:
    """The properties that are compared in a phase, as findings name them."""
    return [name.path for name in DriftProperty if name.startswith(_prefix(phase))]


def change_of(repaired: Settled, trace_id: TraceId) -> Change:
    """What goes on record of a property that was put right."""
    subject = repaired.subject
    return Change(
        tenant_id=subject.tenant_id,
        action=f"{subject.type}.repair",
        actor=DRIFT,
        client_id=None,
        subject=Subject(subject.type, subject.id, subject.display_name),
        before={repaired.about: repaired.observed},
        after={repaired.about: repaired.wanted},
        request_id=None,
        trace_id=trace_id,
    )


def _judgement(tenant: Tenant, difference: Difference, standing: Standing, *, now: datetime) -> Judgement:
    treatment = treatment_of(difference.name, tenant.repair_properties)
    return judge(difference, treatment, standing, repairs=tenant.repairs_drift, now=now)


def _differences(managed: Managed, observed: Observed | None) -> Iterator[Difference]:
    match managed, observed:
        case ManagedMailbox(), ObservedMailbox() | None:
            yield from mailbox_differences(managed.wanted, observed, replies_freely=managed.replies_freely)
        case ManagedGroup(), ObservedGroup() | None:
            yield from group_differences(managed.wanted, observed)
        case ManagedAssignment(), ObservedSubject():
            yield from assignment_differences(managed.assigned.wanted, observed)
        case _:
            # Whoever follows the directory's changes finds out that a group is gone, and what was assigned with it.
            return


def _prefix(phase: RequestKind) -> str:
    match phase:
        case RequestKind.SHARED | RequestKind.EQUIPMENT | RequestKind.ROOM:
            return "mailbox."
        case RequestKind.GROUP | RequestKind.TEAM:
            return "group."
        case RequestKind.ASSIGNMENT:
            return "assignment."
