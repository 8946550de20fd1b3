"""`/schemaExtensions`: the extension attributes that groups and users of the tenant carry."""

from typing import TypeAlias

import asyncpg

from chamberlain.embedded.directory.database import one_tenant
from chamberlain.embedded.directory.errors import BadQuery
from chamberlain.embedded.directory.graph.calls import Call, Shape
from chamberlain.embedded.directory.graph.filters import Equals, Vocabulary, read_filter
from chamberlain.embedded.directory.graph.options import read_options

Row: TypeAlias = asyncpg.Record

_OPTIONS = frozenset({"$filter"})
_VOCABULARY = Vocabulary(frozenset({"id"}))

# One probe for each name and member, however many groups and users have a value there.
_NAMES = """
WITH RECURSIVE of_groups (name, member) AS (
    (SELECT v.name, v.member FROM directory.extension_values v
     WHERE v.tenant_id = $1 ORDER BY v.name, v.member LIMIT 1)
    UNION ALL
    SELECT n.name, n.member FROM of_groups AS last CROSS JOIN LATERAL (
        SELECT v.name, v.member FROM directory.extension_values v
        WHERE v.tenant_id = $1 AND (v.name, v.member) > (last.name, last.member)
        ORDER BY v.name, v.member LIMIT 1) AS n
), of_users (name, member) AS (
    (SELECT v.name, v.member FROM directory.user_extension_values v
     WHERE v.tenant_id = $1 ORDER BY v.name, v.member LIMIT 1)
    UNION ALL
    SELECT n.name, n.member FROM of_users AS last CROSS JOIN LATERAL (
        SELECT v.name, v.member FROM directory.user_extension_values v
        WHERE v.tenant_id = $1 AND (v.name, v.member) > (last.name, last.member)
        ORDER BY v.name, v.member LIMIT 1) AS n
), named (name, member, target) AS (
    SELECT name, member, 'Group' FROM of_groups UNION ALL SELECT name, member, 'User' FROM of_users
)
SELECT name, array_agg(DISTINCT member ORDER BY member) AS members,
    array_agg(DISTINCT target ORDER BY target) AS targets
FROM named GROUP BY name ORDER BY name
"""


async def list_schema_extensions(call: Call) -> Shape:
    """All of them, or those whose ids the filter names."""
    options = read_options(call.query_string, known=_OPTIONS)
    ids = None if options.filter is None else _ids(options.filter)
    async with one_tenant(call.pool, call.tenant_id) as connection:
        rows = await connection.fetch(_NAMES, call.tenant_id)
    return {
        "@odata.context": f"{call.root}/$metadata#schemaExtensions",
        "value": [_shape(row) for row in rows if ids is None or row["name"].lower() in ids],
    }


def _ids(written: str) -> frozenset[str]:
    match read_filter(written, _VOCABULARY):
        case Equals(_, values):
            return frozenset(value.lower() for value in values if value is not None)
        case _:
            raise BadQuery("Request_UnsupportedQuery", "Only id eq '...' and id in ('...') are supported here.")


def _shape(row: Row) -> Shape:
    return {
        "id": row["name"],
        "description": None,
        "targetTypes": row["targets"],
        "status": "Available",
        # Who registered them is not known here.
        "owner": None,
        "properties": [{"name": member, "type": "String"} for member in row["members"]],
    }
