# SPDX-License-Identifier: Apache-2.0
"""Groups and users as clients of a directory find them. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Generic, TypeAlias, TypeVar
from uuid import UUID

from chamberlain.core.directory_filters import Filter
from chamberlain.core.ids import GroupId, UserId
from chamberlain.directory.groups import MemberShipType

Entry = TypeVar("Entry")
# The values of extension attributes, by attribute and member.
Extensions: TypeAlias = Mapping[str, Mapping[str, str]]


class Relation(StrEnum):
    """A relation of users and groups to a group."""

    OWNERS = "owners"
    MEMBERS = "members"


@dataclass(frozen=True, slots=True)
class Slice:
    """At most `limit` entries with ids after this one."""

    limit: int
    after: UUID | None = None


@dataclass(frozen=True, slots=True)
class Found(Generic[Entry]):
    """Entries of a slice, sorted by id, and the number of all."""

    entries: Sequence[Entry]
    total: int


@dataclass(frozen=True, slots=True)
class FoundGroup:
    """A group.

    `membership_rule` is that of a dynamic group, in the language of the directory.
    """

    id: GroupId
    display_name: str
    mail: str | None
    mail_nickname: str
    description: str | None
    member_ship_type: MemberShipType
    membership_rule: str | None
    is_team: bool
    created_at: datetime | None
    extensions: Extensions = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FoundUser:
    """A user, or a mailbox, which is a user too.

    `properties` have the names of the directory, such as `department`. `aliases` are the other addresses.
    """

    id: UserId
    display_name: str
    user_name: str
    mail: str | None
    is_guest: bool
    can_sign_in: bool
    is_hidden: bool = False
    aliases: tuple[str, ...] = ()
    business_phones: tuple[str, ...] = ()
    created_at: datetime | None = None
    last_seen_at: datetime | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    extensions: Extensions = field(default_factory=dict)


# An owner or member of a group.
Related: TypeAlias = FoundUser | FoundGroup


@dataclass(frozen=True, slots=True)
class Search:
    """The groups, or users, that match a filter.

    `selected` are the properties and extension attributes that the client selects. A directory may leave out extension
    attributes and the last sign-in if they are neither selected nor in the filter.
    """

    filter: Filter
    slice: Slice
    selected: frozenset[str] = frozenset()
