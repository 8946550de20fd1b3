# SPDX-License-Identifier: Apache-2.0
"""Mailboxes: order, desired state, observed state and steps."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from chamberlain.core.ids import RequestId, TemplateId, TenantId, UserId
from chamberlain.core.values import value
from chamberlain.directory.steps import Step


class MailboxType(StrEnum):
    """Type of a mailbox, and kind of its template."""

    SHARED = "shared"
    EQUIPMENT = "equipment"
    ROOM = "room"


class PermissionLevel(StrEnum):
    """Permission of a user on a mailbox.

    In the directory `None` means no entry.
    """

    NONE = "None"
    SEND_AS = "SendAs"
    FULL_ACCESS = "FullAccess"


class TemplateSource(StrEnum):
    """Source of a template: the request, or the default."""

    REQUEST = "request"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class RoomEquipment:
    """Equipment of a room (roomMailboxMetadata); None means not specified."""

    has_conference_phone: bool | None = None
    has_whiteboard: bool | None = None
    has_video_conferencing: bool | None = None


@value(frozen=True, slots=True, kw_only=True)
class MailboxProperties:
    """Properties of a mailbox order or of template defaults.

    None means not specified.
    """

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
    """The body of a mailbox creation; None means not sent."""

    name: str
    display_name: str
    template_id: TemplateId | None = None
    alias: str | None = None


@value(frozen=True, slots=True)
class AddressFields:
    """Address book entry of a mailbox."""

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
    """Room finder entry of a room.

    `capacity` is a number of people.
    """

    capacity: int | None = None
    audio_device_name: str | None = None
    display_device_name: str | None = None
    video_device_name: str | None = None
    is_wheel_chair_accessible: bool | None = None
    tags: tuple[str, ...] = ()
    equipment: RoomEquipment = RoomEquipment()


@value(frozen=True, slots=True)
class WantedMailbox:
    """Desired state of a mailbox.

    `place` exists for rooms only, `books_automatically` for rooms and equipment. `quota_megabytes` is the storage of a
    shared mailbox, `capacity` the number of units of equipment. `permissions` has no users of level None: these are in
    `revoked`, and lose their entry. Entries of other users stay. None means the directory's default.
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
    """Finds the mailbox of a request in the directory, by its mark.

    `id` is its id in the directory, if it is known. Reads by id are the most consistent. An object with this id but
    with another mark, or of another tenant, is not the object of the request.
    """

    tenant_id: TenantId
    extension: str
    request_id: RequestId
    id: UUID | None = None


@dataclass(frozen=True, slots=True)
class ObservedMailbox:
    """Observed state of a mailbox, like WantedMailbox.

    `auto_mapped` are the users with automatically mapped full access; None if the directory does not report them.
    `observed_at` is as of a group.
    """

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
    auto_mapped: frozenset[UserId] | None
    owners: tuple[UserId, ...]
    marks: Mapping[str, str]
    observed_at: datetime | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class MailboxSummary:
    """A mailbox in a list: the values that filters of adoptions match."""

    id: UUID
    type: MailboxType
    name: str
    display_name: str
    mail: str
    marks: Mapping[str, str]


def written_mailbox(wanted: WantedMailbox, mailbox_id: UUID) -> ObservedMailbox:
    """Return the mailbox as it was written.

    For a directory whose writes are not read back.
    """
    users = [user for user, level in wanted.permissions.items() if level is PermissionLevel.FULL_ACCESS]
    return ObservedMailbox(
        id=mailbox_id,
        type=wanted.type,
        name=wanted.name,
        display_name=wanted.display_name,
        mail=wanted.mail,
        aliases=wanted.aliases,
        address_fields=wanted.address_fields,
        place=wanted.place,
        books_automatically=wanted.books_automatically,
        automatic_reply=wanted.automatic_reply,
        quota_megabytes=wanted.quota_megabytes,
        capacity=wanted.capacity,
        is_hidden=wanted.is_hidden is True,
        permissions=wanted.permissions,
        auto_mapped=frozenset(users) if wanted.auto_mapping else frozenset(),
        owners=wanted.owners,
        marks=wanted.marks,
    )


# Groups of properties, each with optional values.
Part = AddressFields | Place | RoomEquipment


@dataclass(frozen=True, slots=True)
class Effect:
    """Effect of a step: whether it is desired and observed."""

    is_wanted: Callable[[WantedMailbox], bool]
    is_shown: Callable[[WantedMailbox, ObservedMailbox], bool]


def plan_mailbox(wanted: WantedMailbox, *, people_checked: bool) -> tuple[Step, ...]:
    """Plan the steps of a mailbox in their order.

    Steps that do not apply are omitted. Submission, dry run and worker use the same plan. `people_checked` is False if
    the directory did not answer at submission.
    """
    steps = tuple([step for step, effect in EFFECTS.items() if effect.is_wanted(wanted)])
    return steps if people_checked else (Step.CHECK_PEOPLE, *steps)


def remaining_of_mailbox(
    wanted: WantedMailbox, observed: ObservedMailbox | None, steps: Iterable[Step]
) -> tuple[Step, ...]:
    """List the steps whose effect is not observed yet.

    A step whose effect the directory does not report is one of them, because it may be missing after a crash.
    """
    if observed is None:
        return tuple(steps)
    return tuple([each for each in steps if not is_done(each, wanted, observed) or _is_hidden(each, wanted, observed)])


def _is_hidden(step: Step, wanted: WantedMailbox, observed: ObservedMailbox) -> bool:
    is_mapped = PermissionLevel.FULL_ACCESS in wanted.permissions.values()
    return step is Step.SET_PERMISSIONS and observed.auto_mapped is None and is_mapped


def is_done(step: Step, wanted: WantedMailbox, observed: ObservedMailbox) -> bool:
    """Return whether the effect of a step is observed.

    An effect that is not reported counts as observed. A mailbox is created after the check of its people.
    """
    return step is Step.CHECK_PEOPLE or EFFECTS[step].is_shown(wanted, observed)


def has_permissions(wanted: WantedMailbox, observed: ObservedMailbox) -> bool:
    """Return whether the desired permissions are observed exactly.

    Entries of other users are not compared. Auto-mapping belongs to full access only, and is not compared if the
    directory does not report it.
    """
    mapped = observed.auto_mapped
    users = [user for user, level in wanted.permissions.items() if level is PermissionLevel.FULL_ACCESS]
    return (
        wanted.permissions.items() <= observed.permissions.items()
        and wanted.revoked.isdisjoint(observed.permissions)
        and (mapped is None or all((user in mapped) is wanted.auto_mapping for user in users))
    )


def is_anything(part: Part) -> bool:
    """Return whether any property is specified."""
    return part != type(part)()


def shows(observed: Part, wanted: Part) -> bool:
    """Return whether all specified properties are observed."""
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
            # Tags and phone numbers have no order.
            return set(observed) == set(wanted)
        case _:
            return observed == wanted


# In the order of the steps. Permissions are late: they take a new mailbox longest.
EFFECTS: Mapping[Step, Effect] = {
    Step.CREATE_MAILBOX: Effect(lambda _: True, lambda _, __: True),
    Step.SET_ADDRESS_FIELDS: Effect(
        lambda wanted: is_anything(wanted.address_fields),
        lambda wanted, observed: shows(observed.address_fields, wanted.address_fields),
    ),
    # For repairs only: a mailbox is created with its name.
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
