# SPDX-License-Identifier: Apache-2.0
"""Dry runs of assignments: effects, removals, findings and shortfalls."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from chamberlain.core.ids import UserId
from chamberlain.directory.steps import Step
from chamberlain.directory.subjects import Guest, ObservedSubject, guests_who_stay, remaining_of_subject, without
from chamberlain.guests.assignments.rules import AssignmentPlan
from chamberlain.guests.models import Assignment, Finding, FindingKey, FindingKind, FindingState, finding_key
from chamberlain.guests.policies.models import PolicyAction
from chamberlain.guests.policies.simulation import Occurrence, OccurrenceType

# Findings of a subject that are open or accepted.
CurrentFindings = Mapping[FindingKey, FindingState]


@dataclass(frozen=True, slots=True)
class Removal:
    """A guest who would be removed. `kind` is that of the finding."""

    guest: Guest
    kind: FindingKind
    detail: str | None


@dataclass(frozen=True, slots=True)
class Shortfall:
    """A part that the directory would not do, with the next step."""

    code: str
    detail: str
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class AssignmentDryRun:
    """The result of a dry run.

    `steps` would change the directory. `findings` would be opened; those that exist already are left out.
    """

    assignment: Assignment
    steps: tuple[Step, ...]
    removals: tuple[Removal, ...]
    findings: tuple[Finding, ...]
    shortfalls: tuple[Shortfall, ...]


_NOT_SHOWN = Shortfall(
    "groupUnknown", "The directory does not show this group at present. The effects wait until it does.", {}
)
_REASONS: Mapping[str, str] = {
    "membersFollowRule": "{} is in this group by its membership rule and would stay. Change the rule in the directory.",
    "lastOwner": "{} is the last owner of this group and would stay. Name another owner in the directory first.",
}


def nothing_to_do(assignment: Assignment) -> AssignmentDryRun:
    """Return the dry run of an assignment that exists already."""
    return AssignmentDryRun(assignment, (), (), (), ())


def without_removed(plan: AssignmentPlan) -> ObservedSubject | None:
    """Return the group or site after the template has removed guests."""
    return without(plan.observed, _going(plan))


def plan_dry_run(plan: AssignmentPlan, occurrences: Sequence[Occurrence], current: CurrentFindings) -> AssignmentDryRun:
    """Plan an assignment without writing.

    `occurrences` are those of the assigned policy at this moment, after the template has removed guests.
    """
    by_policy = [each for each in occurrences if _is_removal(each)]
    removals = [*_by_template(plan), *[removal for each in by_policy if (removal := _by_policy(each))]]
    staying = _staying(plan.observed, [each.guest.id for each in removals])
    found = [*plan.found, *[each.found for each in occurrences if each.found is not None]]
    shortfalls = () if plan.observed is not None else (_NOT_SHOWN,)
    return AssignmentDryRun(
        assignment=plan.assigned.assignment,
        steps=remaining_of_subject(plan.wanted, plan.observed, plan.steps),
        removals=tuple([each for each in removals if each.guest.id not in staying]),
        findings=tuple([each for each in found if finding_key(each) not in current]),
        shortfalls=(*shortfalls, *_shortfalls(removals, staying)),
    )


def accepted_guests(current: CurrentFindings) -> frozenset[str]:
    """Return the guests whose violation of the template is accepted."""
    return frozenset(
        [
            key.about
            for key, state in current.items()
            if key.kind is FindingKind.GUEST_AGAINST_RULE and state is FindingState.ACCEPTED
        ]
    )


def _going(plan: AssignmentPlan) -> frozenset[UserId]:
    going = plan.wanted.remove_guests
    return frozenset(going).difference(_staying(plan.observed, going))


def _staying(observed: ObservedSubject | None, going: Collection[UserId]) -> Mapping[UserId, str]:
    return {} if observed is None else guests_who_stay(observed, going)


def _by_template(plan: AssignmentPlan) -> Iterator[Removal]:
    guests = {} if plan.observed is None else {str(guest.id): guest for guest in plan.observed.guests}
    for found in plan.found:
        if found.action is not None:
            yield Removal(guests[found.about], found.kind, found.detail)


def _is_removal(occurrence: Occurrence) -> bool:
    return occurrence.type is OccurrenceType.ACTION and occurrence.action is PolicyAction.REMOVE


def _by_policy(occurrence: Occurrence) -> Removal | None:
    return None if occurrence.guest is None else Removal(occurrence.guest, occurrence.kind, None)


def _shortfalls(removals: Sequence[Removal], staying: Mapping[UserId, str]) -> Iterator[Shortfall]:
    guests = {each.guest.id: each.guest for each in removals}
    for guest_id, code in staying.items():
        guest = guests[guest_id]
        detail = _REASONS[code].format(guest.display_name)
        yield Shortfall(code, detail, {"id": str(guest.id), "displayName": guest.display_name})
