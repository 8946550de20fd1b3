# SPDX-License-Identifier: Apache-2.0
"""Load clients and accounts, set passwords, and upgrade old rows."""

from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

from chamberlain.embedded.identity.clients import Account, Client, ClientKind
from chamberlain.embedded.identity.database import Connection, Pool, transaction
from chamberlain.embedded.identity.hashing import hash_client_secret, hash_secrets, is_client_secret_hash
from chamberlain.queries import load_queries

SQL = load_queries(__name__)

# A new password revokes everything that the old one gave access to.
_REVOKE = (
    "DELETE FROM identity.sessions WHERE tenant_id = $1 AND account_id = $2",
    "DELETE FROM identity.authorization_codes WHERE tenant_id = $1 AND account_id = $2",
    "DELETE FROM identity.device_codes WHERE tenant_id = $1 AND account_id = $2",
    "DELETE FROM identity.refresh_tokens WHERE tenant_id = $1 AND account_id = $2",
)

# Versions without sign-in pages stored no redirect URIs.
_REDIRECT_URIS = """
UPDATE identity.clients SET redirect_uris = $3 WHERE tenant_id = $1 AND id = $2 AND redirect_uris = '{}'
"""


async def load(
    pool: Pool,
    *,
    accounts: Sequence[Account] = (),
    clients: Sequence[Client] = (),
    secrets: Mapping[UUID, str] | None = None,
) -> None:
    """Create or update accounts and clients.

    Others stay, and a client without a secret here keeps its own. `secrets` are by client id. The pool needs the role
    of the worker or the owner: the application can only read.
    """
    async with transaction(pool) as connection:
        for account in accounts:
            await connection.execute(SQL["account"], account.tenant, account.id, account.address, account.display_name)
        for client in clients:
            for tenant_id in client.tenants:
                await _load_client(connection, tenant_id, client, (secrets or {}).get(client.id))


async def upgrade_clients(pool: Pool, clients: Sequence[Client], secret_of: Callable[[Client], str]) -> None:
    """Add missing redirect URIs, and replace secret hashes of an old format.

    `secret_of` is called for old hashes only. Clients that are not stored are not created. The pool is the worker's.
    """
    stale = {client.id: secret_of(client) for client in clients if await _has_old_hash(pool, client)}
    hashes = {client_id: hash_client_secret(secret) for client_id, secret in stale.items()}
    async with transaction(pool) as connection:
        for client in clients:
            for tenant_id in client.tenants:
                await connection.execute(_REDIRECT_URIS, tenant_id, client.id, list(client.redirect_uris))
                if client.id in hashes:
                    await connection.execute(SQL["set_hash"], tenant_id, client.id, hashes[client.id])


async def add_new_clients(pool: Pool, clients: Sequence[Client], secret_of: Callable[[Client], str]) -> None:
    """Add clients that an earlier version did not have.

    Each is added to the tenants that have clients. A client that is stored in any tenant is not changed. The pool is
    the worker's.
    """
    async with transaction(pool) as connection:
        for client in clients:
            if await connection.fetchval(SQL["is_stored"], client.id):
                continue
            tenants = [each for each in client.tenants if await connection.fetchval(SQL["has_clients"], each)]
            secret = secret_of(client) if tenants and client.kind is ClientKind.CONFIDENTIAL else None
            for tenant_id in tenants:
                await _load_client(connection, tenant_id, client, secret)


async def set_passwords(pool: Pool, accounts: Sequence[Account], passwords: Mapping[str, str]) -> None:
    """Set the passwords of accounts, by address.

    An account without an entry has no password afterwards. All sessions and tokens of these accounts end. The pool
    needs the role of the worker or the owner: the application can only read.
    """
    hashes = await hash_secrets(
        {each.address: passwords[each.address] for each in accounts if each.address in passwords}
    )
    async with transaction(pool) as connection:
        for account in accounts:
            await connection.execute(SQL["set"], account.tenant, account.id, hashes.get(account.address))
            for statement in _REVOKE:
                await connection.execute(statement, account.tenant, account.id)


async def without_password(pool: Pool, accounts: Sequence[Account]) -> list[Account]:
    """Return the stored accounts without a password, which cannot sign in."""
    async with transaction(pool) as connection:
        return [each for each in accounts if await connection.fetchval(SQL["lacks"], each.tenant, each.id)]


async def _load_client(connection: Connection, tenant_id: UUID, client: Client, secret: str | None) -> None:
    secret_hash = None if secret is None else hash_client_secret(secret)
    await connection.execute(
        SQL["client"], tenant_id, client.id, client.name, client.kind.value, secret_hash, list(client.redirect_uris)
    )
    await connection.execute(SQL["remove_permissions"], tenant_id, client.id)
    for kind, permissions in (("delegated", client.delegated), ("application", client.application)):
        for resource, names in permissions.items():
            for name in names:
                await connection.execute(SQL["permission"], tenant_id, client.id, kind, resource, name)


async def _has_old_hash(pool: Pool, client: Client) -> bool:
    if client.kind is ClientKind.PUBLIC:
        return False
    async with transaction(pool) as connection:
        hashes = [await connection.fetchval(SQL["hash"], tenant_id, client.id) for tenant_id in client.tenants]
    return any(each is not None and not is_client_secret_hash(each) for each in hashes)
