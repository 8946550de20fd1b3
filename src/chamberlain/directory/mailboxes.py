"""Mailboxes: what is asked for, what is wanted of the directory, and what is found there."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from uuid import UUID

from chamberlain.core.ids import RequestId, TemplateId, TenantId, UserId
from chamberlain.core.values import value
from chamberlain.directory.steps import Step


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


# Groups of properties of which nothing, or only some, may be wanted.
Part = AddressFields | Place | RoomEquipment


@dataclass(frozen=True, slots=True)
class Effect:
    """What a step brings about: whether anything of it is wanted, and whether a mailbox that exists shows it."""

    is_wanted: Callable[[WantedMailbox], bool]
    is_shown: Callable[[WantedMailbox, ObservedMailbox], bool]


def plan_mailbox(wanted: WantedMailbox, *, people_checked: bool) -> tuple[Step, ...]:
    """The steps of a mailbox in their order; those that do not apply to it are left out.

    It is asked at submission, in a dry run and by the worker. `people_checked` is False when the directory did not
    answer at submission.
    """
    steps = tuple([step for step, effect in EFFECTS.items() if effect.is_wanted(wanted)])
    return steps if people_checked else (Step.CHECK_PEOPLE, *steps)


def remaining_of_mailbox(
    wanted: WantedMailbox, observed: ObservedMailbox | None, steps: Iterable[Step]
) -> tuple[Step, ...]:
    """Those of the steps whose effect the directory does not show yet."""
    return tuple([step for step in steps if observed is None or not is_done(step, wanted, observed)])


def is_done(step: Step, wanted: WantedMailbox, observed: ObservedMailbox) -> bool:
    """Whether a mailbox that exists shows what this step brings about. It is never created before its people are
    checked."""
    return step is Step.CHECK_PEOPLE or EFFECTS[step].is_shown(wanted, observed)


def has_permissions(wanted: WantedMailbox, observed: ObservedMailbox) -> bool:
    """Whether each user has just the level that is wanted, and those who shall have none have none.

    What others were given in the directory itself is not looked at. Auto-mapping belongs to full access alone.
    """
    users = [user for user, level in wanted.permissions.items() if level is PermissionLevel.FULL_ACCESS]
    return (
        wanted.permissions.items() <= observed.permissions.items()
        and wanted.revoked.isdisjoint(observed.permissions)
        and all((user in observed.auto_mapped) is wanted.auto_mapping for user in users)
    )


def is_anything(part: Part) -> bool:
    """Whether any property of it is wanted."""
    return part != type(part)()


def shows(observed: Part, wanted: Part) -> bool:
    """Whether all that is wanted is there; properties of which nothing is wanted are as they may be."""
    return all(
        _is_shown(getattr(observed, field.name), getattr(wanted, field.name), field.default) for field in fields(wanted)
    )


def _is_shown(observed: object, wanted: object, nothing: object) -> bool:
    match wanted:
        case _ if wanted == nothing:
            return True
        case RoomEquipment():
            return isinstance(observed, RoomEquipment) and shows(observed, wanted)
        case tuple() if isinstance(observed, tuple):
            # Tags and numbers have no order of their own.
            return set(observed) == set(wanted)
        case _:
            return observed == wanted


# In the order in which the steps are taken. Permissions are late: of all, they take a new mailbox longest.
EFFECTS: Mapping[Step, Effect] = {
    Step.CREATE_MAILBOX: Effect(lambda _: True, lambda _, __: True),
    Step.SET_ADDRESS_FIELDS: Effect(
        lambda wanted: is_anything(wanted.address_fields),
        lambda wanted, observed: shows(observed.address_fields, wanted.address_fields),
    ),
    # Asked for by repairs alone: a mailbox is made with its name.
    Step.SET_PROPERTIES: Effect(
        lambda _: False,
        lambda wanted, observed: observed.display_name == wanted.display_name,
    ),
    Step.SET_PLACE: Effect(
        lambda wanted: wanted.place is not None and is_anything(wanted.place),
        lambda wanted, observed: shows(observed.place or Place(), wanted.place or Place()),
    ),
    Step.SET_BOOKING: Effect(
        lambda wanted: wanted.books_automatically,
        lambda wanted, observed: observed.books_automatically == wanted.books_automatically,
    ),
    Step.SET_AUTOMATIC_REPLY: Effect(
        lambda wanted: wanted.automatic_reply is not None,
        lambda wanted, observed: observed.automatic_reply == wanted.automatic_reply,
    ),
    Step.SET_QUOTA: Effect(
        lambda wanted: wanted.quota_megabytes is not None,
        lambda wanted, observed: observed.quota_megabytes == wanted.quota_megabytes,
    ),
    Step.SET_CAPACITY: Effect(
        lambda wanted: wanted.capacity is not None,
        lambda wanted, observed: observed.capacity == wanted.capacity,
    ),
    Step.SET_VISIBILITY: Effect(
        lambda wanted: wanted.is_hidden is not None,
        lambda wanted, observed: observed.is_hidden == wanted.is_hidden,
    ),
    Step.SET_ALIASES: Effect(
        lambda wanted: bool(wanted.aliases),
        lambda wanted, observed: set(wanted.aliases).issubset(observed.aliases),
    ),
    Step.SET_PERMISSIONS: Effect(
        lambda wanted: bool(wanted.permissions or wanted.revoked),
        has_permissions,
    ),
    Step.SET_OWNERS: Effect(
        lambda wanted: bool(wanted.owners),
        lambda wanted, observed: observed.owners == wanted.owners,
    ),
}
