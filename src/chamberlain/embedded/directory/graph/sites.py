"""`/sites/{id}` and `/groups/{id}/sites/root`: the site of a security group."""

from urllib.parse import urlsplit
from uuid import UUID, uuid5

import asyncpg

from chamberlain.embedded.directory.database import one_tenant
from chamberlain.embedded.directory.graph.calls import Call, NotThere, Shape, nothing, written_time
from chamberlain.embedded.directory.graph.options import read_options

_NO_OPTIONS = frozenset[str]()

_SITE = """
SELECT g.id, g.created_at, s.web_url, s.display_name, s.sharing_capability
FROM directory.groups g LEFT JOIN directory.sites s ON s.tenant_id = $1 AND s.security_group_id = g.id
WHERE g.tenant_id = $1 AND g.id = $2
"""


async def get_site(call: Call) -> Shape:
    """One site, by the id that Graph gives it, or by that of its security group."""
    read_options(call.query_string, known=_NO_OPTIONS)
    group_id = call.id if call.address is None else _group_id(call.address)
    row = None if group_id is None else await _find(call, group_id)
    if row is None or (call.address is not None and call.address.lower() != _site_id(row)):
        raise _no_site()
    return _shape(call, row)


async def get_root_site(call: Call) -> Shape:
    """The site of the group."""
    read_options(call.query_string, known=_NO_OPTIONS)
    async with one_tenant(call.pool, call.tenant_id) as connection:
        group = await connection.fetchrow(_SITE, call.tenant_id, call.id)
    if group is None or not call.knows(group["created_at"]):
        raise nothing(call)
    if group["web_url"] is None:
        raise _no_site()
    return _shape(call, group)


async def _find(call: Call, group_id: UUID) -> asyncpg.Record | None:
    async with one_tenant(call.pool, call.tenant_id) as connection:
        row = await connection.fetchrow(_SITE, call.tenant_id, group_id)
    return None if row is None or row["web_url"] is None or not call.knows(row["created_at"]) else row


def _shape(call: Call, row: asyncpg.Record) -> Shape:
    address = urlsplit(row["web_url"])
    made_at = written_time(row["created_at"])
    return {
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
        "sharingCapability": row["sharing_capability"],
    }


def _site_id(row: asyncpg.Record) -> str:
    """The host, the id of the site collection (here: of the security group), and that of its only site."""
    return f"{urlsplit(row['web_url']).netloc.lower()},{row['id']},{uuid5(row['id'], 'root')}"


def _group_id(site_id: str) -> UUID | None:
    parts = site_id.split(",")
    try:
        return UUID(parts[1]) if len(parts) == 3 else None
    except ValueError:
        return None


def _no_site() -> NotThere:
    return NotThere("itemNotFound", "Requested site could not be found")
