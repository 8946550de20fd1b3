"""Departures: what was assigned to a group or site that the directory does not have any more."""

from dataclasses import dataclass
from datetime import datetime

from chamberlain.auth.models import SERVICE
from chamberlain.changes.models import Change, Subject
from chamberlain.core.ids import EventId, GroupId, TenantId, TraceId
from chamberlain.directory.subjects import SubjectType
from chamberlain.guests.assignments.events import AssignedSubject, assignment_changed, assignment_document
from chamberlain.guests.models import Assignment


@dataclass(frozen=True, slots=True)
class Departure:
    """A group or site that is gone, with what was assigned to it."""

    tenant_id: TenantId
    id: GroupId
    type: SubjectType
    display_name: str
    assignment: Assignment


def change_of(departure: Departure, trace_id: TraceId, event_id: EventId, *, now: datetime) -> Change:
    """The record that the assignment went with the group, and the event that tells of it; the service found that out
    itself."""
    assigned = assignment_document(departure.assignment)
    return Change(
        tenant_id=departure.tenant_id,
        action=f"{departure.type}.assign",
        actor=SERVICE,
        client_id=None,
        subject=Subject(departure.type, departure.id, departure.display_name),
        before={name: value for name, value in assigned.items() if value is not None},
        after=None,
        request_id=None,
        trace_id=trace_id,
        event=assignment_changed(
            event_id,
            AssignedSubject(departure.tenant_id, departure.id, departure.type, departure.display_name),
            departure.assignment,
            Assignment(),
            request_id=None,
            changed_by=SERVICE,
            now=now,
        ),
    )
