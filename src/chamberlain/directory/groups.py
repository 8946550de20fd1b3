"""Groups and teams as the directory has them: wanted and observed."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from chamberlain.core.ids import GroupId, RequestId, TenantId, UserId


class MemberShipType(IntEnum):
    """Who may join; the API spells the property memberShipType, and so do we."""

    PRIVATE = 0
    PUBLIC = 1
    DYNAMIC = 2


@dataclass(frozen=True, slots=True)
class WantedGroup:
    """A group or team as it shall be in the directory.

    `owners` are members as well, except in a dynamic group, whose members follow `membership_rule`. `extension` is the
    name of the extension attribute (`<prefix>_group`) and `marks` its members, `requestId` among them. `channels` is
    None for a group that is no team.
    """

    tenant_id: TenantId
    request_id: RequestId
    display_name: str
    mail_nickname: str
    mail: str
    description: str | None
    member_ship_type: MemberShipType
    membership_rule: str | None
    owners: tuple[UserId, ...]
    members: tuple[UserId, ...]
    label_id: str | None
    channels: tuple[str, ...] | None
    extension: str
    marks: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class GroupReference:
    """How a group that we asked for is found again in the directory: by the mark that it carries."""

    tenant_id: TenantId
    extension: str
    request_id: RequestId


@dataclass(frozen=True, slots=True)
class ObservedGroup:
    """A group as the directory shows it. `channels` is None as long as it is no team; `member_ship_type` is None where
    the directory does not tell."""

    id: GroupId
    display_name: str
    mail: str
    mail_nickname: str
    owners: frozenset[UserId]
    members: frozenset[UserId]
    label_id: str | None
    channels: tuple[str, ...] | None
    marks: Mapping[str, str]
    description: str | None = None
    member_ship_type: MemberShipType | None = None
