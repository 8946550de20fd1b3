"""`/groups/{id}/owners` and `/groups/{id}/members`: users, and groups in the group."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from chamberlain.embedded.directory.database import Connection
from chamberlain.embedded.directory.graph.calls import Call, Row, Shape
from chamberlain.embedded.directory.graph.options import read_options
from chamberlain.embedded.directory.graph.paging import Query, page_of, read_place, require_eventual, shape_of_page
from chamberlain.embedded.directory.graph.users import default_shape
from chamberlain.queries import load_queries

SQL = load_queries(__name__)

_OPTIONS = frozenset({"$select", "$count", "$top", "$skiptoken"})


@dataclass(frozen=True, slots=True)
class _Relation:
    """The statements for the owners, or for the members, of a group."""

    page: str
    count: str


_RELATED = """
SELECT m.member_id AS id, m.is_group, coalesce(u.display_name, g.display_name) AS display_name,
    coalesce(u.mail, g.mail) AS mail, u.user_principal_name, u.properties::text AS properties, g.mail_nickname
FROM directory.memberships m
LEFT JOIN directory.users u ON u.tenant_id = $1 AND u.id = m.member_id
LEFT JOIN directory.groups g ON g.tenant_id = $1 AND g.id = m.member_id
WHERE m.tenant_id = $1 AND m.group_id = $2 AND ($3::uuid IS NULL OR m.member_id > $3)
"""
_COUNT = "SELECT count(*) FROM directory.memberships m WHERE m.tenant_id = $1 AND m.group_id = $2"
_OWNERS = _Relation(f"{_RELATED} AND m.is_owner ORDER BY m.member_id LIMIT $4", f"{_COUNT} AND m.is_owner")
_MEMBERS = _Relation(f"{_RELATED} AND m.is_member ORDER BY m.member_id LIMIT $4", f"{_COUNT} AND m.is_member")


async def list_owners(call: Call) -> Shape:
    """List the owners of the group."""
    return await _list(call, _OWNERS)


async def list_members(call: Call) -> Shape:
    """List the direct members of the group."""
    return await _list(call, _MEMBERS)


async def count_owners(call: Call) -> int:
    """Count the owners of the group."""
    return await _count(call, _OWNERS)


async def count_members(call: Call) -> int:
    """Count the direct members of the group."""
    return await _count(call, _MEMBERS)


async def _list(call: Call, relation: _Relation) -> Shape:
    options = read_options(call.query_string, known=_OPTIONS)
    query = Query(options, filter=None, order=None, after=read_place(call, options))
    after = None if query.after is None else query.after.id
    async with _group(call) as connection:
        rows = await connection.fetch(relation.page, call.tenant_id, call.id, after, options.top + 1)
        count = await connection.fetchval(relation.count, call.tenant_id, call.id) if query.counts(call) else None
    page = page_of(call, query, rows, count)
    context = f"{call.root}/$metadata#directoryObjects"
    return shape_of_page(call, page, context, lambda row: _selected(_shape(row), options.select))


async def _count(call: Call, relation: _Relation) -> int:
    read_options(call.query_string)
    require_eventual(call)
    async with _group(call) as connection:
        count: int = await connection.fetchval(relation.count, call.tenant_id, call.id)
    return count


@asynccontextmanager
async def _group(call: Call) -> AsyncIterator[Connection]:
    """Open a connection after checking that the group exists. Raises NotThere."""
    async with call.connected() as connection:
        await call.fetch_by_id(connection, SQL["group"])
        yield connection


def _shape(row: Row) -> Shape:
    if not row["is_group"]:
        return {"@odata.type": "#microsoft.graph.user", "id": str(row["id"]), **default_shape(row)}
    return {
        "@odata.type": "#microsoft.graph.group",
        "id": str(row["id"]),
        "displayName": row["display_name"],
        "mail": row["mail"],
        "mailNickname": row["mail_nickname"],
    }


def _selected(entry: Shape, select: tuple[str, ...] | None) -> Shape:
    # Users and groups have different properties, so unknown names are ignored.
    if select is None:
        return entry
    return {name: value for name, value in entry.items() if name.startswith("@") or name in select}
