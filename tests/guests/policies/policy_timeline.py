# SPDX-License-Identifier: Apache-2.0
"""A group in memory whose policy runs again and again."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from chamberlain.core.ids import GroupId, PolicyId, UserId
from chamberlain.directory.subjects import Guest, SubjectType
from chamberlain.guests.models import FindingKind, FindingSubject
from chamberlain.guests.policies.evaluation import Act, AppliedPolicy, Evaluation, Membership, apply_outcomes, evaluate
from chamberlain.guests.policies.models import (
    ConfirmedBy,
    Expiry,
    Inactivity,
    MinimumOwners,
    PolicyAction,
    PolicyRules,
    Review,
)
from chamberlain.guests.policies.timers import Timer, TimerKey
from tests.groups.group_values import TENANT

SUBJECT = FindingSubject(TENANT, GroupId(UUID(int=1)), SubjectType.GROUP, "All staff")
POLICY = PolicyId(UUID(int=2))
ASSIGNED_AT = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
GIL = Guest(UserId(UUID(int=4)), "gil@partner.example", "Gil Hartmann")
HANA = Guest(UserId(UUID(int=5)), None, "Hana Novak")

NOTHING = PolicyRules(None, None, None, None)
NINETY_DAYS = replace(NOTHING, expiry=Expiry(90, (14, 7, 1), PolicyAction.REMOVE))
YEARLY = replace(NOTHING, review=Review(365, 14, ConfirmedBy.OWNERS, (14, 7, 1), PolicyAction.DISABLE))
INACTIVE = replace(NOTHING, inactivity=Inactivity(120, (7,), PolicyAction.NOTIFY))
TWO_OWNERS = replace(NOTHING, minimum_owners=MinimumOwners(2, (), PolicyAction.NOTIFY))

# The day, the event, the rule and the guest.
Told = tuple[float, str, str, str]
# The answer of the directory to an action: the reason against it, or None.
Answer = Callable[[Timer], str | None]


def well(_timer: Timer) -> str | None:
    """Every action is taken."""
    return None


def moment(days: float) -> datetime:
    """So many days after the assignment."""
    return ASSIGNED_AT + timedelta(days=days)


def days_of(at: datetime) -> float:
    """How long after the assignment."""
    return (at - ASSIGNED_AT) / timedelta(days=1)


@dataclass
class Group:
    """A group.

    `told` has reminders and actions in order, `findings` the open findings.
    """

    rules: PolicyRules
    guests: tuple[Guest, ...] = (GIL,)
    owners: int = 2
    policy_id: PolicyId = POLICY
    assigned_at: datetime = ASSIGNED_AT
    is_begun: bool = False
    answer: Answer = well
    accepted: Collection[TimerKey] = ()
    timers: tuple[Timer, ...] = ()
    told: list[Told] = field(default_factory=list)
    findings: dict[tuple[FindingKind, str], str] = field(default_factory=dict)
    ended: list[tuple[float, str, str]] = field(default_factory=list)

    @property
    def present(self) -> Membership:
        """Return the members."""
        return Membership(self.guests, self.owners)

    def look(self, day: float) -> Evaluation:
        """One evaluation, of which nothing is done."""
        policy = AppliedPolicy(self.policy_id, self.rules, self.assigned_at, self.is_begun)
        return evaluate(SUBJECT, policy, self.present, self.timers, now=moment(day), accepted=self.accepted)

    def run(self, day: float) -> datetime | None:
        """Run the policy once with all actions.

        Returns the time of the next run.
        """
        evaluation = self.look(day)
        self.keep(day, evaluation)
        self.is_begun = True
        acts: list[Act] = [(timer, self.answer(timer)) for timer in evaluation.due]
        settled = apply_outcomes(SUBJECT, self.rules, self.timers, acts, now=moment(day), accepted=self.accepted)
        self.guests = tuple([each for each in self.guests if each.id not in _removed(acts)])
        self.keep(day, settled)
        return settled.next_at

    def run_daily(self, until: int, *, since: int = 0) -> None:
        """A run on each of these days, the last one too."""
        for day in range(since, until + 1):
            self.run(day)

    def keep(self, day: float, evaluation: Evaluation) -> None:
        """Save an evaluation, as the job does."""
        kept = {timer.place: timer for timer in self.timers}
        kept.update({timer.place: timer for timer in evaluation.changed})
        for timer in evaluation.gone:
            del kept[timer.place]
        self.timers = tuple(kept.values())
        self.told += [(day, "reminder", *_who(timer)) for timer in evaluation.reminders]
        self.told += [(day, timer.action, *_who(timer)) for timer in evaluation.taken]
        for each in evaluation.ended:
            del self.findings[each.kind, each.about]
            self.ended.append((day, each.kind, each.state))
        self.findings.update({(each.kind, each.about): each.detail for each in evaluation.found})


def only(timers: Sequence[Timer] | Iterable[Timer]) -> Timer:
    """The one that there is."""
    (timer,) = timers
    return timer


def kinds(findings: Mapping[tuple[FindingKind, str], str]) -> list[str]:
    """List the kinds of open findings."""
    return sorted(kind for kind, _ in findings)


def _removed(acts: Sequence[Act]) -> set[UserId]:
    done = [timer for timer, trouble in acts if trouble is None and timer.action is PolicyAction.REMOVE]
    return {timer.guest.id for timer in done if timer.guest is not None}


def _who(timer: Timer) -> tuple[str, str]:
    return timer.rule, "" if timer.guest is None else timer.guest.display_name
