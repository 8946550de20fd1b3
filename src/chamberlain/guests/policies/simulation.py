# SPDX-License-Identifier: Apache-2.0
"""Dry run of a policy: evaluate it ahead of time, without effect.

It assumes that no guest is confirmed or active. The directory takes every action, except for the removal of guests from
dynamic groups.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from heapq import merge
from itertools import islice
from typing import TypeAlias

from chamberlain.core.errors import Fault
from chamberlain.core.ids import GroupId, PolicyId, UserId
from chamberlain.directory.subjects import Guest, ObservedSubject, SubjectType
from chamberlain.guests.models import Finding, FindingKind, FindingSubject
from chamberlain.guests.policies.evaluation import AppliedPolicy, Evaluation, Membership, apply_outcomes, evaluate
from chamberlain.guests.policies.events import finding_about, finding_kind
from chamberlain.guests.policies.models import PolicyAction, PolicyRules
from chamberlain.guests.policies.timers import ZERO, Timer, TimerKey, guest_schedules

_BY_RULE = "The directory keeps dynamic members."
# The guest of a timer, or None for owners.
_About: TypeAlias = UserId | None


class OccurrenceType(StrEnum):
    """The type of an occurrence."""

    FINDING = "finding"
    REMINDER = "reminder"
    ACTION = "action"


@dataclass(frozen=True, slots=True)
class Occurrence:
    """An occurrence at a moment.

    `guest` is None for owners. `found` is set for findings only.
    """

    at: datetime
    type: OccurrenceType
    kind: FindingKind
    subject: FindingSubject
    guest: Guest | None
    action: PolicyAction
    action_at: datetime | None
    found: Finding | None = None


@dataclass(frozen=True, slots=True)
class SimulatedSubject:
    """The current state of a group or site.

    `accepted` are paused timers with the end of the acceptance, or None. `follows_rule` is true for dynamic groups.
    """

    subject: FindingSubject
    policy: AppliedPolicy
    present: Membership
    timers: tuple[Timer, ...]
    accepted: Mapping[TimerKey, datetime | None]
    follows_rule: bool


# Occurrences of an answer, the earliest. Our choice: an answer of about 100 KB. The counts include all.
MAX_OCCURRENCES = 200


@dataclass(frozen=True, slots=True)
class SimulationRequest:
    """Groups and sites to simulate. Empty means all."""

    group_ids: tuple[GroupId, ...]
    site_ids: tuple[GroupId, ...]

    @property
    def chosen(self) -> tuple[tuple[SubjectType, int, GroupId], ...]:
        """Return each id with its index in the body."""
        groups = [(SubjectType.GROUP, place, each) for place, each in enumerate(self.group_ids)]
        sites = [(SubjectType.SITE, place, each) for place, each in enumerate(self.site_ids)]
        return (*groups, *sites)


@dataclass(frozen=True, slots=True)
class Simulation:
    """The result of a simulation.

    `subjects` and `guests` are the numbers of simulated ones; a guest counts once per group. `occurrences` are the
    earliest of all counted ones.
    """

    policy_id: PolicyId
    since: datetime
    until: datetime
    subjects: int
    guests: int
    reminders: int
    findings: dict[FindingKind, int]
    actions: dict[PolicyAction, int]
    occurrences: Sequence[Occurrence]

    @property
    def is_whole(self) -> bool:
        """Return whether all occurrences are included."""
        return len(self.occurrences) == self.reminders + sum(self.findings.values()) + sum(self.actions.values())


@dataclass(slots=True)
class SimulationTotals:
    """Totals of a running simulation."""

    policy_id: PolicyId
    since: datetime
    until: datetime
    subjects: int = 0
    guests: int = 0
    types: Counter[OccurrenceType] = field(default_factory=Counter)
    findings: Counter[FindingKind] = field(default_factory=Counter)
    actions: Counter[PolicyAction] = field(default_factory=Counter)
    occurrences: list[Occurrence] = field(default_factory=list)

    def add(self, observed: ObservedSubject, occurrences: Iterable[Occurrence]) -> None:
        """Add the occurrences of a group or site."""
        self.subjects += 1
        self.guests += len(observed.guests)
        found = sorted(occurrences, key=_order)
        for each in found:
            self.types[each.type] += 1
            match each.type:
                case OccurrenceType.FINDING:
                    self.findings[each.kind] += 1
                case OccurrenceType.ACTION:
                    self.actions[each.action] += 1
                case OccurrenceType.REMINDER:
                    pass
        self.occurrences = list(islice(merge(self.occurrences, found, key=_order), MAX_OCCURRENCES))

    def simulation(self) -> Simulation:
        """Return the simulation."""
        return Simulation(
            policy_id=self.policy_id,
            since=self.since,
            until=self.until,
            subjects=self.subjects,
            guests=self.guests,
            reminders=self.types[OccurrenceType.REMINDER],
            findings={kind: self.findings[kind] for kind in FindingKind if kind in self.findings},
            actions={action: self.actions[action] for action in PolicyAction if action in self.actions},
            occurrences=tuple(self.occurrences),
        )


_ORDER = {OccurrenceType.REMINDER: 0, OccurrenceType.FINDING: 1, OccurrenceType.ACTION: 2}


def simulation_period(rules: PolicyRules) -> timedelta:
    """Return the longest time to an action of these rules, or zero."""
    return max([schedule.period + (schedule.answer or ZERO) for schedule in guest_schedules(rules)], default=ZERO)


def simulate(
    simulated: SimulatedSubject, *, now: datetime, until: datetime, before_each: Callable[[], None] = lambda: None
) -> Iterator[Occurrence]:
    """Simulate a group or site until a moment, guest by guest.

    Existing findings are left out. `before_each` is called before each guest and may raise.
    """
    for alone in _split_by_guest(simulated):
        before_each()
        yield from _run(alone, now, until)


def subject_fault(type_: SubjectType, place: int, observed: ObservedSubject | None) -> Fault | None:
    """Return the reason against simulating a group or site, or None."""
    if observed is not None and observed.type is type_:
        return None
    name = "groupIds" if type_ is SubjectType.GROUP else "siteIds"
    if observed is None:
        sentence = "The directory has no such group. Leave it out."
    elif type_ is SubjectType.GROUP:
        sentence = "This is the security group of a site. Move it to siteIds."
    else:
        sentence = "This group belongs to no site. Move it to groupIds."
    return Fault.build(f"/{name}/{place}", "groupUnknown", sentence)


def _order(occurrence: Occurrence) -> tuple[datetime, str, str, str, int]:
    guest = "" if occurrence.guest is None else str(occurrence.guest.id)
    return occurrence.at, str(occurrence.subject.id), guest, occurrence.kind, _ORDER[occurrence.type]


def _split_by_guest(simulated: SimulatedSubject) -> Iterator[SimulatedSubject]:
    """Split by guest, then the owners.

    Timers are grouped once, so the cost is linear.
    """
    rules, owners = simulated.policy.rules, simulated.present.owners
    timers: dict[_About, list[Timer]] = {}
    for timer in simulated.timers:
        timers.setdefault(timer.place[1], []).append(timer)
    accepted: dict[_About, dict[TimerKey, datetime | None]] = {}
    for place, end in simulated.accepted.items():
        accepted.setdefault(place[1], {})[place] = end
    of_guests = replace(simulated.policy, rules=replace(rules, minimum_owners=None))
    of_owners = replace(simulated.policy, rules=PolicyRules(None, None, None, rules.minimum_owners))
    for guest in (*simulated.present.guests, None):
        about = None if guest is None else guest.id
        yield replace(
            simulated,
            policy=of_owners if guest is None else of_guests,
            present=Membership(() if guest is None else (guest,), owners),
            timers=tuple(timers.get(about, ())),
            accepted=accepted.get(about, {}),
        )


def _run(simulated: SimulatedSubject, now: datetime, until: datetime) -> Iterator[Occurrence]:
    standing = {(finding_kind(timer.rule), finding_about(timer)) for timer in simulated.timers if timer.has_finding}
    moment: datetime | None = now
    while moment is not None and moment <= until:
        accepted = {place for place, end in simulated.accepted.items() if end is None or end > moment}
        evaluation = evaluate(
            simulated.subject,
            simulated.policy,
            simulated.present,
            simulated.timers,
            now=moment,
            accepted=accepted,
        )
        new = {(each.kind, each.about): each for each in evaluation.found if (each.kind, each.about) not in standing}
        yield from _occurrences(simulated, evaluation, new, moment)
        simulated, settled = _apply(simulated, evaluation, accepted, moment)
        yield from _occurrences(simulated, settled, {}, moment)
        standing |= new.keys()
        standing -= {(each.kind, each.about) for each in (*evaluation.ended, *settled.ended)}
        moment = _next_moment(simulated, accepted, moment)


def _occurrences(
    simulated: SimulatedSubject,
    evaluation: Evaluation,
    new: Mapping[tuple[FindingKind, str], Finding],
    moment: datetime,
) -> Iterator[Occurrence]:
    guests = {str(guest.id): guest for guest in simulated.present.guests}
    for timer in evaluation.reminders:
        yield _of_clock(simulated, timer, OccurrenceType.REMINDER, moment)
    for each in new.values():
        yield Occurrence(
            at=moment,
            type=OccurrenceType.FINDING,
            kind=each.kind,
            subject=simulated.subject,
            guest=guests.get(each.about),
            action=PolicyAction(each.action or PolicyAction.NOTIFY),
            action_at=each.action_at,
            found=each,
        )
    for timer in evaluation.taken:
        yield _of_clock(simulated, timer, OccurrenceType.ACTION, moment)


def _apply(
    simulated: SimulatedSubject, evaluation: Evaluation, accepted: set[TimerKey], moment: datetime
) -> tuple[SimulatedSubject, Evaluation]:
    """Apply due actions, and return the new state with their evaluation."""
    acts = [(timer, _trouble(simulated, timer)) for timer in evaluation.due]
    rules = simulated.policy.rules
    settled = apply_outcomes(simulated.subject, rules, evaluation.timers, acts, now=moment, accepted=accepted)
    removed = {timer.guest for timer, why in acts if why is None and timer.action is PolicyAction.REMOVE}
    gone = {guest.id for guest in removed if guest is not None}
    guests = tuple([guest for guest in simulated.present.guests if guest.id not in gone])
    policy = replace(simulated.policy, is_begun=True)
    present = replace(simulated.present, guests=guests)
    return replace(simulated, policy=policy, present=present, timers=settled.timers), settled


def _next_moment(simulated: SimulatedSubject, accepted: set[TimerKey], moment: datetime) -> datetime | None:
    """Return the next moment with an event, including ends of acceptances.

    Daily retries of a failed action are skipped. Earlier failures of the directory are not assumed to recur.
    """
    timers = [
        each
        for each in simulated.timers
        if each.place not in accepted and (each.trouble is None or _trouble(simulated, each) is None)
    ]
    ends = [end for end in simulated.accepted.values() if end is not None and end > moment]
    moments = [each for each in (*[timer.next_at for timer in timers], *ends) if each is not None]
    return min(moments, default=None)


def _of_clock(simulated: SimulatedSubject, timer: Timer, type_: OccurrenceType, moment: datetime) -> Occurrence:
    return Occurrence(
        at=moment,
        type=type_,
        kind=finding_kind(timer.rule),
        subject=simulated.subject,
        guest=timer.guest,
        action=timer.action,
        action_at=timer.action_at,
    )


def _trouble(simulated: SimulatedSubject, timer: Timer) -> str | None:
    return _BY_RULE if simulated.follows_rule and timer.action is PolicyAction.REMOVE else None
