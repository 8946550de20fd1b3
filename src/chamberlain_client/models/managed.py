"""Groups and sites, with the guest template and policy that are assigned to them."""

from datetime import datetime
from uuid import UUID

from chamberlain_client.models.actors import Actor, Named
from chamberlain_client.models.collab_templates import SharingCapability
from chamberlain_client.models.groups import MemberShipType
from chamberlain_client.models.model import Model, Versioned
from chamberlain_client.models.requests import StepState


class Effect(Model, frozen=True, kw_only=True):
    """One step of an assignment towards the directory."""

    name: str
    state: StepState
    reason: str | None
    next_attempt_at: datetime | None


class Managed(Versioned, frozen=True, kw_only=True):
    """What groups and sites have in common."""

    id: UUID
    tenant_id: UUID
    display_name: str
    template_id: UUID | None
    policy_id: UUID | None
    template: Named | None
    policy: Named | None
    effects: tuple[Effect, ...]
    open_findings: int
    assignment_request_id: UUID | None
    assigned_at: datetime | None
    assigned_by: Actor | None
    observed_at: datetime


class ManagedGroup(Managed, frozen=True, kw_only=True):
    """A group of the directory. `request_id` is that of the request which has made it, if one has."""

    mail: str | None
    is_team: bool
    member_ship_type: MemberShipType
    request_id: UUID | None


class ManagedSite(Managed, frozen=True, kw_only=True):
    """A site; its `id` is that of its security group."""

    security_group_id: UUID
    site_url: str | None
    sharing_capability: SharingCapability | None
