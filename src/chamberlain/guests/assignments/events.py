"""Events of assignments of guest templates and policies."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from chamberlain.auth.models import Actor
from chamberlain.changes.models import Event, EventType, actor_document, shorten_name
from chamberlain.core.ids import EventId, GroupId, RequestId, TenantId
from chamberlain.directory.subjects import SubjectType
from chamberlain.guests.models import Assignment


@dataclass(frozen=True, slots=True)
class AssignedSubject:
    """The group or site of an assignment, as in its event."""

    tenant_id: TenantId
    id: GroupId
    type: SubjectType
    display_name: str


def assignment_changed(
    event_id: EventId,
    subject: AssignedSubject,
    before: Assignment,
    after: Assignment,
    *,
    request_id: RequestId | None,
    changed_by: Actor,
    now: datetime,
) -> Event:
    """An assignment of a guest template or policy has changed.

    `request_id` is None if the group or site, or the template or policy, was deleted.
    """
    is_site = subject.type is SubjectType.SITE
    return Event(
        id=event_id,
        type=EventType.SITE_ASSIGNMENT_CHANGED if is_site else EventType.GROUP_ASSIGNMENT_CHANGED,
        timestamp=now,
        tenant_id=subject.tenant_id,
        request_id=request_id,
        data={
            str(subject.type): {"id": str(subject.id), "displayName": shorten_name(subject.display_name)},
            "before": assignment_document(before),
            "after": assignment_document(after),
            "changedBy": actor_document(changed_by),
        },
    )


def assignment_document(assignment: Assignment) -> Mapping[str, str | None]:
    """Encode an assignment, with null for none."""
    return {
        "templateId": None if assignment.template_id is None else str(assignment.template_id),
        "policyId": None if assignment.policy_id is None else str(assignment.policy_id),
    }
