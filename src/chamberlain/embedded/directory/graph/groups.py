"""`/groups`, `/groups/{id}`, and the resources below a group.

These are owners, members, guest settings, team and channels.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final
from uuid import uuid5

import msgspec

from chamberlain.embedded.directory.database import Connection
from chamberlain.embedded.directory.graph import paging
from chamberlain.embedded.directory.graph.calls import Call, NotThere, Row, Shape, written_time
from chamberlain.embedded.directory.graph.filters import GROUP_VOCABULARY, GROUPS, Equals, Path
from chamberlain.embedded.directory.graph.options import Options, SortKey, check_select, context_of, read_options
from chamberlain.embedded.directory.graph.users import default_shape
from chamberlain.embedded.directory.groups import GroupQuery
from chamberlain.queries import load_queries

SQL = load_queries(__name__)

_LIST_OPTIONS = frozenset({"$filter", "$select", "$orderby", "$count", "$top", "$skiptoken"})
_ENTITY_OPTIONS = frozenset({"$select"})

# The same columns as in sql/groups_by_values.sql.
_COLUMNS = """
    g.id, g.created_at, g.display_name, g.description, g.mail, g.mail_nickname, g.visibility, g.group_types,
    g.membership_rule, g.mail_enabled, g.security_enabled, g.label_id, l.display_name AS label_name,
    g.extensions::text AS extensions,
    EXISTS (SELECT FROM directory.teams t WHERE t.tenant_id = $1 AND t.group_id = g.id) AS is_team
"""
_SOURCE = """
    directory.groups g LEFT JOIN directory.labels l ON l.tenant_id = $1 AND l.id = g.label_id
WHERE g.tenant_id = $1
"""
_ONE_GROUP = f"SELECT {_COLUMNS} FROM {_SOURCE} AND g.id = $2"  # noqa: S608 - fixed pieces.

_read_extensions = msgspec.json.Decoder(dict[str, dict[str, str]]).decode

GROUP_LISTING = paging.Listing(
    kind="Group",
    columns=_COLUMNS,
    source=_SOURCE,
    counted="directory.groups g WHERE g.tenant_id = $1",
    visible="g.created_at <= {}",
    subject=GROUPS,
    vocabulary=GROUP_VOCABULARY,
    keys={
        "displayName": SortKey("g.sorted_name"),
        "mail": SortKey('lower(g.mail) COLLATE "C"', may_lack=True),
        "createdDateTime": SortKey("g.created_at", kind="timestamptz"),
    },
)


async def list_groups(call: Call) -> Shape:
    """List the groups that match the filter.

    They are sorted by id unless the query has an order.
    """
    options = read_options(call.query_string, known=_LIST_OPTIONS)
    check_select(options, _PROPERTIES, "group")
    page = await _page(call, paging.read_query(call, GROUP_LISTING, options))
    context = context_of(call.root, "groups", options)
    return paging.shape_of_page(call, page, context, lambda row: _selected(_shape(row), options))


async def get_group(call: Call) -> Shape:
    """Return one group."""
    options = read_options(call.query_string, known=_ENTITY_OPTIONS)
    check_select(options, _PROPERTIES, "group")
    async with call.connected() as connection:
        row = await call.fetch_by_id(connection, _ONE_GROUP)
    context = context_of(call.root, "groups", options, "/$entity")
    return {"@odata.context": context, **_selected(_shape(row), options)}


async def _page(call: Call, query: paging.Query) -> paging.Page:
    is_plain = query.order is None and call.visible_until is None and not query.counts(call)
    match query.filter:
        case Equals(Path(str(extension), member), (str(value),)) if is_plain:
            after = None if query.after is None else query.after.id
            wanted = GroupQuery(call.tenant_id, extension, member, value, after, query.options.top + 1)
            return paging.page_of(call, query, await call.find_groups(wanted))
        case _:
            return await paging.fetch_page(call, GROUP_LISTING, query)


def _shape(row: Row) -> Shape:
    is_dynamic = row["membership_rule"] is not None
    return {
        "id": str(row["id"]),
        "deletedDateTime": None,
        "createdDateTime": written_time(row["created_at"]),
        "description": row["description"],
        "displayName": row["display_name"],
        "groupTypes": row["group_types"],
        "mail": row["mail"],
        "mailEnabled": row["mail_enabled"],
        "mailNickname": row["mail_nickname"],
        "membershipRule": row["membership_rule"],
        "membershipRuleProcessingState": "On" if is_dynamic else None,
        "proxyAddresses": [] if row["mail"] is None else [f"SMTP:{row['mail']}"],
        "resourceProvisioningOptions": ["Team"] if row["is_team"] else [],
        "securityEnabled": row["security_enabled"],
        "visibility": row["visibility"],
        "assignedLabels": []
        if row["label_id"] is None
        else [{"labelId": row["label_id"], "displayName": row["label_name"]}],
        **_read_extensions(row["extensions"]),
    }


_PROPERTIES = frozenset(
    {
        "id", "deletedDateTime", "createdDateTime", "description", "displayName", "groupTypes", "mail", "mailEnabled",
        "mailNickname", "membershipRule", "membershipRuleProcessingState", "proxyAddresses",
        "resourceProvisioningOptions", "securityEnabled", "visibility", "assignedLabels",
    }
)  # fmt: skip


def _selected(group: Shape, options: Options) -> Shape:
    if options.select is None:
        return group
    return {name: group[name] for name in options.select if name in group}


# The only type of settings that a single group can have in Graph.
_TEMPLATE_NAME: Final = "Group.Unified.Guest"
_TEMPLATE_ID: Final = "08d542b9-071f-4e16-94b0-74abb372e3d9"


async def list_settings(call: Call) -> Shape:
    """List the guest settings of the group.

    Empty while the tenant's default applies.
    """
    read_options(call.query_string)
    async with call.connected() as connection:
        row = await call.fetch_by_id(connection, SQL["settings"])
    context = f"{call.root}/$metadata#groupSettings"
    return {"@odata.context": context, "value": [] if row["group_id"] is None else [_settings(row)]}


def _settings(row: Row) -> Shape:
    values = {
        "AllowToAddGuests": "true" if row["allow_to_add_guests"] else "false",
        "GuestsAddedBy": row["guests_added_by"],
        "AllowedGuestDomains": ",".join(row["allowed_guest_domains"]),
        "BlockedGuestDomains": ",".join(row["blocked_guest_domains"]),
    }
    return {
        # A group has at most one settings object, so the id is derived from the group's id.
        "id": str(uuid5(row["id"], _TEMPLATE_NAME)),
        "displayName": _TEMPLATE_NAME,
        "templateId": _TEMPLATE_ID,
        "values": [{"name": name, "value": value} for name, value in values.items()],
    }


async def get_team(call: Call) -> Shape:
    """Return the team of the group."""
    read_options(call.query_string)
    async with call.connected() as connection:
        row = await _fetch_team(call, connection)
    return {
        "@odata.context": f"{call.root}/$metadata#teams/$entity",
        "id": str(call.id),
        "createdDateTime": written_time(row["team_created_at"]),
        "displayName": row["display_name"],
        "description": row["description"],
        "visibility": row["visibility"].lower(),
        "isArchived": False,
    }


async def list_channels(call: Call) -> Shape:
    """List the channels of the team in their order."""
    read_options(call.query_string)
    async with call.connected() as connection:
        await _fetch_team(call, connection)
        rows = await connection.fetch(SQL["channels"], call.tenant_id, call.id)
    context = f"{call.root}/$metadata#teams('{call.id}')/channels"
    return {"@odata.context": context, "value": [_channel(row) for row in rows]}


async def _fetch_team(call: Call, connection: Connection) -> Row:
    row = await call.fetch_by_id(connection, SQL["team"])
    if row["team_created_at"] is None:
        raise NotThere("NotFound", f"No team found with Group Id '{call.id}'.")
    return row


def _channel(row: Row) -> Shape:
    return {
        # The format of channel ids in Graph; the name is unique in the team.
        "id": f"19:{uuid5(row['group_id'], row['display_name']).hex}@thread.tacv2",
        "createdDateTime": written_time(row["created_at"]),
        "displayName": row["display_name"],
        "membershipType": "standard",
    }


_MEMBER_OPTIONS = frozenset({"$select", "$count", "$top", "$skiptoken"})


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


async def list_related(call: Call, relation: Relation) -> Shape:
    """List the owners or the direct members of the group."""
    options = read_options(call.query_string, known=_MEMBER_OPTIONS)
    query = paging.Query(options, filter=None, order=None, after=paging.read_place(call, options))
    after = None if query.after is None else query.after.id
    async with _group(call) as connection:
        rows = await connection.fetch(relation.page, call.tenant_id, call.id, after, options.top + 1)
        count = await connection.fetchval(relation.count, call.tenant_id, call.id) if query.counts(call) else None
    page = paging.page_of(call, query, rows, count)
    context = f"{call.root}/$metadata#directoryObjects"
    return paging.shape_of_page(call, page, context, lambda row: _selected_members(_member_shape(row), options.select))


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


def _selected_members(entry: Shape, select: tuple[str, ...] | None) -> Shape:
    # Users and groups have different properties, so unknown names are ignored.
    if select is None:
        return entry
    return {name: value for name, value in entry.items() if name.startswith("@") or name in select}
