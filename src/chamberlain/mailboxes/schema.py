"""The body of a mailbox creation, as it is sent and as it is kept with its request."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from msgspec import convert, field, json

from chamberlain.core.fields import Id, Line, MailboxName, Metadata, Name, Shape
from chamberlain.core.ids import UserId
from chamberlain.core.validation import Reader
from chamberlain.directory.mailboxes import MailboxOrder, PermissionLevel, RoomEquipment
from chamberlain.templates.schema import (
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


def fields_of(order: MailboxOrder) -> dict[str, Any]:
    """What an order says, by the fields of a body of the same names, with ids in lower case. Any: each has the type of
    its own field."""
    said = {name: value for name in _FIELDS if (value := getattr(order, name)) is not None}
    for name, written in _WRITTEN.items():
        if name in said:
            said[name] = written(said[name])
    return said


def read_mailbox_order(body: bytes) -> MailboxOrder:
    """The order that a stored body holds."""
    return to_mailbox_order(MAILBOX.read(body))


def write_mailbox_order(order: MailboxOrder) -> bytes:
    """An order as a body that is stored."""
    return _encode(MailboxBody(**fields_of(order)))


def _permissions(levels: Mapping[UserId, PermissionLevel]) -> dict[str, PermissionLevel]:
    return {str(user): level for user, level in levels.items()}


def _room(equipment: RoomEquipment) -> RoomMailboxMetadataShape:
    return convert(equipment, RoomMailboxMetadataShape, from_attributes=True)


_FIELDS = MailboxBody.__struct_fields__
# What a body writes in another way than the rules. Any: each goes with the type of its own field.
_WRITTEN: Mapping[str, Callable[[Any], object]] = MappingProxyType(
    {
        "template_id": str,
        "permissions": _permissions,
        "metadata": dict,
        "primary_owner": str,
        "secondary_owner": str,
        "room_mailbox_metadata": _room,
    }
)
_encode = json.Encoder().encode
