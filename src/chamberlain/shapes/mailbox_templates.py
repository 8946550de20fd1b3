"""Templates of the kinds shared, equipment and room. So far they are checked and kept; nothing is made from them."""

from collections.abc import Iterator
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta, field

from chamberlain.rules.errors import Fault
from chamberlain.shapes.approvals import ApprovalShape
from chamberlain.shapes.audiences import AudienceShape
from chamberlain.shapes.custom_fields import CustomFields, custom_field_faults
from chamberlain.shapes.fields import Description, Domain, Line, Metadata, Name, line, lines
from chamberlain.shapes.group_templates import naming_rule_faults
from chamberlain.shapes.shape import Shape
from chamberlain.shapes.webhooks import WebhookShape


class RoomMailboxMetadataShape(Shape, frozen=True, kw_only=True, omit_defaults=True):
    """What stands in a room."""

    has_conference_phone: bool | None = None
    has_whiteboard: bool | None = None
    has_video_conferencing: bool | None = None


class MailboxDefaultsShape(Shape, frozen=True, kw_only=True, omit_defaults=True):
    """What a mailbox gets where the request says nothing: every property but those that make it this one mailbox."""

    permissions: Annotated[dict[UUID, Literal["None", "SendAs", "FullAccess"]], Meta(max_length=500)] | None = None
    metadata: Metadata | None = None
    capacity: Annotated[int, Meta(ge=0, le=2_147_483_647)] | None = None
    state: Annotated[str, line(64)] | None = None
    street_address: Line | None = None
    office_location: Line | None = None
    company_name: Line | None = None
    postal_code: Line | None = None
    city: Line | None = None
    country: Line | None = None
    phone: Line | None = None
    department: Line | None = None
    domain: Line | None = None
    audio_device_name: Line | None = None
    display_device_name: Line | None = None
    video_device_name: Line | None = None
    business_phones: Annotated[tuple[Line, ...], Meta(max_length=10)] | None = None
    primary_owner: UUID | None = None
    secondary_owner: UUID | None = None
    automatic_reply: Annotated[str, lines(8192)] | None = None
    is_allow_automatic_reply_override: bool | None = None
    is_wheel_chair_accessible: bool | None = None
    hide_from_gal: bool | None = field(default=None, name="hideFromGAL")
    auto_mapping: bool | None = None
    tags: Annotated[tuple[Annotated[str, line(64)], ...], Meta(max_length=32)] | None = None
    room_mailbox_metadata: RoomMailboxMetadataShape | None = None
    notes: Annotated[str, lines(4096)] | None = None
    reason: Annotated[str, line(1024)] | None = None


class MailboxNamingShape(Shape, frozen=True, kw_only=True):
    """How the local part of the address is made; names stay as they are sent."""

    address: Name = "{input}"


class MailboxTemplateShape(Shape, frozen=True, kw_only=True):
    """A template of a mailbox kind, without what the service adds."""

    id: UUID
    kind: Literal["shared", "equipment", "room"]
    name: Name
    description: Description = ""
    active: bool = True
    is_default: bool = False
    audience: AudienceShape | None = None
    domain: Domain | None = None
    naming: MailboxNamingShape = MailboxNamingShape()
    defaults: MailboxDefaultsShape = MailboxDefaultsShape()
    custom_fields: CustomFields = ()
    approval: ApprovalShape | None = None
    webhook: WebhookShape | None = None


def mailbox_template_faults(shape: MailboxTemplateShape, pointer: str = "") -> Iterator[Fault]:
    """Why a well-formed template cannot be used."""
    yield from naming_rule_faults(shape.naming.address, f"{pointer}/naming/address")
    yield from custom_field_faults(shape.custom_fields, f"{pointer}/customFields")
