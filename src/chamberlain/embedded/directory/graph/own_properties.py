# SPDX-License-Identifier: Apache-2.0
"""Properties of mailboxes, sites and guest settings that Graph does not have.

Usually they are members of `mailboxSettings`, of sites and of settings. A strict call gets them under names that Graph
allows, as extensions of the user and of the group, and only if it selects them.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import msgspec

from chamberlain.embedded.directory.database import Connection
from chamberlain.embedded.directory.graph.calls import Call, Row, Shape
from chamberlain.embedded.directory.graph.options import Options
from chamberlain.embedded.directory.mailboxes import Contact, Place
from chamberlain.queries import load_queries

SQL = load_queries(__name__)


@dataclass(frozen=True, slots=True)
class OwnExtension:
    """An extension, and the function that reads its values."""

    name: str
    fetch: Callable[[Call, Connection, Sequence[Row]], Awaitable[Mapping[UUID, Shape]]]


@dataclass(frozen=True, slots=True)
class OwnProperties:
    """The values of an extension by the id of the object."""

    name: str
    values: Mapping[UUID, Shape]


async def read_own_properties(
    call: Call, extensions: Sequence[OwnExtension], options: Options, rows: Sequence[Row]
) -> Sequence[OwnProperties]:
    """Read the extensions of these rows.

    Only a strict call that selects them gets values.
    """
    selected = [each for each in extensions if call.is_strict and each.name in (options.select or ())]
    if not selected or not call.has_details:
        return ()
    async with call.connected() as connection:
        return [OwnProperties(each.name, await each.fetch(call, connection, rows)) for each in selected]


def with_own(shape: Shape, own: Sequence[OwnProperties]) -> Shape:
    """Add the values of an object.

    Members of an extension attribute with the same name stay.
    """
    for each in own:
        values = each.values.get(UUID(str(shape["id"])))
        if values is not None:
            marks = shape.get(each.name)
            shape = {**shape, each.name: {**values, **(marks if isinstance(marks, dict) else {})}}
    return shape


async def _fetch_sites(call: Call, connection: Connection, rows: Sequence[Row]) -> Mapping[UUID, Shape]:
    found = await connection.fetch(SQL["sharing"], call.tenant_id, [row["id"] for row in rows])
    return {row["security_group_id"]: {"sharingCapability": row["sharing_capability"]} for row in found}


async def _fetch_guest_settings(call: Call, connection: Connection, rows: Sequence[Row]) -> Mapping[UUID, Shape]:
    found = await connection.fetch(SQL["guest_settings"], call.tenant_id, [row["id"] for row in rows])
    return {
        row["group_id"]: {
            "guestsAddedBy": row["guests_added_by"],
            "allowedGuestDomains": list(row["allowed_guest_domains"]),
            "blockedGuestDomains": list(row["blocked_guest_domains"]),
        }
        for row in found
    }


async def fetch_mailboxes(call: Call, connection: Connection, users: Sequence[Row]) -> Mapping[UUID, Shape]:
    """Read the own properties of the mailboxes of these users.

    The keys are the ids of the users.
    """
    ids = [user["id"] for user in users]
    mailboxes = {row["user_id"]: row for row in await connection.fetch(SQL["mailboxes"], call.tenant_id, ids)}
    permissions = await connection.fetch(SQL["permissions"], call.tenant_id, [*mailboxes])
    return {
        user["id"]: _mailbox(
            user, mailboxes[user["id"]], [one for one in permissions if one["mailbox_id"] == user["id"]]
        )
        for user in users
        if user["id"] in mailboxes
    }


def contact_of(row: Row) -> Contact:
    """Decode the contact of a mailbox; empty for other users."""
    return Contact() if row["contact"] is None else msgspec.json.decode(row["contact"], type=Contact)


def proxy_addresses(row: Row) -> list[str]:
    """List the addresses of a user. Upper case marks the primary address."""
    primary = [] if row["mail"] is None else [f"SMTP:{row['mail']}"]
    return [*primary, *(f"smtp:{alias}" for alias in row["aliases"] or ())]


def _mailbox(user: Row, mailbox: Row, permissions: Sequence[Row]) -> Shape:
    contact = contact_of(user)
    place = None if mailbox["place"] is None else msgspec.json.decode(mailbox["place"], type=Place)
    return {
        "recipientType": mailbox["recipient_type"],
        "name": mailbox["name"],
        "emailAddresses": proxy_addresses(user),
        "phone": contact.phone,
        "notes": contact.notes,
        "quotaMegabytes": mailbox["quota_megabytes"],
        "resourceCapacity": mailbox["resource_capacity"],
        "automateProcessing": mailbox["automate_processing"],
        "additionalResponse": mailbox["additional_response"],
        "hiddenFromAddressLists": mailbox["is_hidden"],
        "hasConferencePhone": None if place is None else place.has_conference_phone,
        "hasWhiteboard": None if place is None else place.has_whiteboard,
        "hasVideoConferencing": None if place is None else place.has_video_conferencing,
        "owners": [str(owner) for owner in mailbox["owners"]],
        "permissions": [
            {"userId": str(one["user_id"]), "accessRight": one["access_right"], "autoMapping": one["auto_mapping"]}
            for one in permissions
        ],
    }


SITE = OwnExtension("chamberlain_site", _fetch_sites)
GUESTS = OwnExtension("chamberlain_guests", _fetch_guest_settings)
MAILBOX = OwnExtension("chamberlain_mailbox", fetch_mailboxes)
