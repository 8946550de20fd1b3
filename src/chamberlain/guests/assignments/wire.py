# SPDX-License-Identifier: Apache-2.0
"""API models of groups and managed sites with their assignments."""

from collections.abc import Mapping
from uuid import UUID

from msgspec import UNSET, Raw, Struct, UnsetType, json

from chamberlain.changes.models import format_time
from chamberlain.core.fields import Id, Shape
from chamberlain.core.sentences import Values
from chamberlain.core.validation import Reader
from chamberlain.directory.groups import MemberShipType
from chamberlain.directory.steps import Step, title
from chamberlain.directory.subjects import Guest, Sharing
from chamberlain.guests.assignments.dry_run import AssignmentDryRun
from chamberlain.guests.assignments.models import AssignmentOrder, to_field_change
from chamberlain.guests.findings.wire import Observed
from chamberlain.guests.models import Finding, FindingKind
from chamberlain.guests.subjects.models import SubjectRecord
from chamberlain.http.wire import Actor, Time
from chamberlain.requests.models import StepRecord, StepState
from chamberlain.requests.wire import DryRunStep, StepShortfall, shortfall_of


class Assigned(Struct, rename="camel", frozen=True):
    """An assigned guest template or policy with its current name."""

    id: UUID
    name: str


class Effect(Struct, rename="camel", frozen=True, omit_defaults=True):
    """A step of the assignment in the directory.

    `reason` says why it waits or has failed. `reasonCode` and `reasonValues` are those of a wait or a warning.
    """

    name: Step
    state: StepState
    reason: str | None
    next_attempt_at: Time | None
    reason_code: str | None
    reason_values: Values | None
    shortfall: StepShortfall | None = None


class ManagedGroup(Struct, rename="camel", frozen=True):
    """A group with its assignment.

    `metadata` is that of its request, and empty for all other groups. `observedAt` is the last observation.
    """

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
    metadata: dict[str, str | bool]
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
        metadata=dict(record.metadata),
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
    again, reason = record.next_attempt_at, record.shown_reason
    return Effect(
        record.step,
        record.state,
        record.error if reason is None else reason.sentence,
        None if again is None else format_time(again),
        None if reason is None else reason.code,
        None if reason is None else reason.values,
        shortfall_of(record),
    )


class DryRunGuest(Struct, rename="camel", frozen=True):
    """The guest of a removal."""

    id: UUID
    display_name: str
    mail: str | None


class DryRunRemoval(Struct, rename="camel", frozen=True):
    """A guest who would be removed.

    `kind` is that of the finding, `detail` the violation of the template.
    """

    guest: DryRunGuest
    kind: FindingKind
    detail: str | None


class DryRunFinding(Struct, rename="camel", frozen=True):
    """A finding that would be opened."""

    kind: FindingKind
    property: str | None
    wanted: Observed
    observed: Observed
    detail: str
    policy_id: UUID | None
    action: str | None
    action_at: Time | None


class Shortfall(Struct, frozen=True):
    """A part that the directory would not do, with the next step."""

    code: str
    detail: str
    values: dict[str, str]


class DryRunAssignment(Struct, rename="camel", frozen=True):
    """The result of a dry run.

    `effects` are the steps that would change the directory.
    """

    template_id: UUID | None
    policy_id: UUID | None
    effects: tuple[DryRunStep, ...]
    removals: tuple[DryRunRemoval, ...]
    findings: tuple[DryRunFinding, ...]
    shortfalls: tuple[Shortfall, ...]


def dry_run_assignment(dry_run: AssignmentDryRun) -> DryRunAssignment:
    """Encode a dry run."""
    return DryRunAssignment(
        template_id=dry_run.assignment.template_id,
        policy_id=dry_run.assignment.policy_id,
        effects=tuple([DryRunStep(step, title(step)) for step in dry_run.steps]),
        removals=tuple([DryRunRemoval(_guest(each.guest), each.kind, each.detail) for each in dry_run.removals]),
        findings=tuple(map(_finding, dry_run.findings)),
        shortfalls=tuple([Shortfall(each.code, each.detail, dict(each.values)) for each in dry_run.shortfalls]),
    )


def _guest(guest: Guest) -> DryRunGuest:
    return DryRunGuest(guest.id, guest.display_name, guest.mail)


def _finding(found: Finding) -> DryRunFinding:
    return DryRunFinding(
        kind=found.kind,
        property=found.property,
        wanted=Raw(json.encode(found.wanted)),
        observed=Raw(json.encode(found.observed)),
        detail=found.detail,
        policy_id=found.policy_id,
        action=found.action,
        action_at=None if found.action_at is None else format_time(found.action_at),
    )


_COMMON: Mapping[str, object] = {
    "templateId": "7e000000-0000-4000-8000-000000000021",
    "policyId": None,
    "template": {"id": "7e000000-0000-4000-8000-000000000021", "name": "No guests"},
    "policy": None,
    "effects": [
        {"name": name, "state": state, "reason": None, "nextAttemptAt": None, "reasonCode": None, "reasonValues": None}
        for name, state in (("markAssignment", "succeeded"), ("setGuestAccess", "running"))
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
    "requestId": "0d9c1b7e-5a0e-4c58-9a54-3d2f6a1b7c10",
    "metadata": {"costCentre": "4711"},
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
