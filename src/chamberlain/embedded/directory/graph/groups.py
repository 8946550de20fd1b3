# SPDX-License-Identifier: Apache-2.0
"""`/groups`, `/groups/{id}`, and the resources below a group.

These are guest settings, team and channels; see relations.py for owners and members.
"""

from collections.abc import Awaitable, Callable
from uuid import uuid5

import msgspec

from chamberlain.core.directory_filters import Equals, Path
from chamberlain.embedded.directory.database import Connection
from chamberlain.embedded.directory.graph import paging
from chamberlain.embedded.directory.graph.calls import Call, NotThere, Row, Shape, written_time
from chamberlain.embedded.directory.graph.filters import GROUP_VOCABULARY, GROUPS
from chamberlain.embedded.directory.graph.options import Options, SortKey, check_select, context_of, read_options
from chamberlain.embedded.directory.graph.own_properties import GUESTS, SITE, read_own_properties, with_own
from chamberlain.embedded.directory.graph.tenant import GUEST_TEMPLATE_ID, GUEST_TEMPLATE_NAME
from chamberlain.embedded.directory.groups import GroupQuery
from chamberlain.queries import load_queries

SQL = load_queries(__name__)

_LIST_OPTIONS = frozenset({"$filter", "$select", "$orderby", "$count", "$top", "$skiptoken"})
_ENTITY_OPTIONS = frozenset({"$select"})

# The same columns as in sql/groups_by_values.sql, and the unique name.
_COLUMNS = """
    g.id, g.created_at, g.display_name, g.description, g.mail, g.mail_nickname, g.visibility, g.group_types,
    g.membership_rule, g.mail_enabled, g.security_enabled, g.label_id, l.display_name AS label_name,
    g.extensions::text AS extensions,
    EXISTS (SELECT FROM directory.teams t WHERE t.tenant_id = $1 AND t.group_id = g.id) AS is_team, g.unique_name
"""
_SOURCE = """
    directory.groups g LEFT JOIN directory.labels l ON l.tenant_id = $1 AND l.id = g.label_id
WHERE g.tenant_id = $1
"""
_BY_UNIQUE_NAME = f"SELECT {_COLUMNS} FROM {_SOURCE} AND g.unique_name = $2"  # noqa: S608 - fixed pieces.
GROUPS_BY_ID = f"SELECT {_COLUMNS} FROM {_SOURCE} AND g.id = ANY ($2::uuid[])"  # noqa: S608 - fixed pieces.
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


async def find_groups_page(call: Call, query: paging.Query) -> paging.Page:
    """Fetch a page of groups."""
    has_name = "uniqueName" in (query.options.select or ())
    is_plain = query.order is None and call.visible_until is None and not query.counts(call) and not has_name
    match query.filter:
        case Equals(Path(str(extension), member), (str(value),)) if is_plain:
            after = None if query.after is None else query.after.id
            wanted = GroupQuery(call.tenant_id, extension, member, value, after, query.options.top + 1)
            return paging.page_of(call, query, await call.find_groups(wanted))
        case _:
            return await paging.fetch_page(call, GROUP_LISTING, query)


async def fetch_group(call: Call) -> Row:
    """Fetch the group in the path. Raises NotThere."""
    async with call.connected() as connection:
        return await call.fetch_by_id(connection, _ONE_GROUP)


ReadGroups = Callable[[Call, paging.Query], Awaitable[paging.Page]]
ReadOne = Callable[[Call], Awaitable[Row]]


async def list_groups(call: Call, *, read: ReadGroups = find_groups_page) -> Shape:
    """List the groups that match the filter.

    They are sorted by id unless the query has an order.
    """
    options = read_options(call.query_string, known=_LIST_OPTIONS)
    check_select(options, PROPERTIES, "group")
    page = await read(call, paging.read_query(call, GROUP_LISTING, options))
    own = await read_own_properties(call, (SITE, GUESTS), options, page.rows)
    context = context_of(call.root, "groups", options)
    return paging.shape_of_page(call, page, context, lambda row: _selected(call, with_own(_shape(row), own), options))


async def get_group(call: Call, *, read: ReadOne = fetch_group) -> Shape:
    """Return one group."""
    options = read_options(call.query_string, known=_ENTITY_OPTIONS)
    check_select(options, PROPERTIES, "group")
    return await _entity(call, options, await read(call))


async def get_group_by_unique_name(call: Call) -> Shape:
    """Return the group with the unique name in the path.

    Names are compared exactly.
    """
    options = read_options(call.query_string, known=_ENTITY_OPTIONS)
    check_select(options, PROPERTIES, "group")
    name = call.path.partition("'")[2].removesuffix("')").replace("''", "'")
    async with call.connected() as connection:
        row = await call.fetch_known(connection, _BY_UNIQUE_NAME, name)
    return await _entity(call, options, row)


async def _entity(call: Call, options: Options, row: Row) -> Shape:
    own = await read_own_properties(call, (SITE, GUESTS), options, [row])
    context = context_of(call.root, "groups", options, "/$entity")
    return {"@odata.context": context, **_selected(call, with_own(_shape(row), own), options)}


def shape_group(call: Call, row: Row, options: Options) -> Shape:
    """Encode the selected properties of a group."""
    return _selected(call, _shape(row), options)


def _shape(row: Row) -> Shape:
    is_dynamic = row["membership_rule"] is not None
    return {
        "id": str(row["id"]),
        "deletedDateTime": None,
        "createdDateTime": None if row["created_at"] is None else written_time(row["created_at"]),
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
        # A lookup by one extension value does not read it.
        "uniqueName": row.get("unique_name"),
        **_read_extensions(row["extensions"]),
    }


PROPERTIES = frozenset(
    {
        "id", "deletedDateTime", "createdDateTime", "description", "displayName", "groupTypes", "mail", "mailEnabled",
        "mailNickname", "membershipRule", "membershipRuleProcessingState", "proxyAddresses",
        "resourceProvisioningOptions", "securityEnabled", "visibility", "assignedLabels", "uniqueName",
    }
)  # fmt: skip


# As in Graph, a group has these only if they are selected.
_ONLY_SELECTED = frozenset({"assignedLabels", "uniqueName"})


def _selected(call: Call, group: Shape, options: Options) -> Shape:
    if options.select is not None:
        return {name: group[name] for name in options.select if name in group}
    if call.is_strict:
        return {name: group[name] for name in group if name not in _ONLY_SELECTED and "_" not in name}
    del group["uniqueName"]
    return group


async def list_settings(call: Call) -> Shape:
    """List the guest settings of the group.

    Empty while the tenant's default applies.
    """
    read_options(call.query_string)
    async with call.connected() as connection:
        row = await call.fetch_by_id(connection, SQL["settings"])
    context = f"{call.root}/$metadata#groupSettings"
    return {"@odata.context": context, "value": [] if row["group_id"] is None else [_settings(call, row)]}


def _settings(call: Call, row: Row) -> Shape:
    values = {"AllowToAddGuests": "true" if row["allow_to_add_guests"] else "false"}
    # Graph does not have the others.
    values |= (
        {}
        if call.is_strict
        else {
            "GuestsAddedBy": row["guests_added_by"],
            "AllowedGuestDomains": ",".join(row["allowed_guest_domains"]),
            "BlockedGuestDomains": ",".join(row["blocked_guest_domains"]),
        }
    )
    return {
        # A group has at most one settings object, so the id is derived from the group's id.
        "id": str(uuid5(row["id"], GUEST_TEMPLATE_NAME)),
        "displayName": GUEST_TEMPLATE_NAME,
        "templateId": GUEST_TEMPLATE_ID,
        "values": [{"name": name, "value": value} for name, value in values.items()],
    }


async def get_team(call: Call) -> Shape:
    """Return the team of the group."""
    read_options(call.query_string)
    async with call.connected() as connection:
        row = await fetch_team(call, connection)
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
    options = read_options(call.query_string, known=_ENTITY_OPTIONS)
    check_select(options, _CHANNEL_PROPERTIES, "channel")
    async with call.connected() as connection:
        await fetch_team(call, connection)
        rows = await connection.fetch(SQL["channels"], call.tenant_id, call.id)
    selected = _CHANNEL_PROPERTIES if options.select is None else {*options.select}
    channels = [{name: value for name, value in _channel(row).items() if name in selected} for row in rows]
    return {"@odata.context": context_of(call.root, f"teams('{call.id}')/channels", options), "value": channels}


async def fetch_team(call: Call, connection: Connection) -> Row:
    """Fetch the team of the group in the path. Raises NotThere."""
    row = await call.fetch_by_id(connection, SQL["team"])
    if row["team_created_at"] is None:
        raise NotThere("NotFound", f"No team found with Group Id '{call.id}'.")
    return row


_CHANNEL_PROPERTIES = frozenset({"id", "createdDateTime", "displayName", "description", "membershipType"})


def _channel(row: Row) -> Shape:
    return {
        # The format of channel ids in Graph; the name is unique in the team.
        "id": f"19:{uuid5(row['group_id'], row['display_name']).hex}@thread.tacv2",
        "createdDateTime": written_time(row["created_at"]),
        "displayName": row["display_name"],
        "description": row["description"],
        "membershipType": "standard",
    }
