# SPDX-License-Identifier: Apache-2.0
"""`/sites/{id}` and `/groups/{id}/sites/root`: the site of a security group."""

from urllib.parse import urlsplit
from uuid import UUID, uuid5

from chamberlain.embedded.directory.graph.calls import Call, NotThere, Row, Shape, written_time
from chamberlain.embedded.directory.graph.options import read_options
from chamberlain.queries import load_queries

SQL = load_queries(__name__)


async def get_site(call: Call) -> Shape:
    """Return one site, by its own or its security group's id."""
    read_options(call.query_string)
    group_id = call.id if call.address is None else _group_id(call.address)
    row = None if group_id is None else await _find(call, group_id)
    if row is None or (call.address is not None and call.address.lower() != _site_id(row)):
        raise _no_site()
    return _shape(call, row)


async def get_root_site(call: Call) -> Shape:
    """Return the site of the group."""
    read_options(call.query_string)
    async with call.connected() as connection:
        group = await call.fetch_by_id(connection, SQL["site"])
    if group["web_url"] is None:
        raise _no_site()
    return _shape(call, group)


async def _find(call: Call, group_id: UUID) -> Row | None:
    async with call.connected() as connection:
        row = await connection.fetchrow(SQL["site"], call.tenant_id, group_id)
    return None if row is None or row["web_url"] is None or not call.knows(row["created_at"]) else row


def _shape(call: Call, row: Row) -> Shape:
    address = urlsplit(row["web_url"])
    made_at = written_time(row["created_at"])
    site: Shape = {
        "@odata.context": f"{call.root}/$metadata#sites/$entity",
        "createdDateTime": made_at,
        "description": "",
        "id": _site_id(row),
        "lastModifiedDateTime": made_at,
        "name": address.path.rstrip("/").rpartition("/")[2],
        "webUrl": row["web_url"],
        "displayName": row["display_name"],
        "root": {},
        "siteCollection": {"hostname": address.netloc},
    }
    return site if call.is_strict else {**site, "sharingCapability": row["sharing_capability"]}


def _site_id(row: Row) -> str:
    """Return the Graph id of the site.

    It consists of the host, the id of the site collection (the security group), and the id of its only site.
    """
    return f"{urlsplit(row['web_url']).netloc.lower()},{row['id']},{uuid5(row['id'], 'root')}"


def _group_id(site_id: str) -> UUID | None:
    parts = site_id.split(",")
    try:
        return UUID(parts[1]) if len(parts) == 3 else None
    except ValueError:
        return None


def _no_site() -> NotThere:
    return NotThere("itemNotFound", "Requested site could not be found")
