"""`/groups` and `/groups/{id}`: groups as Graph shows them."""

from collections.abc import Sequence
from typing import TypeAlias

import asyncpg
import msgspec

from chamberlain.embedded.directory.database import answering, one_tenant
from chamberlain.embedded.directory.errors import BadQuery
from chamberlain.embedded.directory.graph.calls import Call, Shape, nothing
from chamberlain.embedded.directory.graph.conditions import GROUPS, Parameters, condition_of
from chamberlain.embedded.directory.graph.filters import Equals, Filter, Path, read_filter
from chamberlain.embedded.directory.graph.options import Options, next_query, read_options
from chamberlain.embedded.directory.graph.times import written_time

Row: TypeAlias = asyncpg.Record

_LIST_OPTIONS = frozenset({"$filter", "$select", "$top", "$skiptoken"})
_ENTITY_OPTIONS = frozenset({"$select"})

# The columns are those of sql/groups_by_value.sql.
_GROUPS = """
SELECT g.id, g.created_at, g.display_name, g.description, g.mail, g.mail_nickname, g.visibility, g.group_types,
    g.membership_rule, g.mail_enabled, g.security_enabled, g.label_id, l.display_name AS label_name,
    g.extensions::text AS extensions,
    EXISTS (SELECT FROM directory.teams t WHERE t.tenant_id = $1 AND t.group_id = g.id) AS is_team
FROM directory.groups g LEFT JOIN directory.labels l ON l.tenant_id = $1 AND l.id = g.label_id
WHERE g.tenant_id = $1
"""
_ONE_GROUP = f"{_GROUPS} AND g.id = $2"
_BY_VALUE = "SELECT * FROM directory.groups_by_value($1, $2, $3, $4, $5, $6)"


async def list_groups(call: Call) -> Shape:
    """A page of the groups that the filter names, in the order of their ids."""
    options = read_options(call.query_string, known=_LIST_OPTIONS)
    _check_select(options)
    rows = await _rows(call, None if options.filter is None else read_filter(options.filter), options)
    page: Shape = {"@odata.context": _context(call, options, "")}
    if len(rows) > options.top:
        page["@odata.nextLink"] = f"{call.root}/groups?{next_query(options, rows[options.top - 1]['id'])}"
    page["value"] = [_selected(_shape(row), options) for row in rows[: options.top]]
    return page


async def get_group(call: Call) -> Shape:
    """One group."""
    options = read_options(call.query_string, known=_ENTITY_OPTIONS)
    _check_select(options)
    async with one_tenant(call.pool, call.tenant_id) as connection:
        row = await connection.fetchrow(_ONE_GROUP, call.tenant_id, call.id)
    if row is None or not call.knows(row["created_at"]):
        raise nothing(call)
    return {"@odata.context": _context(call, options, "/$entity"), **_selected(_shape(row), options)}


async def _rows(call: Call, wanted: Filter | None, options: Options) -> Sequence[Row]:
    """One row more than the page holds, if there is one."""
    match wanted:
        case Equals(Path(str(extension), member), (str(value),)) if call.visible_until is None:
            with answering():
                return await call.pool.fetch(
                    _BY_VALUE, call.tenant_id, extension, member, value, options.after, options.top + 1
                )
        case _:
            return await _filtered(call, wanted, options)


async def _filtered(call: Call, wanted: Filter | None, options: Options) -> Sequence[Row]:
    parameters = Parameters([call.tenant_id])
    statement = _GROUPS
    if wanted is not None:
        statement += f" AND {condition_of(wanted, parameters, GROUPS)}"
    if call.visible_until is not None:
        statement += f" AND g.created_at <= {parameters.add(call.visible_until, 'timestamptz')}"
    if options.after is not None:
        statement += f" AND g.id > {parameters.add(options.after, 'uuid')}"
    statement += f" ORDER BY g.id LIMIT {parameters.add(options.top + 1, 'integer')}"
    async with one_tenant(call.pool, call.tenant_id) as connection:
        return await connection.fetch(statement, *parameters)


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
        **msgspec.json.decode(row["extensions"], type=dict[str, dict[str, str]]),
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
