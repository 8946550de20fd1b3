# SPDX-License-Identifier: Apache-2.0
"""Events, audit entries and findings of policies."""

from datetime import datetime
from typing import TYPE_CHECKING

from chamberlain.auth.models import Actor, ActorType
from chamberlain.changes.models import Change, Event, EventType, Subject, format_time, shorten_name
from chamberlain.core.ids import EventId, TraceId
from chamberlain.guests.models import FindingSubject
from chamberlain.guests.policies.timers import Timer

if TYPE_CHECKING:
    from chamberlain.core.values import Json
from chamberlain.directory.subjects import Guest
from chamberlain.guests.models import Finding, FindingKind, FindingSource
from chamberlain.guests.policies.models import ConfirmedBy, PolicyAction
from chamberlain.guests.policies.timers import PolicyRule, Schedule

# The actor of actions by policies.
POLICY = Actor(ActorType.SYSTEM, None, "Policy")


def reminded(event_id: EventId, subject: FindingSubject, timer: Timer, *, now: datetime) -> Event:
    """Build the event of a reminder.

    Without a guest it reports too few owners.
    """
    return _event(event_id, EventType.POLICY_REMINDER, subject, timer, now=now)


def action_taken(
    event_id: EventId, subject: FindingSubject, timer: Timer, trace_id: TraceId, *, now: datetime
) -> Change:
    """Build the audit entry and the event of an action."""
    guest = timer.guest
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
        after={"policyId": str(timer.policy_id), "rule": timer.rule, "action": timer.action, "guest": about},
        request_id=None,
        trace_id=trace_id,
        event=_event(event_id, EventType.POLICY_ACTION_TAKEN, subject, timer, now=now),
    )


def finding_kind(rule: PolicyRule) -> FindingKind:
    """Return the kind of finding of a rule."""
    match rule:
        case PolicyRule.EXPIRY:
            return FindingKind.GUEST_EXPIRED
        case PolicyRule.REVIEW:
            return FindingKind.REVIEW_DUE
        case PolicyRule.INACTIVITY:
            return FindingKind.GUEST_INACTIVE
        case PolicyRule.MINIMUM_OWNERS:
            return FindingKind.TOO_FEW_OWNERS


def finding_about(timer: Timer) -> str:
    """Return the key of a finding within its subject.

    It is the guest's id, or nothing for owners.
    """
    return "" if timer.guest is None else str(timer.guest.id)


def guest_finding(subject: FindingSubject, timer: Timer, guest: Guest, schedule: Schedule) -> Finding:
    """Build the finding about a guest."""
    sentences = [_reason(timer, guest, schedule), _action_state(timer), timer.trouble]
    return Finding(
        subject=subject,
        kind=finding_kind(timer.rule),
        source=FindingSource.POLICY,
        about=finding_about(timer),
        property="guests",
        wanted=None,
        observed={"id": str(guest.id), "displayName": guest.display_name, "mail": guest.mail},
        detail=" ".join([each for each in sentences if each is not None]),
        action=timer.action,
        action_at=timer.action_at,
        policy_id=timer.policy_id,
    )


def owner_finding(subject: FindingSubject, timer: Timer, *, owners: int, wanted: int) -> Finding:
    """Build the finding about too few owners."""
    has = "no owner" if owners == 0 else "1 owner" if owners == 1 else f"{owners} owners"
    return Finding(
        subject=subject,
        kind=FindingKind.TOO_FEW_OWNERS,
        source=FindingSource.POLICY,
        about="",
        property="owners",
        wanted=wanted,
        observed=owners,
        detail=f"It has {has}, and the policy requires {wanted}. Add owners in the directory.",
        action=timer.action,
        policy_id=timer.policy_id,
    )


def _event(event_id: EventId, event_type: EventType, subject: FindingSubject, timer: Timer, *, now: datetime) -> Event:
    guest = timer.guest
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
            "policyId": str(timer.policy_id),
            "rule": str(timer.rule),
            "actionAt": None if timer.action_at is None else format_time(timer.action_at),
            "action": str(timer.action),
        },
    )


def _reason(timer: Timer, guest: Guest, schedule: Schedule) -> str:
    name, days = guest.display_name, schedule.period.days
    match timer.rule:
        case PolicyRule.EXPIRY:
            return f"The {days} days for which {name} may be a guest here are over."
        case PolicyRule.REVIEW:
            return _review(timer, name, schedule)
        case PolicyRule.INACTIVITY:
            return f"{name} has been inactive for {days} days."
        case PolicyRule.MINIMUM_OWNERS:
            raise ValueError("The rule about owners has no guest.")


def _action_state(timer: Timer) -> str | None:
    """Describe a completed or running action, or return None."""
    if timer.acted_at is not None:
        return "The account was disabled." if timer.action is PolicyAction.DISABLE else None
    if not timer.is_in_progress:
        return None
    return "The account is being disabled." if timer.action is PolicyAction.DISABLE else "The guest is being removed."


def _review(timer: Timer, name: str, schedule: Schedule) -> str:
    if timer.is_acting or timer.acted_at is not None:
        return f"{name} was not confirmed in time."
    who = "an owner" if schedule.confirmed_by is ConfirmedBy.OWNERS else "an administrator"
    until = "" if timer.action_at is None else f" by {timer.action_at:%Y-%m-%d}"
    return f"{name} stays only if {who} confirms it{until}."
