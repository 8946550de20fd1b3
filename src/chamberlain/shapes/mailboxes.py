"""The body of a mailbox creation, as it is sent and as it is kept with its request."""

from uuid import UUID

from msgspec import convert, field, json

from chamberlain.rules.mailboxes import MailboxOrder, PermissionLevel, RoomEquipment
from chamberlain.shapes.fields import Id, Line, MailboxName, Metadata, Name
from chamberlain.shapes.mailbox_properties import (
    Alias,
    AutomaticReply,
    BusinessPhones,
    Capacity,
    Notes,
    Permissions,
    Reason,
    RoomMailboxMetadataShape,
    State,
    Tags,
)
from chamberlain.shapes.reading import Reader
from chamberlain.shapes.shape import Shape


class MailboxBody(Shape, frozen=True, kw_only=True, omit_defaults=True):
    """A mailbox as it is asked for; without a template, its type is read from the properties that are there."""

    name: MailboxName
    display_name: Name
    template_id: Id | None = None
    permissions: Permissions | None = None
    metadata: Metadata | None = None
    capacity: Capacity | None = None
    state: State | None = None
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
    business_phones: BusinessPhones | None = None
    primary_owner: Id | None = None
    secondary_owner: Id | None = None
    automatic_reply: AutomaticReply | None = None
    is_allow_automatic_reply_override: bool | None = None
    is_wheel_chair_accessible: bool | None = None
    # The API spells it so; "camel" would make hideFromGal of it.
    hide_from_gal: bool | None = field(default=None, name="hideFromGAL")
    auto_mapping: bool | None = None
    tags: Tags | None = None
    room_mailbox_metadata: RoomMailboxMetadataShape | None = None
    notes: Notes | None = None
    reason: Reason | None = None
    alias: Alias | None = None


MAILBOX = Reader(MailboxBody)


def to_mailbox_order(body: MailboxBody) -> MailboxOrder:
    """The rules' value of it, field by field of the same names."""
    return convert(body, MailboxOrder, from_attributes=True)


def from_mailbox_order(order: MailboxOrder) -> MailboxBody:
    """The body that says the same, with ids in lower case."""
    return MailboxBody(
        name=order.name,
        display_name=order.display_name,
        template_id=_text(order.template_id),
        permissions=_permissions(order),
        metadata=None if order.metadata is None else dict(order.metadata),
        capacity=order.capacity,
        state=order.state,
        street_address=order.street_address,
        office_location=order.office_location,
        company_name=order.company_name,
        postal_code=order.postal_code,
        city=order.city,
        country=order.country,
        phone=order.phone,
        department=order.department,
        domain=order.domain,
        audio_device_name=order.audio_device_name,
        display_device_name=order.display_device_name,
        video_device_name=order.video_device_name,
        business_phones=order.business_phones,
        primary_owner=_text(order.primary_owner),
        secondary_owner=_text(order.secondary_owner),
        automatic_reply=order.automatic_reply,
        is_allow_automatic_reply_override=order.is_allow_automatic_reply_override,
        is_wheel_chair_accessible=order.is_wheel_chair_accessible,
        hide_from_gal=order.hide_from_gal,
        auto_mapping=order.auto_mapping,
        tags=order.tags,
        room_mailbox_metadata=_room(order.room_mailbox_metadata),
        notes=order.notes,
        reason=order.reason,
        alias=order.alias,
    )


def read_mailbox_order(body: bytes) -> MailboxOrder:
    """The order that a stored body holds."""
    return to_mailbox_order(MAILBOX.read(body))


def write_mailbox_order(order: MailboxOrder) -> bytes:
    """An order as a body that is stored."""
    return _encode(from_mailbox_order(order))


def _text(each: UUID | None) -> str | None:
    return None if each is None else str(each)


def _permissions(order: MailboxOrder) -> dict[str, PermissionLevel] | None:
    return None if order.permissions is None else {str(user): level for user, level in order.permissions.items()}


def _room(equipment: RoomEquipment | None) -> RoomMailboxMetadataShape | None:
    return None if equipment is None else convert(equipment, RoomMailboxMetadataShape, from_attributes=True)


_encode = json.Encoder().encode
