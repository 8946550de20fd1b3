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
ClockPlace: TypeAlias = tuple[PolicyRule, UserId | None]

# After how long what could not be done is tried again. Ours: its cause is for a person to remove, in the directory.
TRY_AGAIN = timedelta(days=1)
NO_TIME = timedelta(0)


@dataclass(frozen=True, slots=True)
class Clock:
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
    def place(self) -> ClockPlace:
        """What tells it from the others of its group or site."""
        return self.rule, None if self.guest is None else self.guest.id

    @property
    def is_told(self) -> bool:
        """Whether there is a finding about it: of a review while it is open, else from the action on."""
        match self.rule:
            case PolicyRule.EXPIRY | PolicyRule.INACTIVITY:
                return self.is_acting or self.acted_at is not None
            case PolicyRule.REVIEW:
                return self.action_at is not None
            case PolicyRule.MINIMUM_OWNERS:
                return True

    @property
    def is_under_way(self) -> bool:
        """Whether somebody may just be taking the action: until it is known what came of it, nothing else counts."""
        return self.is_acting and self.trouble is None


@dataclass(frozen=True, slots=True)
class Course:
    """What a rule about guests says of time: the action comes `period` after the start; of a review, `answer` after it
    has opened, which it does then. `reminder_days` begin with the farthest from the action."""

    rule: PolicyRule
    terms: str
    period: timedelta
    answer: timedelta | None
    reminder_days: tuple[int, ...]
    action: PolicyAction
    confirmed_by: ConfirmedBy | None = None


class Happening(Enum):
    """What happens with a clock at one moment; `DUE` is an action that the directory has to be asked for."""

    NOTHING = auto()
    REMINDER = auto()
    TAKEN = auto()
    DUE = auto()


def courses_of(rules: PolicyRules) -> Iterator[Course]:
    """What a policy says about guests, rule by rule."""
    if (expiry := rules.expiry) is not None:
        yield _course(PolicyRule.EXPIRY, expiry.after_days, expiry.reminder_days, expiry.action)
    if rules.review is not None:
        yield course_of_review(rules.review)
    if (inactivity := rules.inactivity) is not None:
        yield _course(PolicyRule.INACTIVITY, inactivity.after_days, inactivity.reminder_days, inactivity.action)


def course_of_review(review: Review) -> Course:
    """What a policy says about reviews."""
    course = _course(PolicyRule.REVIEW, review.every_days, review.reminder_days, review.action)
    terms = f"{course.terms} answerDays={review.answer_days} confirmedBy={review.confirmed_by}"
    return replace(
        course, terms=terms, answer=timedelta(days=review.answer_days), confirmed_by=ConfirmedBy(review.confirmed_by)
    )


def started(course: Course, guest: Guest, policy_id: PolicyId, *, at: datetime) -> Clock:
    """The clock of a guest for whom a rule begins to count."""
    clock = Clock(
        rule=course.rule,
        guest=replace(guest, last_seen_at=None),
        policy_id=policy_id,
        terms=course.terms,
        action=course.action,
        started_at=at,
        action_at=None,
        next_at=at + course.period,
    )
    return clock if course.answer is not None else _waiting(clock, course, action_at=at + course.period)


def tick(clock: Clock, course: Course, *, now: datetime) -> tuple[Clock, Happening]:
    """The clock as it is now, and what happens: one thing at a time, and after a silence the nearest reminder only.

    No action comes in the run in which it would be the first that is heard of it, where reminders were asked for: it
    moves, and comes as long after the nearest reminder as that is to come before it.
    """
    if clock.next_at is None or now < clock.next_at:
        return clock, Happening.NOTHING
    if clock.is_acting:
        if _is_unannounced(clock, course):
            return _announced(clock, course, now=now), Happening.REMINDER
        return replace(clock, trouble=None), Happening.DUE
    # A review opens now. Who shall answer has the whole time for it, however late that is.
    action_at = clock.action_at or now + (course.answer or NO_TIME)
    if now >= action_at:
        return _acted(clock, course, now=now)
    return _reminded(clock, course, action_at=action_at, now=now)


def rested(clock: Clock) -> Clock:
    """The clock while somebody lets its finding stand: nothing comes by itself, be it that its action was tried
    already."""
    return clock if clock.next_at is None else replace(clock, next_at=None)


def resumed(clock: Clock, course: Course, *, now: datetime) -> Clock:
    """The clock that goes on when nobody lets its finding stand any more: reminders are given anew, and who shall
    answer has the whole time for it. An action that was tried before is tried again, behind the nearest of them."""
    action_at = clock.action_at
    if clock.next_at is not None or clock.acted_at is not None or action_at is None:
        return clock
    if course.answer is not None:
        action_at = now + course.answer
        clock = replace(clock, is_acting=False, trouble=None)
    elif clock.is_acting:
        return replace(clock, reminded=None, next_at=now)
    return _waiting(replace(clock, reminded=None), course, action_at=action_at)


def confirm(clock: Clock, review: Review, *, now: datetime) -> Clock | None:
    """The clock of a guest of whom somebody says in a review that they stay: the next one counts from now. None when no
    review is open, or when the action is just being taken."""
    if clock.rule is not PolicyRule.REVIEW or clock.guest is None or clock.action_at is None or clock.is_under_way:
        return None
    begun = started(course_of_review(review), clock.guest, clock.policy_id, at=now)
    return replace(begun, round=clock.round + 1)


def after_trouble(clock: Clock, trouble: str, *, now: datetime) -> Clock:
    """The clock whose action was not taken, for a reason that is a sentence."""
    return replace(clock, trouble=trouble, next_at=now + TRY_AGAIN)


def after_action(clock: Clock, *, now: datetime) -> Clock:
    """The clock whose action was taken."""
    return replace(clock, is_acting=False, trouble=None, acted_at=now, next_at=None)


def terms_of_owners(count: int) -> str:
    """What the rule about owners says."""
    return f"count={count}"


def _course(rule: PolicyRule, days: int, reminder_days: tuple[int, ...], action: PolicyAction) -> Course:
    farthest_first = tuple(sorted(reminder_days, reverse=True))
    # This is stored: another spelling of the same would start all clocks anew.
    terms = f"days={days} reminderDays={','.join(map(str, farthest_first))} action={action}"
    return Course(rule, terms, timedelta(days=days), None, farthest_first, PolicyAction(action))


def _acted(clock: Clock, course: Course, *, now: datetime) -> tuple[Clock, Happening]:
    if _is_unannounced(clock, course):
        return _announced(clock, course, now=now), Happening.REMINDER
    match clock.action:
        case PolicyAction.NOTIFY:
            return after_action(clock, now=now), Happening.TAKEN
        case PolicyAction.DISABLE | PolicyAction.REMOVE:
            return replace(clock, is_acting=True, next_at=now), Happening.DUE


def _is_unannounced(clock: Clock, course: Course) -> bool:
    """Whether the action would be the first that is heard of it, though reminders are asked for."""
    return bool(course.reminder_days) and clock.reminded is None


def _announced(clock: Clock, course: Course, *, now: datetime) -> Clock:
    """The clock whose action comes as long from now as the nearest reminder is before it."""
    nearest = course.reminder_days[-1]
    action_at = now + timedelta(days=nearest)
    return replace(clock, action_at=action_at, next_at=action_at, reminded=nearest)


def _reminded(clock: Clock, course: Course, *, action_at: datetime, now: datetime) -> tuple[Clock, Happening]:
    due = [days for days in _left(clock, course) if action_at - timedelta(days=days) <= now]
    if not due:
        return _waiting(clock, course, action_at=action_at), Happening.NOTHING
    return _waiting(replace(clock, reminded=due[-1]), course, action_at=action_at), Happening.REMINDER


def _waiting(clock: Clock, course: Course, *, action_at: datetime) -> Clock:
    """The clock with its action at that time, and with the next moment when something happens."""
    left = _left(clock, course)
    next_at = action_at - timedelta(days=left[0]) if left else action_at
    return replace(clock, action_at=action_at, next_at=next_at)


def _left(clock: Clock, course: Course) -> tuple[int, ...]:
    """The reminders that are still to come, farthest from the action first."""
    reminded = clock.reminded
    return tuple([days for days in course.reminder_days if reminded is None or days < reminded])
