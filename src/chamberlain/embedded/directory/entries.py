"""What may be asked for: a group or mailbox as it shall be, and the mark by which it is found again; and what comes of
it."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from uuid import UUID

import asyncpg
import msgspec

from chamberlain.embedded.directory.errors import Refused

Shown = TypeVar("Shown")


@dataclass(frozen=True, slots=True)
class Mark:
    """How a group or mailbox is found again: an extension attribute by its name, and the value of its key member."""

    tenant_id: UUID
    extension: str
    key: str


@dataclass(frozen=True, slots=True)
class GroupEntry:
    """A group as it shall be, with the id that it gets if it has to be made.

    `values` are all members of the mark's extension attribute, the key among them. With a membership rule the members
    follow from it. `channels` makes it a team.
    """

    mark: Mark
    id: UUID
    display_name: str
    mail_nickname: str
    mail: str
    description: str | None
    visibility: str
    membership_rule: str | None
    label_id: str | None
    owners: Sequence[UUID]
    members: Sequence[UUID]
    channels: Sequence[str] | None
    values: Mapping[str, str]


class Contact(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What the address book says of a mailbox beside the properties that every user has."""

    phone: str | None = None
    business_phones: tuple[str, ...] = ()
    notes: str | None = None


class Place(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What a room finder says of a room, but for how many people it holds."""

    audio_device_name: str | None = None
    display_device_name: str | None = None
    video_device_name: str | None = None
    is_wheel_chair_accessible: bool | None = None
    tags: tuple[str, ...] = ()
    has_conference_phone: bool | None = None
    has_whiteboard: bool | None = None
    has_video_conferencing: bool | None = None


class Permission(msgspec.Struct, frozen=True, rename="camel"):
    """What somebody may do with a mailbox: `FullAccess` or `SendAs`."""

    access_right: str
    auto_mapping: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MailboxEntry:
    """A mailbox as it shall be, with the id that its user gets if it has to be made.

    What is None or empty is left as it is. `permissions` are set for those who are named, and taken from those who are
    `revoked`; entries of others stay. `values` are all members of the mark's extension attribute, the key among them.
    """

    mark: Mark
    id: UUID
    recipient_type: str
    name: str
    display_name: str
    mail: str
    values: Mapping[str, str]
    aliases: Sequence[str] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    contact: Contact = field(default_factory=Contact)
    place: Place | None = None
    resource_capacity: int | None = None
    automate_processing: str | None = None
    additional_response: str | None = None
    automatic_reply: str | None = None
    quota_megabytes: int | None = None
    is_hidden: bool | None = None
    owners: Sequence[UUID] = ()
    permissions: Mapping[UUID, Permission] = field(default_factory=dict)
    revoked: Collection[UUID] = ()


@dataclass(frozen=True, slots=True)
class Ensured(Generic[Shown]):
    """What came of one entry: how it is now (None where there is nothing), and the fault if it was refused."""

    shown: Shown | None
    fault: Refused | None


Entry = TypeVar("Entry")

_NOT_STORABLE = (
    "One of the texts holds a character that the directory cannot store: a NUL, or half of a surrogate pair. "
    "Leave it out."
)


async def ensure_storable(
    entries: Sequence[Entry], ensure: Callable[[Sequence[Entry]], Awaitable[Sequence[Ensured[Shown]]]]
) -> Sequence[Ensured[Shown]]:
    """What comes of each, as `ensure` brings them about; those with such a text are refused."""
    if not entries:
        return []
    try:
        return await ensure(entries)
    except (asyncpg.DataError, UnicodeEncodeError) as error:
        if not _is_about_a_text(error):
            raise
    if len(entries) == 1:
        return [Ensured(None, Refused("notAccepted", _NOT_STORABLE))]
    middle = len(entries) // 2
    return [*await ensure_storable(entries[:middle], ensure), *await ensure_storable(entries[middle:], ensure)]


def _is_about_a_text(error: Exception) -> bool:
    # A NUL, which PostgreSQL refuses, and half of a surrogate pair, which the driver finds; all else is a bug.
    refused = asyncpg.CharacterNotInRepertoireError | asyncpg.UntranslatableCharacterError
    return isinstance(error, refused) or isinstance(error.__cause__ or error, UnicodeEncodeError)
