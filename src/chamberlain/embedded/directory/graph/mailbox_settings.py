"""`/users/{id}/mailboxSettings`: what Graph shows of a mailbox, and under `mailbox` what has no form in Graph."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import asyncpg
import msgspec

from chamberlain.embedded.directory.database import one_tenant
from chamberlain.embedded.directory.entries import Place
from chamberlain.embedded.directory.graph.calls import Call, Shape
from chamberlain.embedded.directory.graph.options import read_options
from chamberlain.embedded.directory.graph.users import contact_of, find_user, proxy_addresses

_NO_OPTIONS = frozenset[str]()

_PURPOSES: Mapping[str, str] = MappingProxyType(
    {"SharedMailbox": "shared", "RoomMailbox": "room", "EquipmentMailbox": "equipment"}
)

_MAILBOX = """
SELECT m.recipient_type, m.name, m.place::text AS place, m.resource_capacity, m.automate_processing,
    m.additional_response, m.automatic_reply, m.quota_megabytes, m.is_hidden, m.owners
FROM directory.mailboxes m WHERE m.tenant_id = $1 AND m.user_id = $2
"""
_PERMISSIONS = """
SELECT p.user_id, p.access_right, p.auto_mapping FROM directory.mailbox_permissions p
WHERE p.tenant_id = $1 AND p.mailbox_id = $2 ORDER BY p.user_id
"""


async def get_mailbox_settings(call: Call) -> Shape:
    """The settings of a user's mailbox."""
    read_options(call.query_string, known=_NO_OPTIONS)
    async with one_tenant(call.pool, call.tenant_id) as connection:
        user = await find_user(call, connection)
        mailbox = await connection.fetchrow(_MAILBOX, call.tenant_id, user["id"])
        permissions = await connection.fetch(_PERMISSIONS, call.tenant_id, user["id"])
    reply = None if mailbox is None else mailbox["automatic_reply"]
    return {
        "@odata.context": f"{call.root}/$metadata#users('{user['id']}')/mailboxSettings",
        "automaticRepliesSetting": {
            "status": "disabled" if reply is None else "alwaysEnabled",
            "externalAudience": "all",
            "internalReplyMessage": reply or "",
            "externalReplyMessage": reply or "",
        },
        "userPurpose": "user" if mailbox is None else _PURPOSES[mailbox["recipient_type"]],
        "mailbox": None if mailbox is None else _mailbox(user, mailbox, permissions),
    }


def _mailbox(user: asyncpg.Record, mailbox: asyncpg.Record, permissions: Sequence[asyncpg.Record]) -> Shape:
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
