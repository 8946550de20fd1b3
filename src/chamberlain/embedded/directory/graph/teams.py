"""`/groups/{id}/team` and its channels."""

from uuid import uuid5

import asyncpg

from chamberlain.embedded.directory.database import one_tenant
from chamberlain.embedded.directory.graph.calls import Call, NotThere, Shape, nothing
from chamberlain.embedded.directory.graph.options import read_options
from chamberlain.embedded.directory.graph.times import written_time

_NO_OPTIONS = frozenset[str]()

_TEAM = """
SELECT g.display_name, g.description, g.visibility, g.created_at AS group_created_at, t.created_at
FROM directory.groups g LEFT JOIN directory.teams t ON t.tenant_id = $1 AND t.group_id = g.id
WHERE g.tenant_id = $1 AND g.id = $2
"""
_CHANNELS = """
SELECT c.group_id, c.display_name, c.created_at
FROM directory.channels c WHERE c.tenant_id = $1 AND c.group_id = $2 ORDER BY c.position
"""


async def get_team(call: Call) -> Shape:
    """The team of the group."""
    read_options(call.query_string, known=_NO_OPTIONS)
    async with one_tenant(call.pool, call.tenant_id) as connection:
        row = _must_be_team(call, await connection.fetchrow(_TEAM, call.tenant_id, call.id))
    return {
        "@odata.context": f"{call.root}/$metadata#teams/$entity",
        "id": str(call.id),
        "createdDateTime": written_time(row["created_at"]),
        "displayName": row["display_name"],
        "description": row["description"],
        "visibility": row["visibility"].lower(),
        "isArchived": False,
    }


async def list_channels(call: Call) -> Shape:
    """The channels of the team, in their order."""
    read_options(call.query_string, known=_NO_OPTIONS)
    async with one_tenant(call.pool, call.tenant_id) as connection:
        _must_be_team(call, await connection.fetchrow(_TEAM, call.tenant_id, call.id))
        rows = await connection.fetch(_CHANNELS, call.tenant_id, call.id)
    context = f"{call.root}/$metadata#teams('{call.id}')/channels"
    return {"@odata.context": context, "value": [_channel(row) for row in rows]}


def _must_be_team(call: Call, row: asyncpg.Record | None) -> asyncpg.Record:
    if row is None or not call.knows(row["group_created_at"]):
        raise nothing(call)
    if row["created_at"] is None:
        raise NotThere("NotFound", f"No team found with Group Id '{call.id}'.")
    return row


def _channel(row: asyncpg.Record) -> Shape:
    return {
        # Channels have ids of this form; nothing but the name tells those of one team apart.
        "id": f"19:{uuid5(row['group_id'], row['display_name']).hex}@thread.tacv2",
        "createdDateTime": written_time(row["created_at"]),
        "displayName": row["display_name"],
        "membershipType": "standard",
    }
