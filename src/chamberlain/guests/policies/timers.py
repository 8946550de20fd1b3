"""Clocks: since when a rule of a policy counts for a guest, what was told about it already, and what comes next.

A clock goes on by its own content, what the rule says, and the time; nothing else has a say.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum, StrEnum, auto
from typing import TypeAlias

from chamberlain.core.ids import PolicyId, UserId
from chamberlain.directory.subjects import Guest
from chamberlain.guests.policies.models import ConfirmedBy, PolicyAction, PolicyRules, Review


class PolicyRule(StrEnum):
    """The rules that a policy can have."""

    EXPIRY = "expiry"
    REVIEW = "review"
    INACTIVITY = "inactivity"
    MINIMUM_OWNERS = "minimumOwners"


# What tells a clock of a group or site from its others; the rule about owners is about no guest.
TimerKey: TypeAlias = tuple[PolicyRule, UserId | None]
# After how long what could not be done is tried again. Ours: its cause is for a person to remove, in the directory.
RETRY_AFTER = timedelta(days=1)
ZERO = timedelta(0)


@dataclass(frozen=True, slots=True)
class Timer:
    """How far a rule has come with a guest, or with the owners (then without a guest).

    `terms` are what the rule said when the clock was started: when it says something else, the clock starts anew.
    `round` counts reviews from 1. A review that is not open yet has no `action_at`. `next_at` is when something
    happens, None when nothing will, be it that somebody lets the finding stand. `reminded` is the last reminder of this
    round, by its days before the action. `is_acting` says that the action was announced and may have been taken without
    our having heard of it; with `trouble` it is known why it was not. `acted_at` is when it was taken.
    """

    rule: PolicyRule
    guest: Guest | None
    policy_id: PolicyId
    terms: str
    action: PolicyAction
    started_at: datetime
    action_at: datetime | None
    next_at: datetime | None
    round: int = 1
    reminded: int | None = None
    is_acting: bool = False
    trouble: str | None = None
    acted_at: datetime | None = None

    @property
    def place(self) -> TimerKey:
        """What tells it from the others of its group or site."""
        return self.rule, None if self.guest is None else self.guest.id

    @property
    def has_finding(self) -> bool:
        """Whether there is a finding about it: of a review while it is open, else from the action on."""
        match self.rule:
            case PolicyRule.EXPIRY | PolicyRule.INACTIVITY:
                return self.is_acting or self.acted_at is not None
            case PolicyRule.REVIEW:
                return self.action_at is not None
            case PolicyRule.MINIMUM_OWNERS:
                return True

    @property
    def is_in_progress(self) -> bool:
        """Whether somebody may just be taking the action: until it is known what came of it, nothing else counts."""
        return self.is_acting and self.trouble is None


@dataclass(frozen=True, slots=True)
class Schedule:
    """What a rule about guests says of time: the action comes `period` after the start; of a review, `answer` after it
    has opened, which it does then. `reminder_days` begin with the farthest from the action."""

    rule: PolicyRule
    terms: str
    period: timedelta
    answer: timedelta | None
    reminder_days: tuple[int, ...]
    action: PolicyAction
    confirmed_by: ConfirmedBy | None = None


class TimerEvent(Enum):
    """What happens with a clock at one moment; `DUE` is an action that the directory has to be asked for."""

    NOTHING = auto()
    REMINDER = auto()
    TAKEN = auto()
    DUE = auto()


def guest_schedules(rules: PolicyRules) -> Iterator[Schedule]:
    """What a policy says about guests, rule by rule."""
    if (expiry := rules.expiry) is not None:
        yield _schedule(PolicyRule.EXPIRY, expiry.after_days, expiry.reminder_days, expiry.action)
    if rules.review is not None:
        yield review_schedule(rules.review)
    if (inactivity := rules.inactivity) is not None:
        yield _schedule(PolicyRule.INACTIVITY, inactivity.after_days, inactivity.reminder_days, inactivity.action)


def review_schedule(review: Review) -> Schedule:
    """What a policy says about reviews."""
    schedule = _schedule(PolicyRule.REVIEW, review.every_days, review.reminder_days, review.action)
    terms = f"{schedule.terms} answerDays={review.answer_days} confirmedBy={review.confirmed_by}"
    return replace(
        schedule, terms=terms, answer=timedelta(days=review.answer_days), confirmed_by=ConfirmedBy(review.confirmed_by)
    )


def start_timer(schedule: Schedule, guest: Guest, policy_id: PolicyId, *, at: datetime) -> Timer:
    """The clock of a guest for whom a rule begins to count."""
    timer = Timer(
        rule=schedule.rule,
        guest=replace(guest, last_seen_at=None),
        policy_id=policy_id,
        terms=schedule.terms,
        action=schedule.action,
        started_at=at,
        action_at=None,
        next_at=at + schedule.period,
    )
    return timer if schedule.answer is not None else _schedule_action(timer, schedule, action_at=at + schedule.period)


def advance(timer: Timer, schedule: Schedule, *, now: datetime) -> tuple[Timer, TimerEvent]:
    """The clock as it is now, and what happens: one thing at a time, and after a silence the nearest reminder only.

    No action comes in the run in which it would be the first that is heard of it, where reminders were asked for: it
    moves, and comes as long after the nearest reminder as that is to come before it.
    """
    if timer.next_at is None or now < timer.next_at:
        return timer, TimerEvent.NOTHING
    if timer.is_acting:
        if _is_unannounced(timer, schedule):
            return _announce(timer, schedule, now=now), TimerEvent.REMINDER
        return replace(timer, trouble=None), TimerEvent.DUE
    # A review opens now. Who shall answer has the whole time for it, however late that is.
    action_at = timer.action_at or now + (schedule.answer or ZERO)
    if now >= action_at:
        return _apply(timer, schedule, now=now)
    return _remind(timer, schedule, action_at=action_at, now=now)


def pause(timer: Timer) -> Timer:
    """The clock while somebody lets its finding stand: nothing comes by itself, be it that its action was tried
    already."""
    return timer if timer.next_at is None else replace(timer, next_at=None)


def resume(timer: Timer, schedule: Schedule, *, now: datetime) -> Timer:
    """The clock that goes on when nobody lets its finding stand any more: reminders are given anew, and who shall
    answer has the whole time for it. An action that was tried before is tried again, behind the nearest of them."""
    action_at = timer.action_at
    if timer.next_at is not None or timer.acted_at is not None or action_at is None:
        return timer
    if schedule.answer is not None:
        action_at = now + schedule.answer
        timer = replace(timer, is_acting=False, trouble=None)
    elif timer.is_acting:
        return replace(timer, reminded=None, next_at=now)
    return _schedule_action(replace(timer, reminded=None), schedule, action_at=action_at)


def confirm(timer: Timer, review: Review, *, now: datetime) -> Timer | None:
    """The clock of a guest of whom somebody says in a review that they stay: the next one counts from now. None when no
    review is open, or when the action is just being taken."""
    if timer.rule is not PolicyRule.REVIEW or timer.guest is None or timer.action_at is None or timer.is_in_progress:
        return None
    start_run = start_timer(review_schedule(review), timer.guest, timer.policy_id, at=now)
    return replace(start_run, round=timer.round + 1)


def record_failure(timer: Timer, trouble: str, *, now: datetime) -> Timer:
    """The clock whose action was not taken, for a reason that is a sentence."""
    return replace(timer, trouble=trouble, next_at=now + RETRY_AFTER)


def record_success(timer: Timer, *, now: datetime) -> Timer:
    """The clock whose action was taken."""
    return replace(timer, is_acting=False, trouble=None, acted_at=now, next_at=None)


def owner_terms(count: int) -> str:
    """What the rule about owners says."""
    return f"count={count}"


def _schedule(rule: PolicyRule, days: int, reminder_days: tuple[int, ...], action: PolicyAction) -> Schedule:
    farthest_first = tuple(sorted(reminder_days, reverse=True))
    # This is stored: another spelling of the same would start all clocks anew.
    terms = f"days={days} reminderDays={','.join(map(str, farthest_first))} action={action}"
    return Schedule(rule, terms, timedelta(days=days), None, farthest_first, PolicyAction(action))


def _schedule_action(timer: Timer, schedule: Schedule, *, action_at: datetime) -> Timer:
    """The clock with its action at that time, and with the next moment when something happens."""
    left = _remaining_reminders(timer, schedule)
    next_at = action_at - timedelta(days=left[0]) if left else action_at
    return replace(timer, action_at=action_at, next_at=next_at)


def _is_unannounced(timer: Timer, schedule: Schedule) -> bool:
    """Whether the action would be the first that is heard of it, though reminders are asked for."""
    return bool(schedule.reminder_days) and timer.reminded is None


def _announce(timer: Timer, schedule: Schedule, *, now: datetime) -> Timer:
    """The clock whose action comes as long from now as the nearest reminder is before it."""
    nearest = schedule.reminder_days[-1]
    action_at = now + timedelta(days=nearest)
    return replace(timer, action_at=action_at, next_at=action_at, reminded=nearest)


def _apply(timer: Timer, schedule: Schedule, *, now: datetime) -> tuple[Timer, TimerEvent]:
    if _is_unannounced(timer, schedule):
        return _announce(timer, schedule, now=now), TimerEvent.REMINDER
    match timer.action:
        case PolicyAction.NOTIFY:
            return record_success(timer, now=now), TimerEvent.TAKEN
        case PolicyAction.DISABLE | PolicyAction.REMOVE:
            return replace(timer, is_acting=True, next_at=now), TimerEvent.DUE


def _remind(timer: Timer, schedule: Schedule, *, action_at: datetime, now: datetime) -> tuple[Timer, TimerEvent]:
    due = [days for days in _remaining_reminders(timer, schedule) if action_at - timedelta(days=days) <= now]
    if not due:
        return _schedule_action(timer, schedule, action_at=action_at), TimerEvent.NOTHING
    return _schedule_action(replace(timer, reminded=due[-1]), schedule, action_at=action_at), TimerEvent.REMINDER


def _remaining_reminders(timer: Timer, schedule: Schedule) -> tuple[int, ...]:
    """The reminders that are still to come, farthest from the action first."""
    reminded = timer.reminded
    return tuple([days for days in schedule.reminder_days if reminded is None or days < reminded])
