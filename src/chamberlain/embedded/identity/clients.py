"""Programs and people as they are stored: found by tenant, never across."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from asyncpg import Record

from chamberlain.embedded.identity.database import Connection, Pool, transaction
from chamberlain.embedded.identity.estate import Account, ClientKind

_CLIENTS = """
SELECT client.id, client.name, client.kind, client.secret_hash, client.redirect_uris,
       coalesce(array_agg(ARRAY[permission.kind, permission.resource, permission.name]
                          ORDER BY permission.resource, permission.name)
                FILTER (WHERE permission.name IS NOT NULL), '{}') AS permissions
FROM identity.clients AS client
LEFT JOIN identity.permissions AS permission
       ON permission.tenant_id = client.tenant_id AND permission.client_id = client.id
WHERE client.tenant_id = $1
GROUP BY client.tenant_id, client.id
ORDER BY client.name
"""

_ACCOUNT = """
SELECT id, address, display_name FROM identity.accounts WHERE tenant_id = $1 AND lower(address) = lower($2)
"""

_ACCOUNT_BY_ID = "SELECT id, address, display_name FROM identity.accounts WHERE tenant_id = $1 AND id = $2"


@dataclass(frozen=True, slots=True)
class RegisteredClient:
    """A program as one tenant knows it, with the names of its permissions by resource."""

    tenant_id: UUID
    id: UUID
    name: str
    kind: ClientKind
    secret_hash: str | None = field(repr=False)
    delegated: Mapping[str, tuple[str, ...]]
    application: Mapping[str, tuple[str, ...]]
    redirect_uris: tuple[str, ...]


async def find_clients(pool: Pool, tenant_id: UUID) -> tuple[RegisteredClient, ...]:
    """All programs of a tenant, by name; there are few of them. None at all: the tenant is not known."""
    async with transaction(pool, tenant_id) as connection:
        rows = await connection.fetch(_CLIENTS, tenant_id)
    return tuple(
        RegisteredClient(
            tenant_id=tenant_id,
            id=row["id"],
            name=row["name"],
            kind=ClientKind(row["kind"]),
            secret_hash=row["secret_hash"],
            delegated=_by_resource(row["permissions"], "delegated"),
            application=_by_resource(row["permissions"], "application"),
            redirect_uris=tuple(row["redirect_uris"]),
        )
        for row in rows
    )


async def find_account(pool: Pool, tenant_id: UUID, address: str) -> Account | None:
    """The person with this address, in either letter case."""
    async with transaction(pool, tenant_id) as connection:
        return _account(tenant_id, await connection.fetchrow(_ACCOUNT, tenant_id, address))


async def find_account_by_id(pool: Pool, tenant_id: UUID, account_id: UUID) -> Account | None:
    """The person with this id."""
    async with transaction(pool, tenant_id) as connection:
        return _account(tenant_id, await connection.fetchrow(_ACCOUNT_BY_ID, tenant_id, account_id))


async def tenants_of_account(pool: Pool, address: str) -> list[UUID]:
    """The tenant that somebody with this address signs in to."""
    async with transaction(pool) as connection:
        return await _ids(connection, "SELECT * FROM identity.tenants_of_account($1)", address)


async def tenants_of_client(pool: Pool, name_or_id: str) -> list[UUID]:
    """The tenants that know a program of this name or id."""
    async with transaction(pool) as connection:
        return await _ids(connection, "SELECT * FROM identity.tenants_of_client($1)", name_or_id)


def _account(tenant_id: UUID, row: Record | None) -> Account | None:
    if row is None:
        return None
    return Account(id=row["id"], tenant=tenant_id, address=row["address"], display_name=row["display_name"])


async def _ids(connection: Connection, statement: str, value: str) -> list[UUID]:
    return [row[0] for row in await connection.fetch(statement, value)]


def _by_resource(permissions: list[list[str]], wanted: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for kind, resource, name in permissions:
        if kind == wanted:
            found[resource] = (*found.get(resource, ()), name)
    return found
