"""The body of a group creation, as it is kept with its request."""

from uuid import UUID

import msgspec

from chamberlain.rules.groups import GroupOrder, MemberShipType
from chamberlain.rules.ids import TemplateId, UserId


class GroupBody(msgspec.Struct, rename="camel", frozen=True):
    """What was sent. It was checked when it came in (api/endpoints/groups.py); here it is only read again."""

    display_name: str
    template_id: UUID
    description: str | None = None
    # The API spells it so, and "camel" makes just that of it.
    member_ship_type: int | None = None
    owners: tuple[UUID, ...] | None = None
    members: tuple[UUID, ...] | None = None
    metadata: dict[str, str | bool] | None = None
    label_id: str | None = None


# A whole number may have been written 2.0, hence not strict.
_decoder = msgspec.json.Decoder(GroupBody, strict=False)


def read_group_order(body: bytes) -> GroupOrder:
    """The order that a stored body holds."""
    sent = _decoder.decode(body)
    return GroupOrder(
        display_name=sent.display_name,
        template_id=TemplateId(sent.template_id),
        description=sent.description,
        member_ship_type=None if sent.member_ship_type is None else MemberShipType(sent.member_ship_type),
        owners=tuple(UserId(each) for each in sent.owners or ()),
        members=tuple(UserId(each) for each in sent.members or ()),
        metadata=sent.metadata,
        label_id=sent.label_id,
    )
