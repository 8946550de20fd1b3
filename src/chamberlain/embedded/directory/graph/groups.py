"""`/groups` and `/groups/{id}`: groups as Graph shows them."""

from collections.abc import Sequence
from typing import TypeAlias
from uuid import uuid5

import asyncpg
import msgspec

from chamberlain.embedded.directory.database import one_tenant
from chamberlain.embedded.directory.errors import BadQuery
from chamberlain.embedded.directory.graph.calls import Call, NotThere, Shape, nothing, written_time
from chamberlain.embedded.directory.graph.conditions import GROUPS
from chamberlain.embedded.directory.graph.filters import GROUP_VOCABULARY, Equals, Path
from chamberlain.embedded.directory.graph.options import Options, SortKey, read_options
from chamberlain.embedded.directory.graph.paging import (
    Listing,
    Page,
    Query,
    count_entries,
    counts,
    fetch_page,
    page_of,
    read_query,
    shape_of_page,
)
from chamberlain.embedded.directory.groups import GroupQuery

Row: TypeAlias = asyncpg.Record

_LIST_OPTIONS = frozenset({"$filter", "$select", "$orderby", "$count", "$top", "$skiptoken"})
_ENTITY_OPTIONS = frozenset({"$select"})

# The columns are those of sql/groups_by_values.sql.
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
_ONE_GROUP = f"SELECT {_COLUMNS} FROM {_SOURCE} AND g.id = $2"  # noqa: S608 - the two pieces above.

_read_extensions = msgspec.json.Decoder(dict[str, dict[str, str]]).decode

GROUP_LISTING = Listing(
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
    """A page of the groups that the filter names, in the order of their ids unless another one is wanted."""
    options = read_options(call.query_string, known=_LIST_OPTIONS)
    _check_select(options)
    page = await _page(call, read_query(call, GROUP_LISTING, options))
    return shape_of_page(call, page, _context(call, options, ""), lambda row: _selected(_shape(row), options))


async def count_groups(call: Call) -> int:
    """How many groups the filter names."""
    return await count_entries(call, GROUP_LISTING)


async def get_group(call: Call) -> Shape:
    """One group."""
    options = read_options(call.query_string, known=_ENTITY_OPTIONS)
    _check_select(options)
    async with one_tenant(call.pool, call.tenant_id) as connection:
        row = await connection.fetchrow(_ONE_GROUP, call.tenant_id, call.id)
    if row is None or not call.knows(row["created_at"]):
        raise nothing(call)
    return {"@odata.context": _context(call, options, "/$entity"), **_selected(_shape(row), options)}


async def _page(call: Call, query: Query) -> Page:
    match query.filter:
        case Equals(Path(str(extension), member), (str(value),)) if _is_plain(call, query):
            after = None if query.after is None else query.after.id
            wanted = GroupQuery(call.tenant_id, extension, member, value, after, query.options.top + 1)
            return page_of(call, query, await call.find_groups(wanted))
        case _:
            return await fetch_page(call, GROUP_LISTING, query)


def _is_plain(call: Call, query: Query) -> bool:
    """Whether nothing but the filter says what is wanted."""
    return query.order is None and call.visible_until is None and not counts(call, query)


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


def _check_select(options: Options) -> None:
    for name in options.select or ():
        # Names of extension attributes hold an underscore (prefix_name), those of properties never do.
        if name not in _PROPERTIES and "_" not in name:
            message = f"Could not find a property named '{name}' on type 'microsoft.graph.group'."
            raise BadQuery("BadRequest", message)


def _selected(group: Shape, options: Options) -> Shape:
    if options.select is None:
        return group
    return {name: group[name] for name in options.select if name in group}


def _context(call: Call, options: Options, end: str) -> str:
    chosen = "" if options.select is None else f"({','.join(options.select)})"
    return f"{call.root}/$metadata#groups{chosen}{end}"


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
    return {"@odata.context": context, "value": [] if row["group_id"] is None else [_settings(row)]}


def _settings(row: asyncpg.Record) -> Shape:
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
