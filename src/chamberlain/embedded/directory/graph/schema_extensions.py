# SPDX-License-Identifier: Apache-2.0
"""`/schemaExtensions`: the extension attributes of the tenant's groups and users."""

from uuid import UUID, uuid5

from chamberlain.core.directory_filters import Equals
from chamberlain.embedded.directory.errors import BadQuery
from chamberlain.embedded.directory.graph.calls import Call, Row, Shape
from chamberlain.embedded.directory.graph.filters import Vocabulary, read_filter
from chamberlain.embedded.directory.graph.options import read_options
from chamberlain.queries import load_queries

SQL = load_queries(__name__)

_OPTIONS = frozenset({"$filter"})
_VOCABULARY = Vocabulary(frozenset({"id"}))


async def list_schema_extensions(call: Call) -> Shape:
    """List all extension attributes, or those with the ids of the filter."""
    options = read_options(call.query_string, known=_OPTIONS)
    ids = None if options.filter is None else _ids(options.filter)
    async with call.connected() as connection:
        rows = await connection.fetch(SQL["names"], call.tenant_id)
    return {
        "@odata.context": f"{call.root}/$metadata#schemaExtensions",
        "value": [_shape(call, row) for row in rows if ids is None or row["name"].lower() in ids],
    }


def _ids(written: str) -> frozenset[str]:
    match read_filter(written, _VOCABULARY):
        case Equals(_, values):
            return frozenset(value.lower() for value in values if value is not None)
        case _:
            raise BadQuery("Request_UnsupportedQuery", "Only id eq '...' and id in ('...') are supported here.")


def _shape(call: Call, row: Row) -> Shape:
    return {
        "id": row["name"],
        "description": None,
        "targetTypes": row["targets"],
        "status": "Available",
        # The directory does not know the owning application. Graph requires an id.
        "owner": str(_owner_of(call.tenant_id)) if call.is_strict else None,
        "properties": [{"name": member, "type": "String"} for member in row["members"]],
    }


def _owner_of(tenant_id: UUID) -> UUID:
    return uuid5(tenant_id, "schemaExtensions")
