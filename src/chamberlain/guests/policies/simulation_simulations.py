"""Simulations: what somebody asks to see of a policy ahead, and what is answered."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from heapq import merge
from itertools import islice

from chamberlain.core.errors import Fault
from chamberlain.core.ids import GroupId, PolicyId
from chamberlain.directory.subjects import ObservedSubject, SubjectType
from chamberlain.guests.models import FindingKind
from chamberlain.guests.policies.models import PolicyAction
from chamberlain.guests.policies.simulation import Occurrence, OccurrenceType

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
