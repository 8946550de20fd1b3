# SPDX-License-Identifier: Apache-2.0
"""New mailboxes, one of each type."""

from uuid import UUID

from chamberlain.embedded.directory.database import Pool
from chamberlain.embedded.directory.entries import Mark
from chamberlain.embedded.directory.mailboxes import Contact, MailboxEntry, Mailboxes, Permission, Place
from tests.embedded.directory.sample_data import ADA, BEN, HOUSE, OTHER_HOUSE

HELP = UUID("40000000-0000-4000-8000-000000000001")
ROOM = UUID("40000000-0000-4000-8000-000000000002")
CART = UUID("40000000-0000-4000-8000-000000000003")
OTHER_ROOM = UUID("40000000-0000-4000-8000-000000000004")

ENTRIES = [
    MailboxEntry(
        mark=Mark(HOUSE, "house_mailbox", "HELP-1"),
        id=HELP,
        recipient_type="SharedMailbox",
        name="Help",
        display_name="Help desk",
        mail="help@house.example",
        values={"requestId": "HELP-1"},
        aliases=("Support@house.example",),
        properties={"department": "Service", "city": "Basel"},
        contact=Contact(phone="1", business_phones=("2", "3"), notes="Patient"),
        automatic_reply="We answer tomorrow.",
        quota_megabytes=500,
        is_hidden=True,
        owners=(BEN,),
        permissions={ADA: Permission("FullAccess", auto_mapping=True), BEN: Permission("SendAs", auto_mapping=False)},
    ),
    MailboxEntry(
        mark=Mark(HOUSE, "house_mailbox", "ROOM-1"),
        id=ROOM,
        recipient_type="RoomMailbox",
        name="Tower",
        display_name="Tower room",
        mail="tower@house.example",
        values={"requestId": "ROOM-1"},
        properties={"officeLocation": "Top", "streetAddress": "Kai 7", "city": "Basel", "country": "Switzerland"},
        contact=Contact(phone="4"),
        place=Place(
            audio_device_name="Horn",
            video_device_name="Eye",
            display_device_name="Screen",
            is_wheel_chair_accessible=True,
            tags=("quiet",),
            has_whiteboard=True,
        ),
        resource_capacity=12,
        automate_processing="AutoAccept",
        additional_response="Sweep it.",
    ),
    MailboxEntry(
        mark=Mark(HOUSE, "house_mailbox", "CART-1"),
        id=CART,
        recipient_type="EquipmentMailbox",
        name="Cart",
        display_name="Cart",
        mail="cart@house.example",
        values={"requestId": "CART-1"},
        resource_capacity=3,
        automate_processing="AutoAccept",
    ),
    MailboxEntry(
        mark=Mark(OTHER_HOUSE, "house_mailbox", "ROOM-1"),
        id=OTHER_ROOM,
        recipient_type="RoomMailbox",
        name="Cellar",
        display_name="Cellar",
        mail="cellar@other.example",
        values={"requestId": "ROOM-1"},
        place=Place(),
    ),
]


async def create_mailboxes(pool: Pool) -> None:
    """Create all mailboxes."""
    ensured = await Mailboxes(pool, key_member="requestId").ensure(ENTRIES)
    assert [one.fault for one in ensured] == [None] * len(ENTRIES)
