# SPDX-License-Identifier: Apache-2.0
"""Timers of policy rules: the next reminder or action of a guest.

A timer depends only on its own values, the rule and the time.
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


# The key of a timer within a group or site. The rule about owners has no guest.
TimerKey: TypeAlias = tuple[PolicyRule, UserId | None]
# Wait before the retry of a failed action. A person has to remove the cause in the directory.
RETRY_AFTER = timedelta(days=1)
ZERO = timedelta(0)


@dataclass(frozen=True, slots=True)
class Timer:
    """The progress of a rule with a guest, or with the owners.

    `terms` identify the rule's values. If they change, the timer starts again. `round` counts reviews from 1.
    `action_at` is None for a review that is not open yet. `next_at` is the next event, or None.

    `reminded` is the last reminder of this round, in days before the action. `is_acting` is true from the announcement
    of the action until its result. `trouble` is the reason of a failed action. `acted_at` is the time of the action.
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
        """Return the key of the timer within its group or site."""
        return self.rule, None if self.guest is None else self.guest.id

    @property
    def has_finding(self) -> bool:
        """Return whether the timer has a finding.

        A review has one while it is open, other rules from the action on.
        """
        match self.rule:
            case PolicyRule.EXPIRY | PolicyRule.INACTIVITY:
                return self.is_acting or self.acted_at is not None
            case PolicyRule.REVIEW:
                return self.action_at is not None
            case PolicyRule.MINIMUM_OWNERS:
                return True

    @property
    def is_in_progress(self) -> bool:
        """Return whether the action may be running.

        Its result must be known first.
        """
        return self.is_acting and self.trouble is None


@dataclass(frozen=True, slots=True)
class Schedule:
    """The times of a rule about guests.

    The action is `period` after the start. A review opens then, and the action follows after `answer`. `reminder_days`
    are in descending order.
    """

    rule: PolicyRule
    terms: str
    period: timedelta
    answer: timedelta | None
    reminder_days: tuple[int, ...]
    action: PolicyAction
    confirmed_by: ConfirmedBy | None = None


class TimerEvent(Enum):
    """The event of a timer at a moment.

    `DUE` is an action for the directory.
    """

    NOTHING = auto()
    REMINDER = auto()
    TAKEN = auto()
    DUE = auto()


def guest_schedules(rules: PolicyRules) -> Iterator[Schedule]:
    """List the schedules of a policy's rules about guests."""
    if (expiry := rules.expiry) is not None:
        yield _schedule(PolicyRule.EXPIRY, expiry.after_days, expiry.reminder_days, expiry.action)
    if rules.review is not None:
        yield review_schedule(rules.review)
    if (inactivity := rules.inactivity) is not None:
        yield _schedule(PolicyRule.INACTIVITY, inactivity.after_days, inactivity.reminder_days, inactivity.action)


def review_schedule(review: Review) -> Schedule:
    """Build the schedule of reviews."""
    schedule = _schedule(PolicyRule.REVIEW, review.every_days, review.reminder_days, review.action)
    terms = f"{schedule.terms} answerDays={review.answer_days} confirmedBy={review.confirmed_by}"
    return replace(
        schedule, terms=terms, answer=timedelta(days=review.answer_days), confirmed_by=ConfirmedBy(review.confirmed_by)
    )


def start_timer(schedule: Schedule, guest: Guest, policy_id: PolicyId, *, at: datetime) -> Timer:
    """Start the timer of a guest."""
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
    """Advance a timer by one event.

    After a pause only the nearest reminder is sent.

    If reminders are configured, the first run never takes the action. It sends a reminder and postpones the action
    accordingly.
    """
    if timer.next_at is None or now < timer.next_at:
        return timer, TimerEvent.NOTHING
    if timer.is_acting:
        if _is_unannounced(timer, schedule):
            return _announce(timer, schedule, now=now), TimerEvent.REMINDER
        return replace(timer, trouble=None), TimerEvent.DUE
    # The review opens now, with the whole time to answer, however late.
    action_at = timer.action_at or now + (schedule.answer or ZERO)
    if now >= action_at:
        return _apply(timer, schedule, now=now)
    return _remind(timer, schedule, action_at=action_at, now=now)


def pause(timer: Timer) -> Timer:
    """Pause the timer during an acceptance, even if its action has failed."""
    return timer if timer.next_at is None else replace(timer, next_at=None)


def resume(timer: Timer, schedule: Schedule, *, now: datetime) -> Timer:
    """Resume the timer after an acceptance.

    Reminders are sent again, and a review gets the whole time to answer. A failed action is retried after the nearest
    reminder.
    """
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
    """Restart the review timer of a confirmed guest.

    Returns None if no review is open or the action is running.
    """
    if timer.rule is not PolicyRule.REVIEW or timer.guest is None or timer.action_at is None or timer.is_in_progress:
        return None
    start_run = start_timer(review_schedule(review), timer.guest, timer.policy_id, at=now)
    return replace(start_run, round=timer.round + 1)


def record_failure(timer: Timer, trouble: str, *, now: datetime) -> Timer:
    """Record a failed action with its reason."""
    return replace(timer, trouble=trouble, next_at=now + RETRY_AFTER)


def record_success(timer: Timer, *, now: datetime) -> Timer:
    """Record a completed action."""
    return replace(timer, is_acting=False, trouble=None, acted_at=now, next_at=None)


def owner_terms(count: int) -> str:
    """Identify the values of the rule about owners."""
    return f"count={count}"


def _schedule(rule: PolicyRule, days: int, reminder_days: tuple[int, ...], action: PolicyAction) -> Schedule:
    farthest_first = tuple(sorted(reminder_days, reverse=True))
    # Stored. Another format would restart all timers.
    terms = f"days={days} reminderDays={','.join(map(str, farthest_first))} action={action}"
    return Schedule(rule, terms, timedelta(days=days), None, farthest_first, PolicyAction(action))


def _schedule_action(timer: Timer, schedule: Schedule, *, action_at: datetime) -> Timer:
    """Schedule the action and the next event of a timer."""
    left = _remaining_reminders(timer, schedule)
    next_at = action_at - timedelta(days=left[0]) if left else action_at
    return replace(timer, action_at=action_at, next_at=next_at)


def _is_unannounced(timer: Timer, schedule: Schedule) -> bool:
    """Return whether the action needs a reminder that was not sent."""
    return bool(schedule.reminder_days) and timer.reminded is None


def _announce(timer: Timer, schedule: Schedule, *, now: datetime) -> Timer:
    """Postpone the action by the days of the nearest reminder."""
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
    """Return the pending reminders, in descending order of days."""
    reminded = timer.reminded
    return tuple([days for days in schedule.reminder_days if reminded is None or days < reminded])
