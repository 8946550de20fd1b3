"""Guest policies: rules over time for guests, which days fit together, and whether one can be used."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from chamberlain.core.errors import Fault
from chamberlain.core.ids import PolicyId, TenantId


class PolicyAction(StrEnum):
    """What is done when the time of a rule has come."""

    NOTIFY = "notify"
    DISABLE = "disable"
    REMOVE = "remove"


class ConfirmedBy(StrEnum):
    """Who says in a review that a guest stays."""

    OWNERS = "owners"
    ADMINISTRATORS = "administrators"


@dataclass(frozen=True, slots=True)
class Expiry:
    """So many days after the clock has started; reminders come so many days before the action."""

    after_days: int
    reminder_days: tuple[int, ...]
    action: PolicyAction


@dataclass(frozen=True, slots=True)
class Review:
    """Every so many days the guests are confirmed. Who is not so within `answer_days` meets the action."""

    every_days: int
    answer_days: int
    confirmed_by: ConfirmedBy
    reminder_days: tuple[int, ...]
    action: PolicyAction


@dataclass(frozen=True, slots=True)
class Inactivity:
    """So many days without a sign of the guest."""

    after_days: int
    reminder_days: tuple[int, ...]
    action: PolicyAction


@dataclass(frozen=True, slots=True)
class MinimumOwners:
    """Fewer owners than that are told about."""

    count: int
    reminder_days: tuple[int, ...]
    action: PolicyAction


@dataclass(frozen=True, slots=True)
class PolicyRules:
    """What a policy asks for; a rule of None does not apply."""

    expiry: Expiry | None
    review: Review | None
    inactivity: Inactivity | None
    minimum_owners: MinimumOwners | None


@dataclass(frozen=True, slots=True)
class PolicyHead:
    """What is known of every policy without reading its rules."""

    tenant_id: TenantId
    id: PolicyId
    revision: int
    name: str
    active: bool


@dataclass(frozen=True, slots=True)
class StoredPolicy:
    """A policy as it is kept: its head, and the whole as JSON in the shape of SHAPES.md."""

    head: PolicyHead
    content: bytes


def policy_fault(head: PolicyHead | None, pointer: str = "/policyId") -> Fault | None:
    """Why a policy cannot be assigned or named, if it cannot. A head of None: there is no such policy."""
    if head is None:
        return Fault(pointer, "policyUnknown", "There is no such policy. Choose one from the list.")
    if not head.active:
        detail = "This policy is not in use at present. Choose another, or ask an administrator to activate it."
        return Fault(pointer, "policyInactive", detail)
    return None


def policy_faults(rules: PolicyRules, pointer: str = "") -> Iterator[Fault]:
    """Which days of a policy do not go together."""
    if (expiry := rules.expiry) is not None:
        yield from _reminder_faults(expiry.reminder_days, expiry.after_days, "afterDays", f"{pointer}/expiry")
    if (review := rules.review) is not None:
        yield from _answer_faults(review, f"{pointer}/review")
        yield from _reminder_faults(review.reminder_days, review.answer_days, "answerDays", f"{pointer}/review")
    if (inactivity := rules.inactivity) is not None:
        within = inactivity.after_days
        yield from _reminder_faults(inactivity.reminder_days, within, "afterDays", f"{pointer}/inactivity")
    if (owners := rules.minimum_owners) is not None:
        yield from _doubled(owners.reminder_days, f"{pointer}/minimumOwners")


def _answer_faults(review: Review, pointer: str) -> Iterator[Fault]:
    if review.answer_days > review.every_days:
        detail = f"The next review would begin before this one is answered: expected at most {review.every_days} days."
        yield Fault(f"{pointer}/answerDays", "ruleInvalid", detail)


def _reminder_faults(days: Sequence[int], within: int, name: str, pointer: str) -> Iterator[Fault]:
    """A reminder comes between the moment from which the days count and the action, each day once."""
    for place, day in enumerate(days):
        if day > within:
            detail = f"{day} days before the action nothing has begun yet: expected at most {name}, which is {within}."
            yield Fault(f"{pointer}/reminderDays/{place}", "ruleInvalid", detail)
    yield from _doubled(days, pointer)


def _doubled(days: Sequence[int], pointer: str) -> Iterator[Fault]:
    for day, times in Counter(days).items():
        if times > 1:
            place = len(days) - 1 - list(reversed(days)).index(day)
            detail = f"{day} is there {times} times. One reminder a day is enough."
            yield Fault(f"{pointer}/reminderDays/{place}", "ruleInvalid", detail)
