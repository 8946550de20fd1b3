"""`/groups/{id}/owners` and `/groups/{id}/members`: users, and groups in the group."""

import asyncpg
import msgspec

from chamberlain.embedded.directory.database import one_tenant
from chamberlain.embedded.directory.graph.calls import Call, Shape, nothing
from chamberlain.embedded.directory.graph.options import next_query, read_options

_OPTIONS = frozenset({"$select", "$top", "$skiptoken"})

_MADE_AT = "SELECT g.created_at FROM directory.groups g WHERE g.tenant_id = $1 AND g.id = $2"

_RELATED = """
SELECT m.member_id, m.is_group, coalesce(u.display_name, g.display_name) AS display_name,
    coalesce(u.mail, g.mail) AS mail, u.user_principal_name, u.properties::text AS properties, g.mail_nickname
FROM directory.memberships m
LEFT JOIN directory.users u ON u.tenant_id = $1 AND u.id = m.member_id
LEFT JOIN directory.groups g ON g.tenant_id = $1 AND g.id = m.member_id
WHERE m.tenant_id = $1 AND m.group_id = $2 AND ($3::uuid IS NULL OR m.member_id > $3)
"""
_OWNERS = f"{_RELATED} AND m.is_owner ORDER BY m.member_id LIMIT $4"
_MEMBERS = f"{_RELATED} AND m.is_member ORDER BY m.member_id LIMIT $4"


async def list_owners(call: Call) -> Shape:
    """Who owns the group."""
    return await _list(call, "owners", _OWNERS)


async def list_members(call: Call) -> Shape:
    """Who is in the group, not looking into groups that are in it."""
    return await _list(call, "members", _MEMBERS)


async def _list(call: Call, name: str, statement: str) -> Shape:
    options = read_options(call.query_string, known=_OPTIONS)
    async with one_tenant(call.pool, call.tenant_id) as connection:
        made_at = await connection.fetchval(_MADE_AT, call.tenant_id, call.id)
        if made_at is None or not call.knows(made_at):
            raise nothing(call)
        rows = await connection.fetch(statement, call.tenant_id, call.id, options.after, options.top + 1)
    page: Shape = {"@odata.context": f"{call.root}/$metadata#directoryObjects"}
    if len(rows) > options.top:
        after = rows[options.top - 1]["member_id"]
        page["@odata.nextLink"] = f"{call.root}/groups/{call.id}/{name}?{next_query(options, after)}"
    page["value"] = [_selected(_shape(row), options.select) for row in rows[: options.top]]
    return page


def _shape(row: asyncpg.Record) -> Shape:
    return _group(row) if row["is_group"] else _user(row)


def _group(row: asyncpg.Record) -> Shape:
    return {
        "@odata.type": "#microsoft.graph.group",
        "id": str(row["member_id"]),
        "displayName": row["display_name"],
        "mail": row["mail"],
        "mailNickname": row["mail_nickname"],
    }


def _user(row: asyncpg.Record) -> Shape:
    properties = msgspec.json.decode(row["properties"], type=dict[str, str])
    return {
        "@odata.type": "#microsoft.graph.user",
        "id": str(row["member_id"]),
        "businessPhones": [],
        "displayName": row["display_name"],
        "givenName": properties.get("givenName"),
        "jobTitle": properties.get("jobTitle"),
        "mail": row["mail"],
        "mobilePhone": properties.get("mobilePhone"),
        "officeLocation": properties.get("officeLocation"),
        "preferredLanguage": properties.get("preferredLanguage"),
        "surname": properties.get("surname"),
        "userPrincipalName": row["user_principal_name"],
    }


def _selected(entry: Shape, select: tuple[str, ...] | None) -> Shape:
    # Owners and members may be of several types, so a name that one of them lacks is no fault.
    if select is None:
        return entry
    return {name: value for name, value in entry.items() if name.startswith("@") or name in select}
