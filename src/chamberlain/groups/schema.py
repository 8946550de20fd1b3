"""The body of a group request, which is also stored with the request."""

from typing import Annotated
from uuid import UUID

from msgspec import Meta, convert, json, to_builtins

from chamberlain.core.fields import Description, Id, Line, Metadata, Name, Shape
from chamberlain.core.ids import TemplateId, UserId
from chamberlain.core.validation import Reader
from chamberlain.directory.groups import MemberShipType
from chamberlain.groups.models import GroupOrder


class GroupBody(Shape, frozen=True, kw_only=True):
    """A group or team to create. The kind of the template decides."""

    display_name: Name
    template_id: Id
    description: Description | None = None
    # The API spells it so, and "camel" makes just that of it.
    member_ship_type: Annotated[MemberShipType, Meta(description="0 private, 1 public, 2 dynamic")] | None = None
    owners: Annotated[tuple[Id, ...], Meta(max_length=100)] | None = None
    members: Annotated[tuple[Id, ...], Meta(max_length=10_000)] | None = None
    metadata: Metadata | None = None
    label_id: Line | None = None


GROUP = Reader(GroupBody)
_UserIds = tuple[UserId, ...]


def to_group_order(body: GroupBody) -> GroupOrder:
    """Convert a body to an order."""
    return GroupOrder(
        display_name=body.display_name,
        template_id=TemplateId(convert(body.template_id, UUID)),
        description=body.description,
        member_ship_type=body.member_ship_type,
        owners=_users(body.owners),
        members=_users(body.members),
        metadata=body.metadata,
        label_id=body.label_id,
    )


def read_group_order(body: bytes) -> GroupOrder:
    """Parse the order in a stored body."""
    return to_group_order(GROUP.read(body))


def write_group_order(order: GroupOrder) -> bytes:
    """Serialize an order as a stored body, without absent properties."""
    body = GroupBody(
        display_name=order.display_name,
        template_id=str(order.template_id),
        description=order.description,
        member_ship_type=order.member_ship_type,
        owners=tuple(map(str, order.owners)) or None,
        members=tuple(map(str, order.members)) or None,
        metadata=None if order.metadata is None else dict(order.metadata),
        label_id=order.label_id,
    )
    return json.encode({name: value for name, value in to_builtins(body).items() if value is not None})


def _users(ids: tuple[str, ...] | None) -> tuple[UserId, ...]:
    # One call of the decoder is several times faster than one for each id.
    return convert(ids, _UserIds) if ids else ()
