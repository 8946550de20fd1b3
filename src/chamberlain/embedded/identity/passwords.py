"""Passwords of people: hashed and kept, and compared when somebody signs in."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from chamberlain.embedded.identity.database import Pool, transaction
from chamberlain.embedded.identity.estate import Account
from chamberlain.embedded.identity.secret_hashes import hash_secrets

_SET = "UPDATE identity.accounts SET password_hash = $3 WHERE tenant_id = $1 AND id = $2"

# Whoever knew the old password, or used it, has to sign in anew: what came of it goes, and what would still come of it.
_END = (
    "DELETE FROM identity.sessions WHERE tenant_id = $1 AND account_id = $2",
    "DELETE FROM identity.authorization_codes WHERE tenant_id = $1 AND account_id = $2",
    "DELETE FROM identity.device_codes WHERE tenant_id = $1 AND account_id = $2",
    "DELETE FROM identity.refresh_tokens WHERE tenant_id = $1 AND account_id = $2",
)

_LACKS = "SELECT password_hash IS NULL FROM identity.accounts WHERE tenant_id = $1 AND id = $2"

async def set_passwords(pool: Pool, accounts: Sequence[Account], passwords: Mapping[str, str]) -> None:
    """Give people the passwords that stand under their addresses; whose is not there has none from now on.

    They are signed out everywhere. The pool is the worker's or the owner's: the application may only read.
    """
    hashes = await hash_secrets(
        {each.address: passwords[each.address] for each in accounts if each.address in passwords}
    )
    async with transaction(pool) as connection:
        for account in accounts:
            await connection.execute(_SET, account.tenant, account.id, hashes.get(account.address))
            for end in _END:
                await connection.execute(end, account.tenant, account.id)


async def without_password(pool: Pool, accounts: Sequence[Account]) -> list[Account]:
    """Those of these people who are known here and cannot sign in, because they have no password."""
    async with transaction(pool) as connection:
        return [each for each in accounts if await connection.fetchval(_LACKS, each.tenant, each.id)]
