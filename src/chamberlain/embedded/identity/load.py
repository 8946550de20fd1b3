"""Bringing programs and people of a configuration file into the database."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from chamberlain.embedded.identity import client_secrets
from chamberlain.embedded.identity.database import Connection, Pool, transaction
from chamberlain.embedded.identity.estate import Account, Client

_ACCOUNT = """
INSERT INTO identity.accounts (tenant_id, id, address, display_name) VALUES ($1, $2, $3, $4)
ON CONFLICT (tenant_id, id) DO UPDATE SET address = excluded.address, display_name = excluded.display_name
"""

_CLIENT = """
INSERT INTO identity.clients AS stored (tenant_id, id, name, kind, secret_hash, redirect_uris)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (tenant_id, id) DO UPDATE
SET name = excluded.name, kind = excluded.kind, secret_hash = coalesce(excluded.secret_hash, stored.secret_hash),
    redirect_uris = excluded.redirect_uris
"""

_REMOVE_PERMISSIONS = "DELETE FROM identity.permissions WHERE tenant_id = $1 AND client_id = $2"

_PERMISSION = """
INSERT INTO identity.permissions (tenant_id, client_id, kind, resource, name) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT DO NOTHING
"""


async def load(
    pool: Pool,
    *,
    accounts: Sequence[Account] = (),
    clients: Sequence[Client] = (),
    secrets: Mapping[UUID, str] | None = None,
) -> None:
    """Make people and programs as they are given; those not given stay, and so does a secret that is not given.

    `secrets` are by the program's id. The pool is the worker's or the owner's: the application may only read.
    """
    async with transaction(pool) as connection:
        for account in accounts:
            await connection.execute(_ACCOUNT, account.tenant, account.id, account.address, account.display_name)
        for client in clients:
            for tenant_id in client.tenants:
                await _load_client(connection, tenant_id, client, (secrets or {}).get(client.id))


async def _load_client(connection: Connection, tenant_id: UUID, client: Client, secret: str | None) -> None:
    secret_hash = None if secret is None else client_secrets.kept(secret)
    await connection.execute(
        _CLIENT, tenant_id, client.id, client.name, client.kind.value, secret_hash, list(client.redirect_uris)
    )
    await connection.execute(_REMOVE_PERMISSIONS, tenant_id, client.id)
    for kind, permissions in (("delegated", client.delegated), ("application", client.application)):
        for resource, names in permissions.items():
            for name in names:
                await connection.execute(_PERMISSION, tenant_id, client.id, kind, resource, name)
