"""What is told and put on record of policies: reminders, and actions that were taken."""

from datetime import datetime
from typing import TYPE_CHECKING

from chamberlain.auth.models import Actor, ActorType
from chamberlain.changes.models import Change, Event, EventType, Subject, format_time, shorten_name
from chamberlain.core.ids import EventId, TraceId
from chamberlain.guests.models import FindingSubject
from chamberlain.guests.policies.timers import Clock

if TYPE_CHECKING:
    from chamberlain.core.values import Json
from chamberlain.directory.subjects import Guest
from chamberlain.guests.models import FindingKind, FindingSource, Found
from chamberlain.guests.policies.models import ConfirmedBy, PolicyAction
from chamberlain.guests.policies.timers import Course, PolicyRule

# Who takes actions: nobody asked for them at that moment.
POLICY = Actor(ActorType.SYSTEM, None, "Policy")


def reminded(event_id: EventId, subject: FindingSubject, clock: Clock, *, now: datetime) -> Event:
    """An action will be taken; or, without a guest, the owners are too few."""
    return _event(event_id, EventType.POLICY_REMINDER, subject, clock, now=now)


def action_taken(
    event_id: EventId, subject: FindingSubject, clock: Clock, trace_id: TraceId, *, now: datetime
) -> Change:
    """The record of an action that was taken, and the event that tells of it."""
    guest = clock.guest
    about: Json = (
        None if guest is None else {"id": str(guest.id), "displayName": guest.display_name, "mail": guest.mail}
    )
    return Change(
        tenant_id=subject.tenant_id,
        action="policy.act",
        actor=POLICY,
        client_id=None,
        subject=Subject(subject.type, subject.id, subject.display_name),
        before=None,
        after={"policyId": str(clock.policy_id), "rule": clock.rule, "action": clock.action, "guest": about},
        request_id=None,
        trace_id=trace_id,
        event=_event(event_id, EventType.POLICY_ACTION_TAKEN, subject, clock, now=now),
    )


def _event(event_id: EventId, event_type: EventType, subject: FindingSubject, clock: Clock, *, now: datetime) -> Event:
    guest = clock.guest
    return Event(
        id=event_id,
        type=event_type,
        timestamp=now,
        tenant_id=subject.tenant_id,
        request_id=None,
        data={
            "subject": {
                "type": str(subject.type),
                "id": str(subject.id),
                "displayName": shorten_name(subject.display_name),
            },
            "guest": None if guest is None else {"id": str(guest.id), "mail": guest.mail},
            "policyId": str(clock.policy_id),
            "rule": str(clock.rule),
            "actionAt": None if clock.action_at is None else format_time(clock.action_at),
            "action": str(clock.action),
        },
    )


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
