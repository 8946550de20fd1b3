# SPDX-License-Identifier: Apache-2.0
"""Guest policies: rules over time, their validation and audit entries."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from chamberlain.auth.models import Actor, Editor
from chamberlain.changes.models import Change, Content, Subject, change_by, differences
from chamberlain.core.errors import Conflict, Fault, NotFound
from chamberlain.core.ids import PolicyId, TenantId
from chamberlain.templates.models import TemplateHead


class PolicyAction(StrEnum):
    """The action of a rule."""

    NOTIFY = "notify"
    DISABLE = "disable"
    REMOVE = "remove"


class ConfirmedBy(StrEnum):
    """The persons who confirm guests in a review."""

    OWNERS = "owners"
    ADMINISTRATORS = "administrators"


@dataclass(frozen=True, slots=True)
class Expiry:
    """Expiry after a number of days. Reminders count days before the action."""

    after_days: int
    reminder_days: tuple[int, ...]
    action: PolicyAction


@dataclass(frozen=True, slots=True)
class Review:
    """A review at an interval. Unconfirmed guests get the action after `answer_days`."""

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
    """A minimum number of owners. Fewer are reported."""

    count: int
    reminder_days: tuple[int, ...]
    action: PolicyAction


@dataclass(frozen=True, slots=True)
class PolicyRules:
    """The rules of a policy. A rule of None does not apply."""

    expiry: Expiry | None
    review: Review | None
    inactivity: Inactivity | None
    minimum_owners: MinimumOwners | None


@dataclass(frozen=True, slots=True)
class PolicyHead:
    """A policy without its rules."""

    tenant_id: TenantId
    id: PolicyId
    revision: int
    name: str
    active: bool


@dataclass(frozen=True, slots=True)
class StoredPolicy:
    """A stored policy: its head, and its content as JSON."""

    head: PolicyHead
    content: bytes


@dataclass(frozen=True, slots=True)
class PolicyRecord:
    """A policy with its creator and times."""

    stored: StoredPolicy
    created_at: datetime
    created_by: Actor
    updated_at: datetime

    @property
    def etag(self) -> str:
        """Names this version: a revision is never counted twice."""
        return f'"{self.stored.head.revision}"'


def policy_fault(head: PolicyHead | None, pointer: str = "/policyId") -> Fault | None:
    """Return the reason against using a policy, or None.

    A head of None means that it does not exist.
    """
    if head is None:
        sentence = "The policy does not exist. Run `chamberlain policy list` to see all."
        return Fault.build(pointer, "policyUnknown", sentence)
    if not head.active:
        sentence = "This policy is inactive. Choose another, or ask an administrator to activate it."
        return Fault.build(pointer, "policyInactive", sentence)
    return None


def policy_faults(rules: PolicyRules, pointer: str = "") -> Iterator[Fault]:
    """Validate the days of a policy."""
    if (expiry := rules.expiry) is not None:
        yield from _reminder_faults(expiry.reminder_days, expiry.after_days, "afterDays", f"{pointer}/expiry")
    if (review := rules.review) is not None:
        yield from _answer_faults(review, f"{pointer}/review")
        yield from _reminder_faults(review.reminder_days, review.answer_days, "answerDays", f"{pointer}/review")
    if (inactivity := rules.inactivity) is not None:
        within = inactivity.after_days
        yield from _reminder_faults(inactivity.reminder_days, within, "afterDays", f"{pointer}/inactivity")
    if (owners := rules.minimum_owners) is not None:
        yield from _duplicate_faults(owners.reminder_days, f"{pointer}/minimumOwners")


def present(record: PolicyRecord | None) -> PolicyRecord:
    """Return the policy. Raises NotFound for None."""
    if record is None:
        raise NotFound("The policy does not exist.")
    return record


def created(head: PolicyHead, content: Content, editor: Editor) -> Change:
    """Build the audit entry of a new policy."""
    return _change("create", head, editor, before=None, after=_without_id(content))


def replaced(head: PolicyHead, before: Content, after: Content, editor: Editor) -> Change:
    """Build the audit entry of a replaced policy, with its differences."""
    was, became = differences(before, after)
    return _change("replace", head, editor, before=was, after=became)


def removed(head: PolicyHead, content: Content, editor: Editor) -> Change:
    """Build the audit entry of a deleted policy."""
    return _change("delete", head, editor, before=_without_id(content), after=None)


def require_unused(noun: str, *, is_assigned: bool, named_by: TemplateHead | None) -> None:
    """Validate that a template or policy is not in use. Raises Conflict.

    It may be assigned, or named by a template. `noun` is its kind.
    """
    if is_assigned:
        detail = f"The {noun} is assigned to a group or site. Assign another there first, or make it inactive."
        raise Conflict("inUse", detail)
    if named_by is not None:
        detail = f'The template "{named_by.name}" names this {noun}. Remove it there first, or make it inactive.'
        raise Conflict("inUse", detail, conflicting_id=str(named_by.id))


def _reminder_faults(days: Sequence[int], within: int, name: str, pointer: str) -> Iterator[Fault]:
    """Validate that each reminder is within the period and unique."""
    for place, day in enumerate(days):
        if day > within:
            sentence = (
                "The reminder {days} days before the action is outside the period: expected at most {property}, which "
                "is {max}."
            )
            place_of_fault = f"{pointer}/reminderDays/{place}"
            yield Fault.build(place_of_fault, "ruleInvalid", sentence, days=day, property=name, max=within)
    yield from _duplicate_faults(days, pointer)


def _answer_faults(review: Review, pointer: str) -> Iterator[Fault]:
    if review.answer_days > review.every_days:
        sentence = "The next review would start before this one is answered: expected at most {max} days."
        yield Fault.build(f"{pointer}/answerDays", "ruleInvalid", sentence, max=review.every_days)


def _duplicate_faults(days: Sequence[int], pointer: str) -> Iterator[Fault]:
    for day, times in Counter(days).items():
        if times > 1:
            place = len(days) - 1 - list(reversed(days)).index(day)
            sentence = "{days} is listed {times} times. List each day once."
            yield Fault.build(f"{pointer}/reminderDays/{place}", "ruleInvalid", sentence, days=day, times=times)


def _change(verb: str, head: PolicyHead, editor: Editor, *, before: Content | None, after: Content | None) -> Change:
    return change_by(
        editor, head.tenant_id, f"policy.{verb}", Subject("policy", head.id, head.name), before=before, after=after
    )


def _without_id(content: Content) -> Content:
    """Remove the id, which is the subject of the audit entry."""
    return {name: value for name, value in content.items() if name != "id"}
