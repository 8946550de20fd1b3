"""Mailboxes: as they are asked for, and as they are."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from msgspec import UNSET, UnsetType, field

from chamberlain_client.models.actors import Actor
from chamberlain_client.models.model import Model
from chamberlain_client.models.open_enums import OpenStrEnum
from chamberlain_client.models.requests import RequestError


class MailboxType(OpenStrEnum):
    """What a mailbox is for."""

    SHARED = "shared"
    EQUIPMENT = "equipment"
    ROOM = "room"


class PermissionLevel(OpenStrEnum):
    """What a user may do with a mailbox; `NONE` takes away what there is."""

    NONE = "None"
    SEND_AS = "SendAs"
    FULL_ACCESS = "FullAccess"


class TemplateSource(OpenStrEnum):
    """Whether the template was sent or is the default of its type."""

    REQUEST = "request"
    DEFAULT = "default"


class ProvisioningState(OpenStrEnum):
    """How far a mailbox has come."""

    PENDING_APPROVAL = "pendingApproval"
    QUEUED = "queued"
    PROVISIONING = "provisioning"
    ACTIVE = "active"
    FAILED = "failed"
    REJECTED = "rejected"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


class RoomMetadata(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What a room has."""

    has_conference_phone: bool | None = None
    has_whiteboard: bool | None = None
    has_video_conferencing: bool | None = None


class MailboxProperties(Model, frozen=True, kw_only=True):
    """What may be said of a mailbox, and what a template may give to it. What is `UNSET` is not sent."""

    permissions: Mapping[str, PermissionLevel] | UnsetType | None = UNSET
    metadata: Mapping[str, str | bool] | UnsetType | None = UNSET
    capacity: int | UnsetType | None = UNSET
    state: str | UnsetType | None = UNSET
    street_address: str | UnsetType | None = UNSET
    office_location: str | UnsetType | None = UNSET
    company_name: str | UnsetType | None = UNSET
    postal_code: str | UnsetType | None = UNSET
    city: str | UnsetType | None = UNSET
    country: str | UnsetType | None = UNSET
    phone: str | UnsetType | None = UNSET
    department: str | UnsetType | None = UNSET
    domain: str | UnsetType | None = UNSET
    audio_device_name: str | UnsetType | None = UNSET
    display_device_name: str | UnsetType | None = UNSET
    video_device_name: str | UnsetType | None = UNSET
    business_phones: tuple[str, ...] | UnsetType | None = UNSET
    primary_owner: UUID | UnsetType | None = UNSET
    secondary_owner: UUID | UnsetType | None = UNSET
    automatic_reply: str | UnsetType | None = UNSET
    is_allow_automatic_reply_override: bool | UnsetType | None = UNSET
    is_wheel_chair_accessible: bool | UnsetType | None = UNSET
    hide_from_gal: bool | UnsetType | None = field(default=UNSET, name="hideFromGAL")
    auto_mapping: bool | UnsetType | None = UNSET
    tags: tuple[str, ...] | UnsetType | None = UNSET
    room_mailbox_metadata: RoomMetadata | UnsetType | None = UNSET
    notes: str | UnsetType | None = UNSET
    reason: str | UnsetType | None = UNSET


class NewMailbox(MailboxProperties, frozen=True, kw_only=True):
    """A mailbox to be asked for. Without a template its type is read from the properties that one type alone has."""

    name: str
    display_name: str
    template_id: UUID | UnsetType | None = UNSET
    alias: str | UnsetType | None = UNSET


class Mailbox(Model, frozen=True, kw_only=True):
    """A mailbox. What nobody sent and no template gave is None."""

    id: UUID
    type: MailboxType
    name: str
    display_name: str
    primary_smtp_address: str
    template_id: UUID
    template_source: TemplateSource
    permissions: Mapping[UUID, PermissionLevel]
    capacity_unit: str
    provisioning_state: ProvisioningState
    request_id: UUID
    error: RequestError | None
    warnings: tuple[str, ...]
    created_at: datetime
    created_by: Actor
    updated_at: datetime
    metadata: Mapping[str, str | bool] | None = None
    capacity: int | None = None
    state: str | None = None
    street_address: str | None = None
    office_location: str | None = None
    company_name: str | None = None
    postal_code: str | None = None
    city: str | None = None
    country: str | None = None
    phone: str | None = None
    department: str | None = None
    domain: str | None = None
    audio_device_name: str | None = None
    display_device_name: str | None = None
    video_device_name: str | None = None
    business_phones: tuple[str, ...] | None = None
    primary_owner: UUID | None = None
    secondary_owner: UUID | None = None
    automatic_reply: str | None = None
    is_allow_automatic_reply_override: bool | None = None
    is_wheel_chair_accessible: bool | None = None
    hide_from_gal: bool | None = field(default=None, name="hideFromGAL")
    auto_mapping: bool | None = None
    tags: tuple[str, ...] | None = None
    room_mailbox_metadata: RoomMetadata | None = None
    notes: str | None = None
    reason: str | None = None
    alias: str | None = None


class AcceptedMailbox(Mailbox, frozen=True, kw_only=True):
    """A mailbox that is queued durably, or there already when it was ready in the time that was waited.

    `retry_after` is how many seconds the service asks one to wait before looking; `replayed`, whether this is the
    answer to an earlier call with the same key.
    """

    tenant_id: UUID
    approval_required: bool
    retry_after: float | None = None
    replayed: bool = False
