"""Mailboxes: what is asked for, what is wanted of the directory, and what is found there."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from chamberlain.core.ids import RequestId, TemplateId, TenantId, UserId
from chamberlain.core.values import value


class MailboxType(StrEnum):
    """What a mailbox is for; it is the kind of its template."""

    SHARED = "shared"
    EQUIPMENT = "equipment"
    ROOM = "room"


class PermissionLevel(StrEnum):
    """What a user may do with a mailbox. In the directory `None` means no entry."""

    NONE = "None"
    SEND_AS = "SendAs"
    FULL_ACCESS = "FullAccess"


class TemplateSource(StrEnum):
    """Why a template was used: it was asked for, or it is the default of the type that the body shows."""

    REQUEST = "request"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class RoomEquipment:
    """What stands in a room (roomMailboxMetadata); None where nothing was said."""

    has_conference_phone: bool | None = None
    has_whiteboard: bool | None = None
    has_video_conferencing: bool | None = None


@value(frozen=True, slots=True, kw_only=True)
class MailboxProperties:
    """What a mailbox may be given, by its order or by the defaults of its template; None where nothing was said."""

    permissions: Mapping[UserId, PermissionLevel] | None = None
    metadata: Mapping[str, str | bool] | None = None
    capacity: int | None = None
    state: str | None = None
    street_address: str | None = None
    office_location: str | None = None
    company_name: str | None = None
    postal_code: str | None = None
    city: str | None = None
    country: str | None = None
    phone: str | None = None
    department: str | None = None
    domain: str | None = None
    audio_device_name: str | None = None
    display_device_name: str | None = None
    video_device_name: str | None = None
    business_phones: tuple[str, ...] | None = None
    primary_owner: UserId | None = None
    secondary_owner: UserId | None = None
    automatic_reply: str | None = None
    is_allow_automatic_reply_override: bool | None = None
    is_wheel_chair_accessible: bool | None = None
    hide_from_gal: bool | None = None
    auto_mapping: bool | None = None
    tags: tuple[str, ...] | None = None
    room_mailbox_metadata: RoomEquipment | None = None
    notes: str | None = None
    reason: str | None = None


@value(frozen=True, slots=True)
class MailboxOrder(MailboxProperties):
    """The body of a mailbox creation; None where nothing was sent."""

    name: str
    display_name: str
    template_id: TemplateId | None = None
    alias: str | None = None


@value(frozen=True, slots=True)
class AddressFields:
    """What an address book shows of a mailbox."""

    street_address: str | None = None
    office_location: str | None = None
    company_name: str | None = None
    postal_code: str | None = None
    city: str | None = None
    country: str | None = None
    phone: str | None = None
    department: str | None = None
    business_phones: tuple[str, ...] = ()
    notes: str | None = None


@value(frozen=True, slots=True)
class Place:
    """What a room finder shows of a room. `capacity` is a number of people."""

    capacity: int | None = None
    audio_device_name: str | None = None
    display_device_name: str | None = None
    video_device_name: str | None = None
    is_wheel_chair_accessible: bool | None = None
    tags: tuple[str, ...] = ()
    equipment: RoomEquipment = RoomEquipment()


@value(frozen=True, slots=True)
class WantedMailbox:
    """A mailbox as it shall be in the directory.

    `place` is there for rooms alone, `books_automatically` for rooms and equipment. `quota_megabytes` is the storage
    of a shared mailbox, `capacity` the number of units of equipment. `permissions` leave out those of level None, who
    stand in `revoked` and shall have no entry; of others who have one nothing is said. None means that the directory's
    own default is wanted.
    """

    tenant_id: TenantId
    request_id: RequestId
    type: MailboxType
    name: str
    display_name: str
    mail: str
    aliases: tuple[str, ...]
    address_fields: AddressFields
    place: Place | None
    books_automatically: bool
    automatic_reply: str | None
    quota_megabytes: int | None
    capacity: int | None
    is_hidden: bool | None
    permissions: Mapping[UserId, PermissionLevel]
    auto_mapping: bool
    owners: tuple[UserId, ...]
    extension: str
    marks: Mapping[str, str]
    revoked: frozenset[UserId] = frozenset()


@dataclass(frozen=True, slots=True)
class MailboxReference:
    """How a mailbox that we asked for is found again in the directory: by the mark that it carries."""

    tenant_id: TenantId
    extension: str
    request_id: RequestId


@dataclass(frozen=True, slots=True)
class ObservedMailbox:
    """A mailbox as the directory shows it, in the words of WantedMailbox. `auto_mapped` are those whose full access is
    mapped automatically."""

    id: UUID
    type: MailboxType
    name: str
    display_name: str
    mail: str
    aliases: tuple[str, ...]
    address_fields: AddressFields
    place: Place | None
    books_automatically: bool
    automatic_reply: str | None
    quota_megabytes: int | None
    capacity: int | None
    is_hidden: bool
    permissions: Mapping[UserId, PermissionLevel]
    auto_mapped: frozenset[UserId]
    owners: tuple[UserId, ...]
    marks: Mapping[str, str]
