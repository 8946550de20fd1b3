# SPDX-License-Identifier: Apache-2.0
"""Mailboxes of each type and a team: desired state and observation."""

from dataclasses import replace
from uuid import UUID

from chamberlain.core.ids import GroupId
from chamberlain.directory.groups import ObservedGroup, WantedGroup
from chamberlain.directory.mailboxes import (
    MailboxOrder,
    MailboxType,
    ObservedMailbox,
    PermissionLevel,
    RoomEquipment,
    WantedMailbox,
)
from chamberlain.mailboxes.models import wanted_mailbox
from tests.groups.group_values import ADA, BEN, CLEO, DARA, ELI, LABEL, REQUEST, WANTED
from tests.mailboxes.mailbox_values import TEMPLATES

FULL = PermissionLevel.FULL_ACCESS
SEND = PermissionLevel.SEND_AS
EVERYTHING = MailboxOrder(
    "Desk",
    "The desk",
    permissions={BEN: FULL, CLEO: SEND, DARA: PermissionLevel.NONE},
    capacity=12,
    street_address="1 High Street",
    office_location="HQ",
    company_name="Estate",
    postal_code="8000",
    city="Town",
    country="Switzerland",
    phone="+41 44 000 00 00",
    department="Sales",
    audio_device_name="Speaker",
    display_device_name="Screen",
    video_device_name="Camera",
    business_phones=("1", "2"),
    primary_owner=BEN,
    secondary_owner=CLEO,
    automatic_reply="Thanks.",
    is_wheel_chair_accessible=True,
    hide_from_gal=True,
    auto_mapping=True,
    tags=("quiet", "bright"),
    room_mailbox_metadata=RoomEquipment(has_conference_phone=True, has_whiteboard=False, has_video_conferencing=True),
    notes="A note.",
    alias="counter",
)


def wanted_of(of_type: MailboxType, order: MailboxOrder = EVERYTHING) -> WantedMailbox:
    """Return the desired state of the order for this type."""
    template = TEMPLATES[of_type]
    return wanted_mailbox(order, template, request_id=REQUEST, mail="desk@estate.example", prefix="chamberlain")


def shown_of(wanted: WantedMailbox) -> ObservedMailbox:
    """A mailbox that is just as it is wanted."""
    full = [user for user, level in wanted.permissions.items() if level is FULL and wanted.auto_mapping]
    return ObservedMailbox(
        id=UUID(int=1),
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
        is_hidden=bool(wanted.is_hidden),
        permissions=wanted.permissions,
        auto_mapped=frozenset(full),
        owners=wanted.owners,
        marks=wanted.marks,
    )


TEAM: WantedGroup = replace(
    WANTED,
    description="Rockets",
    owners=(ADA, BEN),
    members=(ADA, BEN, CLEO, ELI),
    label_id=LABEL,
    channels=("General", "Planning"),
)


def shown_group(wanted: WantedGroup) -> ObservedGroup:
    """A group that is just as it is wanted."""
    return ObservedGroup(
        id=GroupId(UUID(int=2)),
        display_name=wanted.display_name,
        mail=wanted.mail,
        mail_nickname=wanted.mail_nickname,
        owners=frozenset(wanted.owners),
        members=frozenset(wanted.members),
        label_id=wanted.label_id,
        channels=wanted.channels,
        marks=wanted.marks,
        description=wanted.description,
        member_ship_type=wanted.member_ship_type,
    )
