"""What a policy would do from now on, if nobody did anything: the rules that run it, let run ahead without effect.

Nothing is known of what people will do. Nobody confirms a guest, nobody is seen again, and the directory takes every
action, but for the removal of those who are in a group by its membership rule.
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
from chamberlain.guests.models import FindingKind, FindingSubject, Found
from chamberlain.guests.policies.evaluation import AppliedPolicy, Evaluation, Present, evaluate, settle
from chamberlain.guests.policies.events import about_of, kind_of
from chamberlain.guests.policies.models import PolicyAction, PolicyRules
from chamberlain.guests.policies.timers import NO_TIME, Clock, ClockPlace, courses_of

_BY_RULE = "The directory has them in this group by its membership rule."

# The guest whom a clock is about; None for that of the owners.
_About: TypeAlias = UserId | None


class OccurrenceType(StrEnum):
    """What would happen: something is found, announced or done."""

    FINDING = "finding"
    REMINDER = "reminder"
    ACTION = "action"


@dataclass(frozen=True, slots=True)
class Occurrence:
    """Something that would happen at a moment. `guest` is None for owners, `found` is there for findings alone."""

    at: datetime
    type: OccurrenceType
    kind: FindingKind
    subject: FindingSubject
    guest: Guest | None
    action: PolicyAction
    action_at: datetime | None
    found: Found | None = None


@dataclass(frozen=True, slots=True)
class Situation:
    """A group or site as it is now: its policy, who is there, and how far the clocks have come. `accepted` are the
    clocks that rest, each until its moment, for good where that is None. `follows_rule`: its members come by a rule."""

    subject: FindingSubject
    policy: AppliedPolicy
    present: Present
    clocks: tuple[Clock, ...]
    accepted: Mapping[ClockPlace, datetime | None]
    follows_rule: bool


def period_of(rules: PolicyRules) -> timedelta:
    """From now on the longest way to an action; nothing where no rule has one."""
    return max([course.period + (course.answer or NO_TIME) for course in courses_of(rules)], default=NO_TIME)


def simulate(
    situation: Situation, *, now: datetime, until: datetime, before_each: Callable[[], None] = lambda: None
) -> Iterator[Occurrence]:
    """What would happen from now on to the end, that moment too, each guest after the other. What is found already is
    not found again. `before_each` is called before each guest, and may end it by an error."""
    for alone in _apart(situation):
        before_each()
        yield from _run(alone, now, until)


def _apart(situation: Situation) -> Iterator[Situation]:
    """Each guest without the others, and then the owners. What is of whom is sorted once, however many there are."""
    rules, owners = situation.policy.rules, situation.present.owners
    clocks: dict[_About, list[Clock]] = {}
    for clock in situation.clocks:
        clocks.setdefault(clock.place[1], []).append(clock)
    accepted: dict[_About, dict[ClockPlace, datetime | None]] = {}
    for place, end in situation.accepted.items():
        accepted.setdefault(place[1], {})[place] = end
    of_guests = replace(situation.policy, rules=replace(rules, minimum_owners=None))
    of_owners = replace(situation.policy, rules=PolicyRules(None, None, None, rules.minimum_owners))
    for guest in (*situation.present.guests, None):
        about = None if guest is None else guest.id
        yield replace(
            situation,
            policy=of_owners if guest is None else of_guests,
            present=Present(() if guest is None else (guest,), owners),
            clocks=tuple(clocks.get(about, ())),
            accepted=accepted.get(about, {}),
        )


def _run(situation: Situation, now: datetime, until: datetime) -> Iterator[Occurrence]:
    standing = {(kind_of(clock.rule), about_of(clock)) for clock in situation.clocks if clock.is_told}
    moment: datetime | None = now
    while moment is not None and moment <= until:
        accepted = {place for place, end in situation.accepted.items() if end is None or end > moment}
        evaluation = evaluate(
            situation.subject,
            situation.policy,
            situation.present,
            situation.clocks,
            now=moment,
            accepted=accepted,
        )
        new = {(each.kind, each.about): each for each in evaluation.found if (each.kind, each.about) not in standing}
        yield from _told(situation, evaluation, new, moment)
        situation, settled = _acted(situation, evaluation, accepted, moment)
        yield from _told(situation, settled, {}, moment)
        standing |= new.keys()
        standing -= {(each.kind, each.about) for each in (*evaluation.ended, *settled.ended)}
        moment = _next(situation, accepted, moment)


def _acted(
    situation: Situation, evaluation: Evaluation, accepted: set[ClockPlace], moment: datetime
) -> tuple[Situation, Evaluation]:
    """The situation when all is done that is due, and what came of that."""
    acts = [(clock, _trouble(situation, clock)) for clock in evaluation.due]
    rules = situation.policy.rules
    settled = settle(situation.subject, rules, evaluation.clocks, acts, now=moment, accepted=accepted)
    removed = {clock.guest for clock, why in acts if why is None and clock.action is PolicyAction.REMOVE}
    gone = {guest.id for guest in removed if guest is not None}
    guests = tuple([guest for guest in situation.present.guests if guest.id not in gone])
    policy = replace(situation.policy, is_begun=True)
    present = replace(situation.present, guests=guests)
    return replace(situation, policy=policy, present=present, clocks=settled.clocks), settled


def _trouble(situation: Situation, clock: Clock) -> str | None:
    return _BY_RULE if situation.follows_rule and clock.action is PolicyAction.REMOVE else None


def _next(situation: Situation, accepted: set[ClockPlace], moment: datetime) -> datetime | None:
    """When something happens next, the end of an acceptance too. What is not done here is tried again every day, and
    not done again: that is nothing to look at. What the directory has refused before, it takes now."""
    clocks = [
        each
        for each in situation.clocks
        if each.place not in accepted and (each.trouble is None or _trouble(situation, each) is None)
    ]
    ends = [end for end in situation.accepted.values() if end is not None and end > moment]
    moments = [each for each in (*[clock.next_at for clock in clocks], *ends) if each is not None]
    return min(moments, default=None)


def _told(
    situation: Situation, evaluation: Evaluation, new: Mapping[tuple[FindingKind, str], Found], moment: datetime
) -> Iterator[Occurrence]:
    guests = {str(guest.id): guest for guest in situation.present.guests}
    for clock in evaluation.reminders:
        yield _of_clock(situation, clock, OccurrenceType.REMINDER, moment)
    for each in new.values():
        yield Occurrence(
            at=moment,
            type=OccurrenceType.FINDING,
            kind=each.kind,
            subject=situation.subject,
            guest=guests.get(each.about),
            action=PolicyAction(each.action or PolicyAction.NOTIFY),
            action_at=each.action_at,
            found=each,
        )
    for clock in evaluation.taken:
        yield _of_clock(situation, clock, OccurrenceType.ACTION, moment)


def _of_clock(situation: Situation, clock: Clock, type_: OccurrenceType, moment: datetime) -> Occurrence:
    return Occurrence(
        at=moment,
        type=type_,
        kind=kind_of(clock.rule),
        subject=situation.subject,
        guest=clock.guest,
        action=clock.action,
        action_at=clock.action_at,
    )


# So many occurrences are told, the earliest. Ours: an answer of about 100 KB; the counts are of all.
MOST_TOLD = 200


@dataclass(frozen=True, slots=True)
class SimulationOrder:
    """Which groups and sites somebody wants to see; without any, all that there are."""

    group_ids: tuple[GroupId, ...]
    site_ids: tuple[GroupId, ...]

    @property
    def chosen(self) -> tuple[tuple[SubjectType, int, GroupId], ...]:
        """Each with its place in what was sent."""
        groups = [(SubjectType.GROUP, place, each) for place, each in enumerate(self.group_ids)]
        sites = [(SubjectType.SITE, place, each) for place, each in enumerate(self.site_ids)]
        return (*groups, *sites)


@dataclass(frozen=True, slots=True)
class Simulation:
    """What a policy would do from `since` to `until`. `subjects` and `guests` are how many were looked at, a guest once
    for each group; `occurrences` the earliest, of as many as the counts say."""

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
        """Whether all that would happen is told."""
        return len(self.occurrences) == self.reminders + sum(self.findings.values()) + sum(self.actions.values())


@dataclass(slots=True)
class Tally:
    """What has come together so far, of a simulation that goes on group by group."""

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
        """What would happen to one group or site."""
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
        self.occurrences = list(islice(merge(self.occurrences, found, key=_order), MOST_TOLD))

    def simulation(self) -> Simulation:
        """All of it."""
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


def chosen_fault(type_: SubjectType, place: int, observed: ObservedSubject | None) -> Fault | None:
    """Why a group or site that was chosen cannot be looked at, if it cannot."""
    if observed is not None and observed.type is type_:
        return None
    name = "groupIds" if type_ is SubjectType.GROUP else "siteIds"
    if observed is None:
        detail = "The directory has no such group. Leave it out."
    elif type_ is SubjectType.GROUP:
        detail = "This is the security group of a site. Name it under siteIds."
    else:
        detail = "This group belongs to no site. Name it under groupIds."
    return Fault(f"/{name}/{place}", "groupUnknown", detail)


def _order(occurrence: Occurrence) -> tuple[datetime, str, str, str, int]:
    guest = "" if occurrence.guest is None else str(occurrence.guest.id)
    return occurrence.at, str(occurrence.subject.id), guest, occurrence.kind, _ORDER[occurrence.type]


_ORDER = {OccurrenceType.REMINDER: 0, OccurrenceType.FINDING: 1, OccurrenceType.ACTION: 2}
