"""Pages of a check for drift: what was seen of some things, what is done about it, and what is told and remembered."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum
from typing import TypeAlias
from uuid import UUID

from chamberlain.auth.models import Actor, ActorType
from chamberlain.changes.models import Change, Subject
from chamberlain.core.errors import OutsideFault, Rejected
from chamberlain.core.ids import TraceId
from chamberlain.directory.properties import DriftProperty, Treatment, treatment_of
from chamberlain.drift.compare import Difference
from chamberlain.drift.models import Broken, Look, does_not_hold, drift_found
from chamberlain.guests.models import Found, Settled
from chamberlain.requests.models import RequestKind
from chamberlain.tenants.models import Tenant

# So many repairs of one thing are tried that do not hold.
MOST_REPAIRS = 2
# What a directory shows so soon after a repair says nothing of it: it may be late, and two checks may come in a minute.
SHOWN_AFTER = timedelta(hours=1)
# A repair that has held for so long has held: what differs then is a new matter.
HOLDS_AFTER = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class RepairRecord:
    """What is known of the repairs of one property: how many there were of what is wanted now, named by its digest,
    when it differed last, and whether we have given up. `is_under_way`: one was announced, and nobody has seen yet that
    the directory shows it; `repairs` counts it once it is made, and is 0 before the first."""

    repairs: int
    digest: str
    found_at: datetime
    has_given_up: bool = False
    is_under_way: bool = False


@dataclass(frozen=True, slots=True)
class Standing:
    """What is on record of a property. `is_accepted`: somebody lets it differ. `is_released`: somebody has accepted
    that repairs did not hold, so that they are tried again."""

    record: RepairRecord | None = None
    is_accepted: bool = False
    is_released: bool = False


class Verdict(Enum):
    """What is done about a difference: it is put right, it is reported, or it is reported that repairs do not hold."""

    REPAIR = "repair"
    REPORT = "report"
    GIVE_UP = "giveUp"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is done about a difference, and what is on record of it afterwards: of a repair, once it is made."""

    verdict: Verdict
    record: RepairRecord | None

    @property
    def is_repaired(self) -> bool:
        """Whether it is put right, or was so just now."""
        match self.verdict:
            case Verdict.REPAIR:
                return True
            case Verdict.REPORT:
                return self.record is not None
            case Verdict.GIVE_UP:
                return False


NOTHING_KNOWN = Standing()


def judge(
    difference: Difference, treatment: Treatment, standing: Standing, *, repairs: bool, now: datetime
) -> Judgement:
    """What is done about a difference. `repairs` says whether the tenant has anything repaired."""
    if treatment is not Treatment.MANAGED or not repairs or not difference.steps or standing.is_accepted:
        return Judgement(Verdict.REPORT, None)
    record = known_of(difference.digest, standing, now=now)
    if record is None:
        return Judgement(Verdict.REPAIR, RepairRecord(1, difference.digest, now))
    if now - record.found_at < SHOWN_AFTER and not record.has_given_up:
        return Judgement(Verdict.REPORT, record)
    if record.repairs >= MOST_REPAIRS:
        return Judgement(Verdict.GIVE_UP, replace(record, found_at=now, has_given_up=True, is_under_way=False))
    made = replace(record, repairs=record.repairs + 1, found_at=now, is_under_way=False)
    return Judgement(Verdict.REPAIR, made)


def announced(difference: Difference, standing: Standing, *, now: datetime) -> Standing:
    """What is on record of a property that is about to be put right. Until that is made it does not count."""
    record = standing.record or RepairRecord(0, difference.digest, now)
    return replace(standing, record=replace(record, is_under_way=True))


def not_made(standing: Standing) -> RepairRecord | None:
    """What stays on record when a repair that was announced is not made."""
    record = standing.record
    return None if record is None or not record.repairs else replace(record, is_under_way=False)


def known_of(digest: str, standing: Standing, *, now: datetime) -> RepairRecord | None:
    """What of the earlier repairs still counts: none that somebody has released, or of what is not wanted any more, or
    that have held."""
    record = standing.record
    if record is None or standing.is_released or record.digest != digest or has_held(record, now=now):
        return None
    return record if record.repairs else None


def has_held(record: RepairRecord, *, now: datetime) -> bool:
    """Whether it is so long since it differed that the repair has held."""
    return now - record.found_at >= HOLDS_AFTER


def remembered(standing: Standing, *, now: datetime) -> RepairRecord | None:
    """What stays on record of a property that does not differ at present."""
    record = not_made(standing)
    return None if record is None or standing.is_released or has_held(record, now=now) else record


# A property of a mailbox, group or site.
Place: TypeAlias = tuple[UUID, str]

# Who puts things right, on the audit trail.
DRIFT = Actor(ActorType.SYSTEM, None, "Drift")


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
        managed = self.look.managed
        refusal = self.fault.detail if isinstance(self.fault, Rejected) else None
        repaired = self.judgement.is_repaired and refusal is None
        yield drift_found(managed, self.difference, repaired=repaired, refusal=refusal)
        if self.judgement.verdict is Verdict.GIVE_UP:
            yield does_not_hold(managed, self.difference)


@dataclass(frozen=True, slots=True)
class Page:
    """Some things of one kind: `names` are their properties, `known` is what is on record of these, `looks` what was
    seen first, `after` what is seen after the repairs."""

    tenant: Tenant
    names: Sequence[DriftProperty]
    known: Mapping[Place, Standing]
    looks: Sequence[Look]
    after: Sequence[Look]
    judged: Sequence[Judged]

    @property
    def paths(self) -> Sequence[str]:
        """The properties, as findings name them."""
        return [name.path for name in self.names]

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
        differing = self._differing
        return [found for each in self.judged if each.place in differing for found in each.found]

    @property
    def mended(self) -> Collection[Place]:
        """What was put right by us, and is seen to be: now, or by a check that was cut short or saw it too soon."""
        said, differing = self.tenant.repair_properties, self._differing
        compared = {name.path for name in self.names if treatment_of(name, said) is not Treatment.IGNORED}
        shown = self._shown
        return {
            (id_, path)
            for (id_, path), each in self.known.items()
            if each.record is not None and each.record.is_under_way and id_ in shown and path in compared
        } - differing

    def records(self, *, now: datetime) -> Mapping[Place, RepairRecord | None]:
        """What is known of repairs from now on. One that could not be made does not count, and of what the directory
        does not show nobody knows whether it was."""
        shown = self._shown
        quiet = {place: remembered(each, now=now) for place, each in self.known.items() if place[0] in shown}
        unseen = {place: each.record for place, each in self.known.items() if place[0] in self._hidden}
        differing = self._differing
        judged = {
            each.place: self._record(each, is_right=each.place not in differing and each.look.id in shown)
            for each in self.judged
        }
        records = {**quiet, **unseen, **judged}
        return {place: record for place, record in records.items() if record is not None or self._has_record(place)}

    def announcing(self, *, now: datetime) -> "Page":
        """The page when it is on record what is about to be put right."""
        repairs = [each for each in self.judged if each.judgement.verdict is Verdict.REPAIR]
        standings = {
            each.place: announced(each.difference, self.known.get(each.place, NOTHING_KNOWN), now=now)
            for each in repairs
        }
        return replace(self, known={**self.known, **standings})

    @property
    def announced_records(self) -> Mapping[Place, RepairRecord | None]:
        """What goes on record before anything is put right."""
        repaired = {each.place for each in self.judged if each.judgement.verdict is Verdict.REPAIR}
        return {place: each.record for place, each in self.known.items() if place in repaired}

    def judged_anew(self, known: Mapping[Place, Standing], *, now: datetime) -> "Page":
        """The page with what is on record by now."""
        return replace(self, known=known, judged=judge_all(self.tenant, known, self.looks, now=now))

    def faulted(self, faults: Mapping[Place, OutsideFault | None], after: Mapping[UUID, Look]) -> "Page":
        """The page after repairs were tried: what stopped some, and what is seen of all now."""
        return replace(
            self,
            judged=[replace(each, fault=faults.get(each.place)) for each in self.judged],
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

    @property
    def _shown(self) -> frozenset[UUID]:
        return frozenset([look.id for look in self.after if look.observed is not None])

    @property
    def _hidden(self) -> frozenset[UUID]:
        return frozenset([look.id for look in self.after if look.observed is None])

    @property
    def _differing(self) -> frozenset[Place]:
        return frozenset([(look.id, each.name.path) for look in self.after for each in look.differences])

    def _record(self, judged: Judged, *, is_right: bool) -> RepairRecord | None:
        record = judged.judgement.record
        if judged.fault is not None and not is_right:
            standing = self.known.get(judged.place, NOTHING_KNOWN)
            # Whoever had no answer does not know whether it was made: it stays announced.
            return not_made(standing) if isinstance(judged.fault, Rejected) else standing.record
        if record is None or judged.judgement.verdict is Verdict.GIVE_UP:
            return record
        is_late = not is_right and (judged.judgement.verdict is Verdict.REPAIR or record.is_under_way)
        return replace(record, is_under_way=is_late)

    def _has_record(self, place: Place) -> bool:
        return self.known.get(place, NOTHING_KNOWN).record is not None


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
    return [name.path for name in names_of(phase)]


def names_of(phase: RequestKind) -> Sequence[DriftProperty]:
    """The properties that are compared in a phase."""
    return [name for name in DriftProperty if name.startswith(_prefix(phase))]


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


def _prefix(phase: RequestKind) -> str:
    match phase:
        case RequestKind.SHARED | RequestKind.EQUIPMENT | RequestKind.ROOM:
            return "mailbox."
        case RequestKind.GROUP | RequestKind.TEAM:
            return "group."
        case RequestKind.ASSIGNMENT:
            return "assignment."
