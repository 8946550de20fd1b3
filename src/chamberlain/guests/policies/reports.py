# SPDX-License-Identifier: Apache-2.0
"""Reports of policy runs for owners and administrators.

A run stores the ids of guests only. The report is built when it is sent. Guests who were confirmed, accepted or removed
meanwhile are left out.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeAlias
from uuid import UUID

from chamberlain.core.ids import NoticeId, TraceId, UserId
from chamberlain.directory.models import Person
from chamberlain.directory.subjects import Guest
from chamberlain.guests.models import Place
from chamberlain.guests.policies.evaluation import Evaluation, PolicyTask
from chamberlain.guests.policies.models import ConfirmedBy, PolicyAction
from chamberlain.guests.policies.timers import PolicyRule, Timer, TimerKey
from chamberlain.guests.subjects.models import SubjectRecord

# Guests that an e-mail names. The others are counted.
MAX_NAMED = 100
# Those who are asked to do something come first.
_ORDER = (PolicyRule.REVIEW, PolicyRule.EXPIRY, PolicyRule.INACTIVITY, PolicyRule.MINIMUM_OWNERS)


@dataclass(frozen=True, slots=True)
class ReportLine:
    """A reminder or an action of a run.

    `taken` is None for a reminder. Lines about owners have no guest.
    """

    rule: PolicyRule
    guest_id: UserId | None
    taken: PolicyAction | None = None


@dataclass(frozen=True, slots=True)
class RunReport:
    """The report of a run about a group or site.

    It is over if no action is left. Otherwise later results join the same report. `notice_id` is used for a new report.
    """

    notice_id: NoticeId
    place: Place
    trace_id: TraceId
    lines: tuple[ReportLine, ...]
    is_over: bool


@dataclass(frozen=True, slots=True)
class OpenFinding:
    """An open finding. `observed` and `wanted` are numbers of owners."""

    id: UUID
    observed: int | None
    wanted: int | None


@dataclass(frozen=True, slots=True)
class Reminder:
    """The reminder of a guest before an action.

    `finding_id` confirms the guest in a review.
    """

    rule: PolicyRule
    guest: Guest
    action: PolicyAction
    action_at: datetime
    finding_id: UUID | None


@dataclass(frozen=True, slots=True)
class TakenAction:
    """An action that was taken.

    The name of a removed guest is only in the directory. `finding_id` still confirms the guest of an unanswered review.
    """

    rule: PolicyRule
    guest_id: UserId
    guest: Guest | None
    action: PolicyAction
    finding_id: UUID | None


@dataclass(frozen=True, slots=True)
class TooFewOwners:
    """How many own it, and how many shall."""

    owners: int
    wanted: int


@dataclass(frozen=True, slots=True)
class Report:
    """A report about a group or site.

    `more` is the number of guests without a name.
    """

    subject: SubjectRecord
    confirmed_by: ConfirmedBy | None
    reminders: tuple[Reminder, ...]
    taken: tuple[TakenAction, ...]
    owners: TooFewOwners | None
    more: int

    @property
    def is_empty(self) -> bool:
        """Return whether nothing is left to report."""
        return not self.reminders and not self.taken and self.owners is None

    @property
    def needs_confirmation(self) -> bool:
        """Return whether guests need a confirmation."""
        asked = [each.finding_id for each in self.reminders] + [each.finding_id for each in self.taken]
        return any(finding_id is not None for finding_id in asked)

    @property
    def unnamed(self) -> frozenset[UserId]:
        """Return the guests whose names the directory has to supply."""
        return frozenset([each.guest_id for each in self.taken if each.guest is None])


Findings: TypeAlias = Mapping[TimerKey, OpenFinding]
# Kind of the notices about policies.
POLICY_REPORT = "policyReport"


def report_lines(evaluation: Evaluation) -> tuple[ReportLine, ...]:
    """Convert an evaluation to lines of a report."""
    reminders = [ReportLine(*timer.place) for timer in evaluation.reminders]
    return (*reminders, *[ReportLine(*timer.place, timer.action) for timer in evaluation.taken])


def build_report(lines: Iterable[ReportLine], subject: SubjectRecord, task: PolicyTask, findings: Findings) -> Report:
    """Build a report from the current state.

    `task` has the timers, and `findings` are the open ones of the policy.
    """
    timers = {timer.place: timer for timer in task.timers}
    told = list(lines)
    reminders = sorted(_reminders(told, task, timers, findings), key=_place_of_reminder)
    taken = sorted(_taken(told, timers, findings), key=_place_of_taken)
    named = reminders[:MAX_NAMED]
    named_taken = taken[: MAX_NAMED - len(named)]
    review = None if task.policy is None else task.policy.rules.review
    return Report(
        subject=subject,
        confirmed_by=None if review is None else ConfirmedBy(review.confirmed_by),
        reminders=tuple(named),
        taken=tuple(named_taken),
        owners=_owners(told, findings),
        more=len(reminders) + len(taken) - len(named) - len(named_taken),
    )


def add_names(report: Report, people: Mapping[UserId, Person]) -> Report:
    """Add the names that the directory knows."""
    taken = [_add_name(each, people.get(each.guest_id)) for each in report.taken]
    return replace(report, taken=tuple(sorted(taken, key=_place_of_taken)))


def _reminders(
    lines: Sequence[ReportLine], task: PolicyTask, timers: Mapping[TimerKey, Timer], findings: Findings
) -> Iterator[Reminder]:
    for line in lines:
        timer = timers.get((line.rule, line.guest_id))
        if line.taken is not None or timer is None or not _is_pending(timer, task):
            continue
        if timer.guest is not None and timer.action_at is not None:
            finding_id = _to_confirm(line, findings)
            yield Reminder(line.rule, timer.guest, timer.action, timer.action_at, finding_id)


def _place_of_reminder(each: Reminder) -> tuple[object, ...]:
    return _ORDER.index(each.rule), each.action, each.action_at, each.guest.display_name, each.guest.id


def _taken(lines: Sequence[ReportLine], timers: Mapping[TimerKey, Timer], findings: Findings) -> Iterator[TakenAction]:
    for line in lines:
        place = line.rule, line.guest_id
        if line.taken is None or line.guest_id is None:
            continue
        # Actions stay true. A notification is left out if its finding is closed.
        if line.taken is PolicyAction.NOTIFY and place not in findings:
            continue
        guest = timers[place].guest if place in timers else None
        yield TakenAction(line.rule, line.guest_id, guest, line.taken, _to_confirm(line, findings))


def _place_of_taken(each: TakenAction) -> tuple[object, ...]:
    name = "" if each.guest is None else each.guest.display_name
    return each.action, _ORDER.index(each.rule), name, each.guest_id


def _owners(lines: Sequence[ReportLine], findings: Findings) -> TooFewOwners | None:
    place = PolicyRule.MINIMUM_OWNERS, None
    found = findings.get(place)
    if found is None or found.observed is None or found.wanted is None:
        return None
    return TooFewOwners(found.observed, found.wanted) if ReportLine(*place) in lines else None


def _add_name(taken: TakenAction, person: Person | None) -> TakenAction:
    if taken.guest is not None or person is None:
        return taken
    return replace(taken, guest=Guest(person.id, person.mail, person.display_name))


def _is_pending(timer: Timer, task: PolicyTask) -> bool:
    """Return whether the reminder's action is still pending."""
    if task.policy is None or timer.policy_id != task.policy.id or timer.place in task.accepted:
        return False
    if timer.reminded is None or timer.acted_at is not None:
        return False
    # An action that was refused and announced again is pending. A mere retry is not reported.
    return not timer.is_acting or (timer.trouble is not None and timer.next_at == timer.action_at)


def _to_confirm(line: ReportLine, findings: Findings) -> UUID | None:
    found = findings.get((line.rule, line.guest_id))
    return found.id if found is not None and line.rule is PolicyRule.REVIEW else None
