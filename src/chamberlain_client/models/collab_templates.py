"""Templates of groups, teams and guests."""

from datetime import datetime
from uuid import UUID

from msgspec import UNSET, UnsetType

from chamberlain_client.models.actors import Actor
from chamberlain_client.models.groups import MemberShipType
from chamberlain_client.models.model import Model, Versioned
from chamberlain_client.models.open_enums import OpenStrEnum
from chamberlain_client.models.templates import ApprovalRule, Audience, CustomField, TemplateKind, TemplateWebhook


class GuestAdders(OpenStrEnum):
    """Who may add guests."""

    MEMBERS = "members"
    OWNERS = "owners"
    ADMINISTRATORS = "administrators"


class PresentGuests(OpenStrEnum):
    """What becomes of guests who are against the rule."""

    KEEP = "keep"
    REMOVE = "remove"


class SharingCapability(OpenStrEnum):
    """With whom a site may be shared."""

    DISABLED = "disabled"
    EXISTING_GUESTS = "existingGuests"
    NEW_AND_EXISTING_GUESTS = "newAndExistingGuests"
    ANYONE = "anyone"


class GroupNaming(Model, frozen=True, kw_only=True):
    """How names of groups are made; without `mail_nickname` it comes of the display name."""

    display_name: str = "{input}"
    mail_nickname: str | None = None


class Guests(Model, frozen=True, kw_only=True):
    """What guests may do. Without allowed domains all are, but those that are blocked."""

    allowed: bool
    added_by: GuestAdders = GuestAdders.OWNERS
    allowed_domains: tuple[str, ...] = ()
    blocked_domains: tuple[str, ...] = ()


class NewGroupTemplate(Model, frozen=True, kw_only=True):
    """A template of groups or teams to be made, or what one is to be. What is `UNSET` is not sent."""

    kind: TemplateKind
    name: str
    description: str | UnsetType | None = UNSET
    active: bool | UnsetType | None = UNSET
    audience: Audience | UnsetType | None = UNSET
    naming: GroupNaming | UnsetType | None = UNSET
    member_ship_type: MemberShipType | UnsetType | None = UNSET
    member_ship_type_changeable: bool | UnsetType | None = UNSET
    membership_rule: str | UnsetType | None = UNSET
    owners: tuple[UUID, ...] | UnsetType | None = UNSET
    members: tuple[UUID, ...] | UnsetType | None = UNSET
    minimum_owners: int | UnsetType | None = UNSET
    custom_fields: tuple[CustomField, ...] | UnsetType | None = UNSET
    label_id: str | UnsetType | None = UNSET
    channels: tuple[str, ...] | UnsetType | None = UNSET
    guest_template_id: UUID | UnsetType | None = UNSET
    guest_policy_id: UUID | UnsetType | None = UNSET
    approval: ApprovalRule | UnsetType | None = UNSET
    webhook: TemplateWebhook | UnsetType | None = UNSET


class NewGuestTemplate(Model, frozen=True, kw_only=True):
    """A guest template to be made, or what one is to be. What is `UNSET` is not sent."""

    name: str
    guests: Guests
    sharing_capability: SharingCapability
    kind: TemplateKind = TemplateKind.GUEST
    description: str | UnsetType | None = UNSET
    active: bool | UnsetType | None = UNSET
    present_guests: PresentGuests | UnsetType | None = UNSET


class GroupTemplate(Versioned, frozen=True, kw_only=True):
    """A template of groups or of teams, as administrators see it. Only one of teams has `channels`."""

    id: UUID
    kind: TemplateKind
    name: str
    description: str
    active: bool
    audience: Audience | None
    naming: GroupNaming
    member_ship_type: MemberShipType
    member_ship_type_changeable: bool
    membership_rule: str | None
    owners: tuple[UUID, ...]
    members: tuple[UUID, ...]
    minimum_owners: int
    custom_fields: tuple[CustomField, ...]
    label_id: str | None
    guest_template_id: UUID | None
    guest_policy_id: UUID | None
    approval: ApprovalRule | None
    webhook: TemplateWebhook | None
    created_at: datetime
    created_by: Actor
    updated_at: datetime
    channels: tuple[str, ...] | UnsetType = UNSET


class GuestTemplate(Versioned, frozen=True, kw_only=True):
    """A guest template, as administrators see it."""

    id: UUID
    kind: TemplateKind
    name: str
    description: str
    active: bool
    guests: Guests
    present_guests: PresentGuests
    sharing_capability: SharingCapability
    created_at: datetime
    created_by: Actor
    updated_at: datetime


CollabTemplate = GroupTemplate | GuestTemplate
NewCollabTemplate = NewGroupTemplate | NewGuestTemplate


class OfferedGroupTemplate(Model, frozen=True, kw_only=True):
    """A template of groups or teams, as far as those need it who ask for one."""

    id: UUID
    kind: TemplateKind
    name: str
    description: str
    is_default: bool
    approval_required: bool
    member_ship_type: MemberShipType
    member_ship_type_changeable: bool
    minimum_owners: int
    custom_fields: tuple[CustomField, ...]
