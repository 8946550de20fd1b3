# SPDX-License-Identifier: Apache-2.0
"""Owners and members of groups, and managers of users.

Nested groups are members of a group, and their users are its transitive members.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from uuid import UUID, uuid5

import msgspec

from chamberlain.embedded.directory.database import Connection
from chamberlain.embedded.directory.errors import BadQuery
from chamberlain.embedded.directory.graph import paging
from chamberlain.embedded.directory.graph.calls import Call, NotThere, Row, Shape
from chamberlain.embedded.directory.graph.groups import fetch_team
from chamberlain.embedded.directory.graph.options import read_options
from chamberlain.embedded.directory.graph.users import ONE_USER, USER_LISTING, default_shape, fetch_user, list_users
from chamberlain.queries import load_queries

SQL = load_queries(__name__)

# Graph accepts as many in one call of checkMemberGroups and of getByIds.
MOST_GROUPS = 20
MOST_IDS = 1000

_MEMBER_OPTIONS = frozenset({"$select", "$count", "$top", "$skiptoken"})
_ENTITY_OPTIONS = frozenset({"$select"})


@dataclass(frozen=True, slots=True)
class Relation:
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
OWNERS = Relation(f"{_RELATED} AND m.is_owner ORDER BY m.member_id LIMIT $4", f"{_COUNT} AND m.is_owner")
MEMBERS = Relation(f"{_RELATED} AND m.is_member ORDER BY m.member_id LIMIT $4", f"{_COUNT} AND m.is_member")


async def fetch_related(call: Call, relation: Relation, query: paging.Query) -> paging.Page:
    """Fetch a page of owners or members. Raises NotThere."""
    after = None if query.after is None else query.after.id
    async with _group(call) as connection:
        rows = await connection.fetch(relation.page, call.tenant_id, call.id, after, query.options.top + 1)
        count = await connection.fetchval(relation.count, call.tenant_id, call.id) if query.counts(call) else None
    return paging.page_of(call, query, rows, count)


ReadRelated = Callable[[Call, Relation, paging.Query], Awaitable[paging.Page]]


async def list_related(call: Call, relation: Relation, *, read: ReadRelated = fetch_related) -> Shape:
    """List the owners or the direct members of the group."""
    options = read_options(call.query_string, known=_MEMBER_OPTIONS)
    query = paging.Query(options, filter=None, order=None, after=paging.read_place(call, options))
    page = await read(call, relation, query)
    context = f"{call.root}/$metadata#directoryObjects"
    return paging.shape_of_page(call, page, context, lambda row: _selected(_member_shape(row), options.select))


async def count_related(call: Call, relation: Relation) -> int:
    """Count the owners or the direct members of the group."""
    read_options(call.query_string)
    paging.require_eventual(call)
    async with _group(call) as connection:
        count: int = await connection.fetchval(relation.count, call.tenant_id, call.id)
    return count


@asynccontextmanager
async def _group(call: Call) -> AsyncIterator[Connection]:
    """Open a connection after checking that the group exists. Raises NotThere."""
    async with call.connected() as connection:
        await call.fetch_by_id(connection, SQL["group"])
        yield connection


def _member_shape(row: Row) -> Shape:
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


def _users_among(ids: str) -> paging.Listing:
    """Return the listing of the users of a subquery of ids.

    `$2` is the group.
    """
    return replace(
        USER_LISTING,
        source=f"{USER_LISTING.source} AND u.id IN ({ids})",
        counted=f"{USER_LISTING.counted} AND u.id IN ({ids})",
        is_below_id=True,
    )


_DIRECT = "SELECT m.member_id FROM directory.memberships m WHERE m.tenant_id = $1 AND m.group_id = $2"
# The first step is the group itself. UNION ends at groups that contain each other.
_TRANSITIVE = """
    WITH RECURSIVE nested (id) AS (
        SELECT $2::uuid
        UNION
        SELECT m.member_id FROM nested n JOIN directory.memberships m
            ON m.tenant_id = $1 AND m.group_id = n.id AND m.is_group AND m.is_member
    )
    SELECT m.member_id FROM nested n JOIN directory.memberships m
        ON m.tenant_id = $1 AND m.group_id = n.id AND m.is_member AND NOT m.is_group
"""
OWNING_USERS = _users_among(f"{_DIRECT} AND m.is_owner AND NOT m.is_group")
MEMBER_USERS = _users_among(f"{_DIRECT} AND m.is_member AND NOT m.is_group")
TRANSITIVE_USERS = _users_among(_TRANSITIVE)


async def list_related_users(call: Call, listing: paging.Listing) -> Shape:
    """List the users of a relation, with the options of `/users`."""
    async with _group(call):
        pass
    return await list_users(call, listing)


async def count_related_users(call: Call, listing: paging.Listing) -> int:
    """Count the users of a relation that match the filter."""
    async with _group(call):
        pass
    return await paging.count_entries(call, listing)


async def list_team_members(call: Call) -> Shape:
    """List the owners and members of the team.

    Groups in the group are not members of the team.
    """
    read_options(call.query_string)
    async with call.connected() as connection:
        await fetch_team(call, connection)
        rows = await connection.fetch(SQL["team_members"], call.tenant_id, call.id)
    context = f"{call.root}/$metadata#teams('{call.id}')/members"
    return {"@odata.context": context, "value": [_team_member(call, row) for row in rows]}


def _team_member(call: Call, row: Row) -> Shape:
    return {
        "@odata.type": "#microsoft.graph.aadUserConversationMember",
        # A membership has no stored id; a user is a member of a team once.
        "id": str(uuid5(row["group_id"], str(row["member_id"]))),
        "roles": ["owner"] if row["is_owner"] else [],
        "displayName": row["display_name"],
        "userId": str(row["member_id"]),
        "email": row["mail"],
        "tenantId": str(call.tenant_id),
    }


async def get_manager(call: Call) -> Shape:
    """Return the manager of a user. Raises NotThere if there is none."""
    options = read_options(call.query_string, known=_ENTITY_OPTIONS)
    async with call.connected() as connection:
        user = await fetch_user(call, connection)
        row = None
        if user["manager_id"] is not None:
            row = await connection.fetchrow(ONE_USER, call.tenant_id, user["manager_id"])
    if row is None:
        message = "Resource 'manager' does not exist or one of its queried reference-property objects are not present."
        raise NotThere("Request_ResourceNotFound", message)
    shape = {"@odata.type": "#microsoft.graph.user", **default_shape(row)}
    context = f"{call.root}/$metadata#directoryObjects/$entity"
    return {"@odata.context": context, **_selected(shape, options.select)}


class _Groups(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    group_ids: list[UUID] = msgspec.field(name="groupIds")


async def check_member_groups(call: Call) -> Shape:
    """List those of at most 20 groups that contain the user.

    Nested groups count.
    """
    read_options(call.query_string)
    wanted = call.read_body(_Groups)
    if len(wanted.group_ids) > MOST_GROUPS:
        raise BadQuery("Request_BadRequest", f"'groupIds' has more than {MOST_GROUPS} ids.")
    async with call.connected() as connection:
        user = await fetch_user(call, connection)
        rows = await connection.fetch(SQL["groups_of_user"], call.tenant_id, user["id"], wanted.group_ids)
    return {
        "@odata.context": f"{call.root}/$metadata#Collection(Edm.String)",
        "value": [str(row["id"]) for row in rows],
    }


class _Ids(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    ids: list[UUID]
    types: list[str] | None = None


async def get_by_ids(call: Call) -> Shape:
    """Return the users and groups with these ids; unknown ids are ignored."""
    read_options(call.query_string)
    wanted = call.read_body(_Ids)
    if len(wanted.ids) > MOST_IDS:
        raise BadQuery("Request_BadRequest", f"'ids' has more than {MOST_IDS} ids.")
    types = _types(wanted.types)
    async with call.connected() as connection:
        rows = await connection.fetch(SQL["objects"], call.tenant_id, wanted.ids)
    return {
        "@odata.context": f"{call.root}/$metadata#directoryObjects",
        "value": [_member_shape(row) for row in rows if ("group" if row["is_group"] else "user") in types],
    }


def _types(written: Sequence[str] | None) -> frozenset[str]:
    names = frozenset(("user", "group") if not written else (name.lower() for name in written))
    return frozenset({"user", "group"}) if "directoryobject" in names else names
