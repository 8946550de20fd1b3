"""Reports: what the policy of a group or site has done in a run, and what of that is still to be told.

A run leaves behind whom it was about, by ids alone. What a report says is made of that when it is sent: whoever was
confirmed, accepted or has gone meanwhile is left out.
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

# So many guests are named in a mail, and the others counted. Ours: nobody reads more, and servers take it.
MAX_NAMED = 100
# Those who are asked to do something come first.
_ORDER = (PolicyRule.REVIEW, PolicyRule.EXPIRY, PolicyRule.INACTIVITY, PolicyRule.MINIMUM_OWNERS)


@dataclass(frozen=True, slots=True)
class ReportLine:
    """One thing that has happened: an action was taken, or will be (then `taken` is None). The rule about owners is
    about no guest."""

    rule: PolicyRule
    guest_id: UserId | None
    taken: PolicyAction | None = None


@dataclass(frozen=True, slots=True)
class RunReport:
    """What one run leaves to be told about a group or site. It is over when all that it had to do is done; of one that
    is not, the rest may still come into the same report. `notice_id` is for a report that there is not yet."""

    notice_id: NoticeId
    place: Place
    trace_id: TraceId
    lines: tuple[ReportLine, ...]
    is_over: bool


@dataclass(frozen=True, slots=True)
class OpenFinding:
    """What was found and stands; `observed` and `wanted` are the numbers of owners, where it is about these."""

    id: UUID
    observed: int | None
    wanted: int | None


@dataclass(frozen=True, slots=True)
class Reminder:
    """An action that will be taken, unless the guest is confirmed by `finding_id`, where a review asks for that."""

    rule: PolicyRule
    guest: Guest
    action: PolicyAction
    action_at: datetime
    finding_id: UUID | None


@dataclass(frozen=True, slots=True)
class TakenAction:
    """An action that was taken. A guest who was removed has no name here any more, but in the directory. A review that
    nobody has answered in time is still confirmed by `finding_id`."""

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
    """What is told now about a group or site. `more` guests are not named."""

    subject: SubjectRecord
    confirmed_by: ConfirmedBy | None
    reminders: tuple[Reminder, ...]
    taken: tuple[TakenAction, ...]
    owners: TooFewOwners | None
    more: int

    @property
    def is_empty(self) -> bool:
        """Whether nothing of it is so any more."""
        return not self.reminders and not self.taken and self.owners is None

    @property
    def needs_confirmation(self) -> bool:
        """Whether somebody is to confirm guests."""
        asked = [each.finding_id for each in self.reminders] + [each.finding_id for each in self.taken]
        return any(finding_id is not None for finding_id in asked)

    @property
    def unnamed(self) -> frozenset[UserId]:
        """Whose names the directory has to be asked for."""
        return frozenset([each.guest_id for each in self.taken if each.guest is None])


Findings: TypeAlias = Mapping[TimerKey, OpenFinding]
# What the policy of a group or site has done is told of as this.
POLICY_REPORT = "policyReport"


def report_lines(evaluation: Evaluation) -> tuple[ReportLine, ...]:
    """What of a run is to be told."""
    reminders = [ReportLine(*timer.place) for timer in evaluation.reminders]
    return (*reminders, *[ReportLine(*timer.place, timer.action) for timer in evaluation.taken])


def build_report(lines: Iterable[ReportLine], subject: SubjectRecord, task: PolicyTask, findings: Findings) -> Report:
    """What of it is so now. `task` has the clocks, `findings` are those of the policy that are open."""
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
    """The report with the names that the directory knows."""
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
        # What was done is so whatever came then; what is told and nothing else, as long as it stands.
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
    """Whether the action that somebody was reminded of is still to come."""
    if task.policy is None or timer.policy_id != task.policy.id or timer.place in task.accepted:
        return False
    if timer.reminded is None or timer.acted_at is not None:
        return False
    # One that was refused before, and is announced anew, comes when it says; what is only tried again is not told.
    return not timer.is_acting or (timer.trouble is not None and timer.next_at == timer.action_at)


def _to_confirm(line: ReportLine, findings: Findings) -> UUID | None:
    found = findings.get((line.rule, line.guest_id))
    return found.id if found is not None and line.rule is PolicyRule.REVIEW else None
