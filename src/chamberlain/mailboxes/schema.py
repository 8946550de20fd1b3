"""The body of a mailbox request, as sent and as stored."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar, cast

from msgspec import Struct, convert, defstruct, field, json, structs

from chamberlain.core.fields import Id, MailboxName, Name, Shape
from chamberlain.core.ids import UserId
from chamberlain.core.validation import Reader
from chamberlain.directory.mailboxes import MailboxOrder, PermissionLevel, RoomEquipment
from chamberlain.templates.schema import Alias, MailboxPropertiesShape, RoomMailboxMetadataShape

Body = TypeVar("Body", bound=Struct)


def _first(*names: str) -> Callable[[type[Body]], type[Body]]:
    """Move fields to the front of a shape.

    Inheritance puts them behind those of the base class.
    """

    def reorder(shape: type[Body]) -> type[Body]:
        known = {each.name: each for each in structs.fields(shape)}
        members = [
            (name, known[name].type, field(default=known[name].default, name=known[name].encode_name))
            for name in dict.fromkeys((*names, *known))
        ]
        reordered = defstruct(
            shape.__name__,
            members,
            bases=(Shape,),
            module=shape.__module__,
            namespace={"__doc__": shape.__doc__},
            frozen=True,
            kw_only=True,
            omit_defaults=True,
        )
        return cast("type[Body]", reordered)

    return reorder


@_first("name", "display_name", "template_id")
class MailboxBody(MailboxPropertiesShape, frozen=True, kw_only=True, omit_defaults=True):
    """A mailbox to create. Without a template, its properties decide its type."""

    name: MailboxName
    display_name: Name
    template_id: Id | None = None
    alias: Alias | None = None


MAILBOX = Reader(MailboxBody)


def to_mailbox_order(body: MailboxBody) -> MailboxOrder:
    """Convert a body to an order, field by field."""
    return convert(body, MailboxOrder, from_attributes=True)


# Any: each value has the type of its field.
def fields_of(order: MailboxOrder) -> dict[str, Any]:
    """Return the fields of a body that an order sets.

    Ids are in lower case.
    """
    said = {name: value for name in _FIELDS if (value := getattr(order, name)) is not None}
    for name, written in _WRITTEN.items():
        if name in said:
            said[name] = written(said[name])
    return said


def read_mailbox_order(body: bytes) -> MailboxOrder:
    """Parse the order in a stored body."""
    return to_mailbox_order(MAILBOX.read(body))


def write_mailbox_order(order: MailboxOrder) -> bytes:
    """Serialize an order as a stored body."""
    return _encode(MailboxBody(**fields_of(order)))


def _permissions(levels: Mapping[UserId, PermissionLevel]) -> dict[str, PermissionLevel]:
    return {str(user): level for user, level in levels.items()}


def _room(equipment: RoomEquipment) -> RoomMailboxMetadataShape:
    return convert(equipment, RoomMailboxMetadataShape, from_attributes=True)


_FIELDS = MailboxBody.__struct_fields__
# Fields whose type differs in the body. Any: each value has the type of its field.
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
