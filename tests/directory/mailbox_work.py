# SPDX-License-Identifier: Apache-2.0
"""Work for mailboxes: one of each type with all properties, with optional changes."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypedDict, Unpack
from uuid import uuid4

import pytest

from chamberlain.core.ids import RequestId, TenantId, UserId
from chamberlain.directory.mailboxes import (
    AddressFields,
    MailboxReference,
    MailboxType,
    PermissionLevel,
    Place,
    RoomEquipment,
    WantedMailbox,
    plan_mailbox,
)
from chamberlain.directory.port import MailboxWork, Work
from tests.directory.sample_directory import ADA, BEN, CLEO, TENANT

FIELDS = AddressFields(
    street_address="Kai 7",
    company_name="Häfen & Kräne",
    postal_code="8001",
    city="Zürich",
    country="Switzerland",
    phone="+41 44 000 00 00",
    department="Harbour",
    business_phones=("+41 44 000 00 01", "+41 44 000 00 02"),
    notes="Behind the 'big' \"door\" \\ {left}",
)


class Changes(TypedDict, total=False):
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
    permissions: dict[UserId, PermissionLevel]
    auto_mapping: bool
    owners: tuple[UserId, ...]
    marks: dict[str, str]
    revoked: frozenset[UserId]


def plain(**changes: Unpack[Changes]) -> MailboxWork:
    """Return work for a shared mailbox without properties, with changes."""
    request_id = changes.get("request_id", RequestId(uuid4()))
    wanted = WantedMailbox(
        tenant_id=TENANT,
        request_id=request_id,
        type=MailboxType.SHARED,
        name=f"Harbour {request_id}",
        display_name="Harbour",
        mail=f"harbour-{request_id}@estate.example",
        aliases=(),
        address_fields=AddressFields(),
        place=None,
        books_automatically=False,
        automatic_reply=None,
        quota_megabytes=None,
        capacity=None,
        is_hidden=None,
        permissions={},
        auto_mapping=True,
        owners=(),
        extension="chamberlain_mailbox",
        marks={"requestId": str(request_id)},
    )
    wanted = replace(wanted, **changes)
    return Work(wanted, plan_mailbox(wanted, people_checked=True))


def shared(**changes: Unpack[Changes]) -> MailboxWork:
    """Return work for a shared mailbox with all properties."""
    request_id = changes.get("request_id", RequestId(uuid4()))
    whole = Changes(
        request_id=request_id,
        aliases=(f"quay-{request_id}@estate.example",),
        address_fields=FIELDS,
        automatic_reply="We are at sea.",
        quota_megabytes=500,
        is_hidden=True,
        permissions={ADA: PermissionLevel.FULL_ACCESS, BEN: PermissionLevel.SEND_AS},
        owners=(CLEO, ADA),
    )
    return plain(**(whole | changes))


def room(**changes: Unpack[Changes]) -> MailboxWork:
    """Return work for a room with all properties."""
    whole = Changes(
        type=MailboxType.ROOM,
        address_fields=replace(FIELDS, office_location="HQ - Floor 5"),
        place=Place(
            capacity=12,
            audio_device_name="Horn",
            display_device_name="Screen",
            video_device_name="Eye",
            is_wheel_chair_accessible=True,
            tags=("quiet", "bright"),
            equipment=RoomEquipment(has_conference_phone=True, has_whiteboard=False),
        ),
        books_automatically=True,
        automatic_reply="Leave it as you found it.",
        is_hidden=False,
        permissions={BEN: PermissionLevel.FULL_ACCESS},
        auto_mapping=False,
        owners=(BEN,),
    )
    return plain(**(whole | changes))


def equipment(**changes: Unpack[Changes]) -> MailboxWork:
    """Return work for equipment with all properties."""
    whole = Changes(
        type=MailboxType.EQUIPMENT,
        address_fields=FIELDS,
        books_automatically=True,
        automatic_reply="Bring it back.",
        capacity=3,
        is_hidden=False,
        permissions={CLEO: PermissionLevel.SEND_AS},
        auto_mapping=False,
        owners=(ADA,),
    )
    return plain(**(whole | changes))


def reference(work: MailboxWork) -> MailboxReference:
    """Return the reference of the mailbox."""
    return MailboxReference(work.wanted.tenant_id, work.wanted.extension, work.wanted.request_id)


Make = Callable[..., MailboxWork]
MAKERS: list[Make] = [plain, shared, room, equipment]
each_type = pytest.mark.parametrize("make", MAKERS, ids=["plain", "shared", "room", "equipment"])
