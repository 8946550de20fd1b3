"""A group whose policy is run again and again, and what was told and done by then, in days from its assignment."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from chamberlain.core.ids import GroupId, PolicyId, UserId
from chamberlain.directory.subjects import Guest, SubjectType
from chamberlain.guests.models import FindingKind, FindingSubject
from chamberlain.guests.policies.evaluation import Act, AppliedPolicy, Evaluation, Present, evaluate, settle
from chamberlain.guests.policies.models import (
    ConfirmedBy,
    Expiry,
    Inactivity,
    MinimumOwners,
    PolicyAction,
    PolicyRules,
    Review,
)
from chamberlain.guests.policies.timers import Clock, ClockPlace
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

# The day, what happened, by which rule and to whom.
Told = tuple[float, str, str, str]
# What the directory makes of an action that is asked of it: why it does not take it, or None.
Answer = Callable[[Clock], str | None]


def well(_clock: Clock) -> str | None:
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
    """One group. `told` has reminders and actions in the order in which they came, `findings` what stands."""

    rules: PolicyRules
    guests: tuple[Guest, ...] = (GIL,)
    owners: int = 2
    policy_id: PolicyId = POLICY
    assigned_at: datetime = ASSIGNED_AT
    is_begun: bool = False
    answer: Answer = well
    accepted: Collection[ClockPlace] = ()
    clocks: tuple[Clock, ...] = ()
    told: list[Told] = field(default_factory=list)
    findings: dict[tuple[FindingKind, str], str] = field(default_factory=dict)
    ended: list[tuple[float, str, str]] = field(default_factory=list)

    @property
    def present(self) -> Present:
        """Who is there."""
        return Present(self.guests, self.owners)

    def look(self, day: float) -> Evaluation:
        """One evaluation, of which nothing is done."""
        policy = AppliedPolicy(self.policy_id, self.rules, self.assigned_at, self.is_begun)
        return evaluate(SUBJECT, policy, self.present, self.clocks, now=moment(day), accepted=self.accepted)

    def run(self, day: float) -> datetime | None:
        """One run, with all that is done by it; gives when the next one is needed."""
        evaluation = self.look(day)
        self.keep(day, evaluation)
        self.is_begun = True
        acts: list[Act] = [(clock, self.answer(clock)) for clock in evaluation.due]
        settled = settle(SUBJECT, self.rules, self.clocks, acts, now=moment(day), accepted=self.accepted)
        self.guests = tuple([each for each in self.guests if each.id not in _removed(acts)])
        self.keep(day, settled)
        return settled.next_at

    def run_daily(self, until: int, *, since: int = 0) -> None:
        """A run on each of these days, the last one too."""
        for day in range(since, until + 1):
            self.run(day)

    def keep(self, day: float, evaluation: Evaluation) -> None:
        """Write what an evaluation says, as the job does."""
        kept = {clock.place: clock for clock in self.clocks}
        kept.update({clock.place: clock for clock in evaluation.changed})
        for clock in evaluation.gone:
            del kept[clock.place]
        self.clocks = tuple(kept.values())
        self.told += [(day, "reminder", *_who(clock)) for clock in evaluation.reminders]
        self.told += [(day, clock.action, *_who(clock)) for clock in evaluation.taken]
        for each in evaluation.ended:
            del self.findings[each.kind, each.about]
            self.ended.append((day, each.kind, each.state))
        self.findings.update({(each.kind, each.about): each.detail for each in evaluation.found})


def only(clocks: Sequence[Clock] | Iterable[Clock]) -> Clock:
    """The one that there is."""
    (clock,) = clocks
    return clock


def kinds(findings: Mapping[tuple[FindingKind, str], str]) -> list[str]:
    """What stands."""
    return sorted(kind for kind, _ in findings)


def _removed(acts: Sequence[Act]) -> set[UserId]:
    done = [clock for clock, trouble in acts if trouble is None and clock.action is PolicyAction.REMOVE]
    return {clock.guest.id for clock in done if clock.guest is not None}


def _who(clock: Clock) -> tuple[str, str]:
    return clock.rule, "" if clock.guest is None else clock.guest.display_name
