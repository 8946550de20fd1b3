"""What policies find, in the words of findings: guests whose time is over, reviews that are open, too few owners."""

from chamberlain.directory.subjects_guests import Guest
from chamberlain.guests.models import FindingKind, FindingSource, FindingSubject, Found
from chamberlain.guests.policies.models import ConfirmedBy, PolicyAction
from chamberlain.guests.policies.timers import Clock, Course, PolicyRule


def kind_of(rule: PolicyRule) -> FindingKind:
    """What is found by a rule."""
    match rule:
        case PolicyRule.EXPIRY:
            return FindingKind.GUEST_EXPIRED
        case PolicyRule.REVIEW:
            return FindingKind.REVIEW_DUE
        case PolicyRule.INACTIVITY:
            return FindingKind.GUEST_INACTIVE
        case PolicyRule.MINIMUM_OWNERS:
            return FindingKind.TOO_FEW_OWNERS


def about_of(clock: Clock) -> str:
    """What within the group or site it is about: the guest's id, nothing for the owners."""
    return "" if clock.guest is None else str(clock.guest.id)


def guest_found(subject: FindingSubject, clock: Clock, guest: Guest, course: Course) -> Found:
    """What is told about a guest."""
    sentences = [_reason(clock, guest, course), _deed(clock), clock.trouble]
    return Found(
        subject=subject,
        kind=kind_of(clock.rule),
        source=FindingSource.POLICY,
        about=about_of(clock),
        property="guests",
        wanted=None,
        observed={"id": str(guest.id), "displayName": guest.display_name, "mail": guest.mail},
        detail=" ".join([each for each in sentences if each is not None]),
        action=clock.action,
        action_at=clock.action_at,
        policy_id=clock.policy_id,
    )


def owners_found(subject: FindingSubject, clock: Clock, *, owners: int, wanted: int) -> Found:
    """What is told about owners who are too few."""
    has = "nobody" if owners == 0 else "1 owner" if owners == 1 else f"{owners} owners"
    return Found(
        subject=subject,
        kind=FindingKind.TOO_FEW_OWNERS,
        source=FindingSource.POLICY,
        about="",
        property="owners",
        wanted=wanted,
        observed=owners,
        detail=f"It is owned by {has}, and the policy asks for {wanted}. Name more owners in the directory.",
        action=clock.action,
        policy_id=clock.policy_id,
    )


def _reason(clock: Clock, guest: Guest, course: Course) -> str:
    name, days = guest.display_name, course.period.days
    match clock.rule:
        case PolicyRule.EXPIRY:
            return f"The {days} days for which {name} may be a guest here are over."
        case PolicyRule.REVIEW:
            return _review(clock, name, course)
        case PolicyRule.INACTIVITY:
            return f"{name} has given no sign for {days} days."
        case PolicyRule.MINIMUM_OWNERS:
            raise ValueError("The rule about owners is about no guest.")


def _review(clock: Clock, name: str, course: Course) -> str:
    if clock.is_acting or clock.acted_at is not None:
        return f"Nobody has confirmed in time that {name} stays."
    who = "an owner" if course.confirmed_by is ConfirmedBy.OWNERS else "an administrator"
    until = "" if clock.action_at is None else f" by {clock.action_at:%Y-%m-%d}"
    return f"{name} stays only if {who} confirms it{until}."


def _deed(clock: Clock) -> str | None:
    """What was done, or is just being done; None where nothing is."""
    if clock.acted_at is not None:
        return "The account was disabled." if clock.action is PolicyAction.DISABLE else None
    if not clock.is_under_way:
        return None
    return "The account is being disabled." if clock.action is PolicyAction.DISABLE else "The guest is being removed."
