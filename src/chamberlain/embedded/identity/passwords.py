"""Passwords of people: hashed and kept, and compared when somebody signs in."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from chamberlain.embedded.identity.database import Pool, transaction
from chamberlain.embedded.identity.estate import Account
from chamberlain.embedded.identity.identity_platform import IdentityPlatform
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

_BY_ADDRESS = """
SELECT id, address, display_name, password_hash FROM identity.accounts
WHERE tenant_id = $1 AND lower(address) = $2
"""


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


async def find_by_password(platform: IdentityPlatform, tenant_id: UUID, address: str, password: str) -> Account | None:
    """The person of this tenant with this address and this password. Somebody unknown takes as long as a wrong one.

    Raises TemporarilyUnavailable when too many are being checked. Who asks counts the failures.
    """
    row = None
    # PostgreSQL has no text with a NUL in it.
    if "\x00" not in address:
        async with transaction(platform.pool, tenant_id) as connection:
            # Folded as for the count of failures: the database folds some letters in another way, so that one person
            # would have several addresses, each with attempts of its own.
            row = await connection.fetchrow(_BY_ADDRESS, tenant_id, address.lower())
    is_right = await platform.secrets.is_right(password, None if row is None else row["password_hash"])
    if row is None or not is_right:
        return None
    return Account(id=row["id"], tenant=tenant_id, address=row["address"], display_name=row["display_name"])
