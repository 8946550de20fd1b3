"""The body of a group creation, as it is sent and as it is kept with its request."""

from typing import Annotated
from uuid import UUID

from msgspec import Meta, convert, json, to_builtins

from chamberlain.core.fields import Description, Id, Line, Metadata, Name, Shape
from chamberlain.core.ids import TemplateId, UserId
from chamberlain.core.validation import Reader
from chamberlain.directory.groups import MemberShipType
from chamberlain.groups.models import GroupOrder


class GroupBody(Shape, frozen=True, kw_only=True):
    """A group or team as it is asked for; the template decides which of the two it becomes."""

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
    """The rules' value of it."""
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
    """The order that a stored body holds."""
    return to_group_order(GROUP.read(body))


def write_group_order(order: GroupOrder) -> bytes:
    """An order as a body that is stored, without what it does not say."""
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
    # All at once by the decoder, which is several times faster than one after the other.
    return convert(ids, _UserIds) if ids else ()
