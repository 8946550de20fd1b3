"""API models of groups and managed sites with their assignments."""

from collections.abc import Mapping
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from chamberlain.changes.models import format_time
from chamberlain.core.fields import Id, Shape
from chamberlain.core.validation import Reader
from chamberlain.directory.groups import MemberShipType
from chamberlain.directory.steps import Step
from chamberlain.directory.subjects import Sharing
from chamberlain.guests.assignments.models import AssignmentOrder, to_field_change
from chamberlain.guests.subjects.models import SubjectRecord
from chamberlain.http.wire import Actor, Time
from chamberlain.requests.models import StepRecord, StepState


class Assigned(Struct, rename="camel", frozen=True):
    """An assigned guest template or policy with its current name."""

    id: UUID
    name: str


class Effect(Struct, rename="camel", frozen=True):
    """A step of the assignment in the directory.

    `reason` says why it waits or has failed.
    """

    name: Step
    state: StepState
    reason: str | None
    next_attempt_at: Time | None


class ManagedGroup(Struct, rename="camel", frozen=True):
    """A group with its assignment. `observedAt` is the last observation."""

    id: UUID
    tenant_id: UUID
    display_name: str
    mail: str | None
    is_team: bool
    member_ship_type: MemberShipType
    template_id: UUID | None
    policy_id: UUID | None
    template: Assigned | None
    policy: Assigned | None
    effects: tuple[Effect, ...]
    open_findings: int
    request_id: UUID | None
    assignment_request_id: UUID | None
    assigned_at: Time | None
    assigned_by: Actor | None
    observed_at: Time


class ManagedSite(Struct, rename="camel", frozen=True):
    """A site with its assignment.

    Its `id` is that of its security group.
    """

    id: UUID
    tenant_id: UUID
    security_group_id: UUID
    display_name: str
    site_url: str | None
    sharing_capability: Sharing | None
    template_id: UUID | None
    policy_id: UUID | None
    template: Assigned | None
    policy: Assigned | None
    effects: tuple[Effect, ...]
    open_findings: int
    assignment_request_id: UUID | None
    assigned_at: Time | None
    assigned_by: Actor | None
    observed_at: Time


def managed_group_of(record: SubjectRecord) -> ManagedGroup:
    """Encode a group."""
    entry = record.entry
    return ManagedGroup(
        id=entry.id,
        tenant_id=entry.tenant_id,
        display_name=entry.display_name,
        mail=entry.mail,
        is_team=entry.is_team,
        member_ship_type=entry.member_ship_type,
        template_id=record.assignment.template_id,
        policy_id=record.assignment.policy_id,
        template=_template(record),
        policy=_policy(record),
        effects=tuple(map(_effect, record.effects)),
        open_findings=record.open_findings,
        request_id=entry.request_id,
        assignment_request_id=record.assignment_request_id,
        assigned_at=None if record.assigned_at is None else format_time(record.assigned_at),
        assigned_by=_actor(record),
        observed_at=format_time(entry.observed_at),
    )


def managed_site_of(record: SubjectRecord) -> ManagedSite:
    """Encode a site."""
    entry = record.entry
    return ManagedSite(
        id=entry.id,
        tenant_id=entry.tenant_id,
        security_group_id=entry.id,
        display_name=entry.display_name,
        site_url=entry.site_url,
        sharing_capability=entry.sharing,
        template_id=record.assignment.template_id,
        policy_id=record.assignment.policy_id,
        template=_template(record),
        policy=_policy(record),
        effects=tuple(map(_effect, record.effects)),
        open_findings=record.open_findings,
        assignment_request_id=record.assignment_request_id,
        assigned_at=None if record.assigned_at is None else format_time(record.assigned_at),
        assigned_by=_actor(record),
        observed_at=format_time(entry.observed_at),
    )


def _template(record: SubjectRecord) -> Assigned | None:
    template_id, name = record.assignment.template_id, record.template_name
    return None if template_id is None or name is None else Assigned(template_id, name)


def _policy(record: SubjectRecord) -> Assigned | None:
    policy_id, name = record.assignment.policy_id, record.policy_name
    return None if policy_id is None or name is None else Assigned(policy_id, name)


def _actor(record: SubjectRecord) -> Actor | None:
    actor = record.assigned_by
    return None if actor is None else Actor(actor.type, actor.id, actor.display_name)


def _effect(record: StepRecord) -> Effect:
    again = record.next_attempt_at
    return Effect(
        record.step, record.state, record.reason or record.error, None if again is None else format_time(again)
    )


_COMMON: Mapping[str, object] = {
    "templateId": "7e000000-0000-4000-8000-000000000021",
    "policyId": None,
    "template": {"id": "7e000000-0000-4000-8000-000000000021", "name": "No guests"},
    "policy": None,
    "effects": [
        {"name": "markAssignment", "state": "succeeded", "reason": None, "nextAttemptAt": None},
        {"name": "setGuestAccess", "state": "running", "reason": None, "nextAttemptAt": None},
    ],
    "openFindings": 1,
    "assignmentRequestId": "3b1f0a52-7a0e-4f0b-8a55-0f6f5b7f2f12",
    "assignedAt": "2026-11-20T09:30:00.000Z",
    "assignedBy": {"type": "user", "id": "ada00000-0000-4000-8000-000000000001", "displayName": "Ada Achterberg"},
    "observedAt": "2026-11-20T09:29:00.000Z",
}
GROUP_EXAMPLE: Mapping[str, object] = {
    "id": "94000000-0000-4000-8000-000000000001",
    "tenantId": "e57a7e00-0000-4000-8000-000000000001",
    "displayName": "All staff",
    "mail": "all-staff@estate.example",
    "isTeam": False,
    "memberShipType": 0,
    "requestId": None,
    **_COMMON,
}
SITE_EXAMPLE: Mapping[str, object] = {
    "id": "51730000-0000-4000-8000-000000000001",
    "tenantId": "e57a7e00-0000-4000-8000-000000000001",
    "securityGroupId": "51730000-0000-4000-8000-000000000001",
    "displayName": "Handbook",
    "siteUrl": "https://sites.estate.example/handbook",
    "sharingCapability": "existingGuests",
    **_COMMON,
}


class AssignmentBody(Shape, frozen=True, kw_only=True):
    """A change of an assignment.

    The all-zero UUID clears a field, and null is invalid.
    """

    template_id: Id | UnsetType = UNSET
    policy_id: Id | UnsetType = UNSET


ASSIGNMENT = Reader(AssignmentBody)


def to_assignment_order(body: AssignmentBody) -> AssignmentOrder:
    """Convert a body to a change."""
    return AssignmentOrder(
        template=to_field_change(_sent(body.template_id)), policy=to_field_change(_sent(body.policy_id))
    )


def _sent(value: str | UnsetType) -> UUID | None:
    return None if value is UNSET else UUID(value)
