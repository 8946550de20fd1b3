"""`/groups/{id}/settings`: what a group lets guests do, where it has settings of its own."""

from collections.abc import Sequence
from uuid import uuid5

import asyncpg

from chamberlain.embedded.directory.database import one_tenant
from chamberlain.embedded.directory.graph.calls import Call, Shape, nothing
from chamberlain.embedded.directory.graph.options import read_options

_NO_OPTIONS = frozenset[str]()

# Group.Unified.Guest, the one kind of settings that a single group can have in Graph.
_TEMPLATE_NAME = "Group.Unified.Guest"
_TEMPLATE_ID = "08d542b9-071f-4e16-94b0-74abb372e3d9"

_SETTINGS = """
SELECT g.id, g.created_at, s.group_id, s.allow_to_add_guests, s.guests_added_by, s.allowed_guest_domains,
    s.blocked_guest_domains
FROM directory.groups g LEFT JOIN directory.guest_settings s ON s.tenant_id = $1 AND s.group_id = g.id
WHERE g.tenant_id = $1 AND g.id = $2
"""


async def list_settings(call: Call) -> Shape:
    """The settings of the group; an empty list while the tenant's default holds."""
    read_options(call.query_string, known=_NO_OPTIONS)
    async with one_tenant(call.pool, call.tenant_id) as connection:
        row = await connection.fetchrow(_SETTINGS, call.tenant_id, call.id)
    if row is None or not call.knows(row["created_at"]):
        raise nothing(call)
    context = f"{call.root}/$metadata#groupSettings"
    return {"@odata.context": context, "value": [] if row["group_id"] is None else [_shape(row)]}


def _shape(row: asyncpg.Record) -> Shape:
    return {
        # A group has one object of settings at most, so the id follows from the group's.
        "id": str(uuid5(row["id"], _TEMPLATE_NAME)),
        "displayName": _TEMPLATE_NAME,
        "templateId": _TEMPLATE_ID,
        "values": [
            _value("AllowToAddGuests", "true" if row["allow_to_add_guests"] else "false"),
            _value("GuestsAddedBy", row["guests_added_by"]),
            _value("AllowedGuestDomains", _listed(row["allowed_guest_domains"])),
            _value("BlockedGuestDomains", _listed(row["blocked_guest_domains"])),
        ],
    }


def _value(name: str, value: str) -> Shape:
    return {"name": name, "value": value}


def _listed(domains: Sequence[str]) -> str:
    return ",".join(domains)
