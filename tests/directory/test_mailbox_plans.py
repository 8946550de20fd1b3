# SPDX-License-Identifier: Apache-2.0
"""The steps to the desired state of a mailbox, and those that are left."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TypedDict, Unpack
from uuid import UUID

import pytest

from chamberlain.core.ids import UserId
from chamberlain.directory import subjects
from chamberlain.directory.mailboxes import (
    EFFECTS,
    AddressFields,
    MailboxOrder,
    MailboxProperties,
    MailboxType,
    ObservedMailbox,
    PermissionLevel,
    Place,
    RoomEquipment,
    WantedMailbox,
    is_done,
    plan_mailbox,
    remaining_of_mailbox,
)
from chamberlain.directory.steps import Step, title
from chamberlain.mailboxes.models import wanted_mailbox
from tests.groups.group_values import ADA, BEN, CLEO, DARA, REQUEST, TENANT
from tests.mailboxes.mailbox_values import EVERY_PROPERTY, ORDER, TEMPLATES

pytestmark = pytest.mark.pure

ROOM, SHARED, EQUIPMENT = MailboxType.ROOM, MailboxType.SHARED, MailboxType.EQUIPMENT
FULL_ACCESS, SEND_AS, NONE = PermissionLevel.FULL_ACCESS, PermissionLevel.SEND_AS, PermissionLevel.NONE


def wanted(sent: MailboxOrder, mailbox_type: MailboxType) -> WantedMailbox:
    return wanted_mailbox(
        sent, TEMPLATES[mailbox_type], request_id=REQUEST, mail="info-desk@estate.example", prefix="estate"
    )


def whole() -> MailboxOrder:
    """An order with every property that there is."""
    whole = ORDER
    for sent in EVERY_PROPERTY.values():
        changed = {
            field.name: getattr(sent, field.name)
            for field in fields(sent)
            if getattr(sent, field.name) != getattr(ORDER, field.name)
        }
        whole = replace(whole, **changed)
    return whole


WHOLE = whole()


class Changes(TypedDict, total=False):
    """The differences of a case from the desired state."""

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


def shown(it: WantedMailbox, **changes: Unpack[Changes]) -> ObservedMailbox:
    """The mailbox as a directory shows it when all that is wanted has been done."""
    observed = ObservedMailbox(
        id=UUID(int=1),
        type=it.type,
        name=it.name,
        display_name=it.display_name,
        mail=it.mail,
        aliases=it.aliases,
        address_fields=it.address_fields,
        place=it.place,
        books_automatically=it.books_automatically,
        automatic_reply=it.automatic_reply,
        quota_megabytes=it.quota_megabytes,
        capacity=it.capacity,
        is_hidden=bool(it.is_hidden),
        permissions=it.permissions,
        auto_mapped=frozenset(it.permissions) if it.auto_mapping else frozenset(),
        owners=it.owners,
        marks=it.marks,
    )
    return replace(observed, **changes)


def test_it_works() -> None:
    room = wanted(WHOLE, ROOM)

    assert room == WantedMailbox(
        tenant_id=TENANT,
        request_id=REQUEST,
        type=ROOM,
        name="Info Desk",
        display_name="Information",
        mail="info-desk@estate.example",
        aliases=(),
        address_fields=AddressFields(
            street_address="1 High Street",
            office_location="HQ - Floor 5",
            company_name="Estate",
            postal_code="8000",
            city="Town",
            country="Switzerland",
            phone="+41 44 000 00 00",
            department="Sales",
            business_phones=("1", "2"),
            notes="A note.",
        ),
        place=Place(
            capacity=12,
            audio_device_name="Speaker",
            display_device_name="Screen",
            video_device_name="Camera",
            is_wheel_chair_accessible=False,
            tags=("quiet",),
            equipment=RoomEquipment(),
        ),
        books_automatically=True,
        automatic_reply="Thanks.\nBye.",
        quota_megabytes=None,
        capacity=None,
        is_hidden=False,
        permissions={BEN: FULL_ACCESS},
        auto_mapping=False,
        owners=(BEN, CLEO),
        extension="estate_mailbox",
        marks={"requestId": str(REQUEST)},
    )


def test_a_shared_mailbox_and_equipment_want_what_is_theirs() -> None:
    shared, equipment = wanted(WHOLE, SHARED), wanted(WHOLE, EQUIPMENT)

    assert (shared.aliases, shared.quota_megabytes, shared.capacity) == (("desk@estate.example",), 12, None)
    assert (equipment.aliases, equipment.quota_megabytes, equipment.capacity) == ((), None, 12)
    assert (shared.place, equipment.place) == (None, None)
    assert (shared.books_automatically, equipment.books_automatically) == (False, True)
    assert shared.address_fields.office_location is None


@pytest.mark.parametrize(
    ("sent", "is_mapped"),
    [
        (ORDER, True),
        (replace(ORDER, auto_mapping=True), True),
        (replace(ORDER, auto_mapping=False), False),
    ],
)
def test_full_access_of_a_shared_mailbox_is_mapped_unless_somebody_says_no(
    sent: MailboxOrder, *, is_mapped: bool
) -> None:
    assert wanted(sent, SHARED).auto_mapping is is_mapped
    assert wanted(sent, ROOM).auto_mapping is False


def test_the_level_none_is_no_permission_but_a_wish() -> None:
    it = wanted(replace(ORDER, permissions={BEN: SEND_AS, CLEO: NONE}), SHARED)

    assert it.permissions == {BEN: SEND_AS}
    assert it.revoked == {CLEO}


def test_what_the_template_gives_is_wanted() -> None:
    template = replace(TEMPLATES[ROOM], defaults=MailboxProperties(hide_from_gal=True, tags=("quiet",)))

    it = wanted_mailbox(ORDER, template, request_id=REQUEST, mail="a@estate.example", prefix="estate")

    assert it.is_hidden is True
    assert it.place == Place(tags=("quiet",))


def test_one_owner_is_named_once() -> None:
    assert wanted(replace(ORDER, primary_owner=BEN, secondary_owner=BEN), SHARED).owners == (BEN,)
    assert wanted(replace(ORDER, secondary_owner=CLEO), SHARED).owners == (CLEO,)


ALWAYS: Mapping[MailboxType, list[Step]] = {
    SHARED: [Step.CREATE_MAILBOX],
    EQUIPMENT: [Step.CREATE_MAILBOX, Step.SET_BOOKING],
    ROOM: [Step.CREATE_MAILBOX, Step.SET_BOOKING],
}
# The step of each property, where it has one: for the types that are named, or for all.
STEPS: Mapping[str, Mapping[MailboxType, Step]] = {
    "permissions": dict.fromkeys(MailboxType, Step.SET_PERMISSIONS),
    "capacity": {SHARED: Step.SET_QUOTA, EQUIPMENT: Step.SET_CAPACITY, ROOM: Step.SET_PLACE},
    "streetAddress": dict.fromkeys(MailboxType, Step.SET_ADDRESS_FIELDS),
    "officeLocation": {ROOM: Step.SET_ADDRESS_FIELDS},
    "companyName": dict.fromkeys(MailboxType, Step.SET_ADDRESS_FIELDS),
    "postalCode": dict.fromkeys(MailboxType, Step.SET_ADDRESS_FIELDS),
    "city": dict.fromkeys(MailboxType, Step.SET_ADDRESS_FIELDS),
    "country": dict.fromkeys(MailboxType, Step.SET_ADDRESS_FIELDS),
    "phone": dict.fromkeys(MailboxType, Step.SET_ADDRESS_FIELDS),
    "department": dict.fromkeys(MailboxType, Step.SET_ADDRESS_FIELDS),
    "businessPhones": dict.fromkeys(MailboxType, Step.SET_ADDRESS_FIELDS),
    "notes": dict.fromkeys(MailboxType, Step.SET_ADDRESS_FIELDS),
    "audioDeviceName": {ROOM: Step.SET_PLACE},
    "displayDeviceName": {ROOM: Step.SET_PLACE},
    "videoDeviceName": {ROOM: Step.SET_PLACE},
    "isWheelChairAccessible": {ROOM: Step.SET_PLACE},
    "tags": {ROOM: Step.SET_PLACE},
    "primaryOwner": dict.fromkeys(MailboxType, Step.SET_OWNERS),
    "secondaryOwner": dict.fromkeys(MailboxType, Step.SET_OWNERS),
    "automaticReply": dict.fromkeys(MailboxType, Step.SET_AUTOMATIC_REPLY),
    "hideFromGAL": dict.fromkeys(MailboxType, Step.SET_VISIBILITY),
    "alias": {SHARED: Step.SET_ALIASES},
}


@pytest.mark.parametrize("mailbox_type", MailboxType)
@pytest.mark.parametrize("name", EVERY_PROPERTY)
def test_every_property_has_its_step_or_none(name: str, mailbox_type: MailboxType) -> None:
    expected = {*ALWAYS[mailbox_type], *filter(None, [STEPS.get(name, {}).get(mailbox_type)])}

    steps = plan_mailbox(wanted(EVERY_PROPERTY[name], mailbox_type), people_checked=True)

    assert set(steps) == expected
    assert list(steps) == [step for step in Step if step in expected]


@pytest.mark.parametrize(
    "sent",
    [
        replace(ORDER, permissions={}, metadata={}, business_phones=(), tags=(), room_mailbox_metadata=RoomEquipment()),
        replace(ORDER, street_address="", automatic_reply="", audio_device_name="", notes=""),
    ],
)
@pytest.mark.parametrize("mailbox_type", MailboxType)
def test_what_is_empty_needs_no_step(sent: MailboxOrder, mailbox_type: MailboxType) -> None:
    assert list(plan_mailbox(wanted(sent, mailbox_type), people_checked=True)) == ALWAYS[mailbox_type]


def test_room_equipment_is_part_of_the_place() -> None:
    it = wanted(replace(ORDER, room_mailbox_metadata=RoomEquipment(has_whiteboard=False)), ROOM)

    assert Step.SET_PLACE in plan_mailbox(it, people_checked=True)


def test_it_checks_people_first_when_nobody_did() -> None:
    assert plan_mailbox(wanted(ORDER, SHARED), people_checked=False) == (Step.CHECK_PEOPLE, Step.CREATE_MAILBOX)


@pytest.mark.parametrize("mailbox_type", MailboxType)
def test_nothing_is_left_when_all_is_shown(mailbox_type: MailboxType) -> None:
    it = wanted(WHOLE, mailbox_type)
    steps = plan_mailbox(it, people_checked=False)

    assert remaining_of_mailbox(it, shown(it), steps) == ()
    assert remaining_of_mailbox(it, None, steps) == steps


OTHER = UserId(UUID(int=7))
FULL = wanted(replace(WHOLE, permissions={BEN: FULL_ACCESS, CLEO: SEND_AS, DARA: NONE}, auto_mapping=True), SHARED)
DIFFERENT: list[tuple[WantedMailbox, ObservedMailbox, list[Step]]] = [
    (FULL, shown(FULL, address_fields=replace(FULL.address_fields, city="Village")), [Step.SET_ADDRESS_FIELDS]),
    (FULL, shown(FULL, address_fields=replace(FULL.address_fields, business_phones=("1",))), [Step.SET_ADDRESS_FIELDS]),
    (FULL, shown(FULL, address_fields=replace(FULL.address_fields, business_phones=("2", "1"))), []),
    (FULL, shown(FULL, address_fields=replace(FULL.address_fields, office_location="of somebody else")), []),
    (FULL, shown(FULL, automatic_reply=None), [Step.SET_AUTOMATIC_REPLY]),
    (FULL, shown(FULL, quota_megabytes=13), [Step.SET_QUOTA]),
    (FULL, shown(FULL, is_hidden=True), [Step.SET_VISIBILITY]),
    (FULL, shown(FULL, aliases=()), [Step.SET_ALIASES]),
    (FULL, shown(FULL, aliases=("more@estate.example", *FULL.aliases)), []),
    (FULL, shown(FULL, permissions={BEN: FULL_ACCESS}), [Step.SET_PERMISSIONS]),
    (FULL, shown(FULL, permissions={BEN: SEND_AS, CLEO: SEND_AS}), [Step.SET_PERMISSIONS]),
    (FULL, shown(FULL, permissions={**FULL.permissions, DARA: SEND_AS}), [Step.SET_PERMISSIONS]),
    (FULL, shown(FULL, permissions={**FULL.permissions, OTHER: FULL_ACCESS}), []),
    (FULL, shown(FULL, auto_mapped=frozenset()), [Step.SET_PERMISSIONS]),
    (FULL, shown(FULL, auto_mapped=frozenset({BEN, OTHER})), []),
    (FULL, shown(FULL, owners=(CLEO, BEN)), [Step.SET_OWNERS]),
    (FULL, shown(FULL, owners=()), [Step.SET_OWNERS]),
]


@pytest.mark.parametrize(("it", "observed", "left"), DIFFERENT)
def test_what_shows_otherwise_is_left_to_do(it: WantedMailbox, observed: ObservedMailbox, left: list[Step]) -> None:
    assert list(remaining_of_mailbox(it, observed, plan_mailbox(it, people_checked=True))) == left


OF_ROOM = wanted(replace(WHOLE, room_mailbox_metadata=RoomEquipment(has_whiteboard=True)), ROOM)
PLACE = OF_ROOM.place or Place()
OF_EQUIPMENT = wanted(WHOLE, EQUIPMENT)


@pytest.mark.parametrize(
    ("it", "observed", "left"),
    [
        (OF_ROOM, shown(OF_ROOM, place=None), [Step.SET_PLACE]),
        (OF_ROOM, shown(OF_ROOM, place=replace(PLACE, capacity=13)), [Step.SET_PLACE]),
        (OF_ROOM, shown(OF_ROOM, place=replace(PLACE, equipment=RoomEquipment())), [Step.SET_PLACE]),
        (
            OF_ROOM,
            shown(
                OF_ROOM, place=replace(PLACE, equipment=RoomEquipment(has_video_conferencing=True, has_whiteboard=True))
            ),
            [],
        ),
        (OF_ROOM, shown(OF_ROOM, books_automatically=False), [Step.SET_BOOKING]),
        (OF_EQUIPMENT, shown(OF_EQUIPMENT, capacity=None), [Step.SET_CAPACITY]),
        (OF_EQUIPMENT, shown(OF_EQUIPMENT, books_automatically=False), [Step.SET_BOOKING]),
    ],
)
def test_so_it_is_for_rooms_and_equipment(it: WantedMailbox, observed: ObservedMailbox, left: list[Step]) -> None:
    assert list(remaining_of_mailbox(it, observed, plan_mailbox(it, people_checked=True))) == left


def test_an_unreported_mapping_is_set_again_and_is_not_wrong() -> None:
    it = wanted(replace(ORDER, permissions={BEN: PermissionLevel.FULL_ACCESS}), MailboxType.SHARED)
    sending = wanted(replace(ORDER, permissions={BEN: PermissionLevel.SEND_AS}), MailboxType.SHARED)

    hidden, none_mapped = (replace(shown(each), auto_mapped=None) for each in (it, sending))

    assert remaining_of_mailbox(it, hidden, plan_mailbox(it, people_checked=True)) == (Step.SET_PERMISSIONS,)
    assert is_done(Step.SET_PERMISSIONS, it, hidden)
    assert remaining_of_mailbox(sending, none_mapped, plan_mailbox(sending, people_checked=True)) == ()


def test_none_alone_is_a_step_until_nobody_has_it() -> None:
    it = wanted(replace(ORDER, permissions={ADA: NONE}), SHARED)
    steps = plan_mailbox(it, people_checked=True)

    assert steps == (Step.CREATE_MAILBOX, Step.SET_PERMISSIONS)
    assert remaining_of_mailbox(it, shown(it), steps) == ()
    assert remaining_of_mailbox(it, shown(it, permissions={ADA: FULL_ACCESS}), steps) == (Step.SET_PERMISSIONS,)


def test_every_step_of_a_mailbox_has_an_effect_and_a_title() -> None:
    of_groups = {
        Step.CREATE_GROUP,
        Step.ADD_OWNERS,
        Step.ADD_MEMBERS,
        Step.SET_LABEL,
        Step.CREATE_TEAM,
        Step.CREATE_CHANNELS,
        Step.ASSIGN_GUEST_RULES,
    }

    assert set(EFFECTS) == set(Step) - of_groups - set(subjects.EFFECTS) - {Step.CHECK_PEOPLE, Step.REPAIR_DRIFT}
    assert len({title(step) for step in Step}) == len(Step)


def test_it_rejects_a_step_of_a_group() -> None:
    it = wanted(ORDER, SHARED)

    with pytest.raises(KeyError):
        is_done(Step.CREATE_TEAM, it, shown(it))
