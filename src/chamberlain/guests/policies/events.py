"""What is told and put on record of policies: reminders, and actions that were taken."""

from datetime import datetime
from typing import TYPE_CHECKING

from chamberlain.auth.models import Actor, ActorType
from chamberlain.changes.models import Change, Subject
from chamberlain.changes.models_events import Event, EventType, format_time, shorten_name
from chamberlain.core.ids import EventId, TraceId
from chamberlain.guests.models import FindingSubject
from chamberlain.guests.policies.timers import Clock

if TYPE_CHECKING:
    from chamberlain.core.values import Json

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
