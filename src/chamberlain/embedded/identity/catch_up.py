"""What programs lack that an earlier version of the platform brought into the database."""

from collections.abc import Callable, Sequence

from chamberlain.embedded.identity import client_secrets
from chamberlain.embedded.identity.database import Pool, transaction
from chamberlain.embedded.identity.estate import Client, ClientKind

# Before there were sign-in pages no program had an address to send a browser back to.
_REDIRECT_URIS = """
UPDATE identity.clients SET redirect_uris = $3 WHERE tenant_id = $1 AND id = $2 AND redirect_uris = '{}'
"""

_HASH = "SELECT secret_hash FROM identity.clients WHERE tenant_id = $1 AND id = $2"

_SET_HASH = "UPDATE identity.clients SET secret_hash = $3 WHERE tenant_id = $1 AND id = $2"


async def catch_up(pool: Pool, clients: Sequence[Client], secret_of: Callable[[Client], str]) -> None:
    """Give programs that are there the addresses they lack, and hash a secret anew whose hash is of an old form.

    `secret_of` is asked for such a secret only. Programs that are not there are not made. The pool is the worker's.
    """
    stale = {client.id: secret_of(client) for client in clients if await _is_stale(pool, client)}
    hashes = {client_id: client_secrets.kept(secret) for client_id, secret in stale.items()}
    async with transaction(pool) as connection:
        for client in clients:
            for tenant_id in client.tenants:
                await connection.execute(_REDIRECT_URIS, tenant_id, client.id, list(client.redirect_uris))
                if client.id in hashes:
                    await connection.execute(_SET_HASH, tenant_id, client.id, hashes[client.id])


async def _is_stale(pool: Pool, client: Client) -> bool:
    if client.kind is ClientKind.PUBLIC:
        return False
    async with transaction(pool) as connection:
        found = [await connection.fetchval(_HASH, tenant_id, client.id) for tenant_id in client.tenants]
    return any(each is not None and not client_secrets.is_kept_well(each) for each in found)
