"""`/schemaExtensions`: the extension attributes of the tenant's groups and users."""

from chamberlain.embedded.directory.errors import BadQuery
from chamberlain.embedded.directory.graph.calls import Call, Row, Shape
from chamberlain.embedded.directory.graph.filters import Equals, Vocabulary, read_filter
from chamberlain.embedded.directory.graph.options import read_options

_OPTIONS = frozenset({"$filter"})
_VOCABULARY = Vocabulary(frozenset({"id"}))

# One index probe for each name and member, independent of the number of values.
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
    """List all extension attributes, or those with the ids of the filter."""
    options = read_options(call.query_string, known=_OPTIONS)
    ids = None if options.filter is None else _ids(options.filter)
    async with call.connected() as connection:
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
        # The directory does not know the owning application.
        "owner": None,
        "properties": [{"name": member, "type": "String"} for member in row["members"]],
    }
