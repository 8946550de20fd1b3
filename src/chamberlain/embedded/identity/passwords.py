"""Passwords of users: Argon2 hashes (RFC 9106), verified with limited concurrency."""

import asyncio
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError

from chamberlain.embedded.identity.clients import Account
from chamberlain.embedded.identity.database import Pool, transaction
from chamberlain.embedded.identity.errors import TemporarilyUnavailable
from chamberlain.queries import load_queries

SQL = load_queries(__name__)

# 19 MiB, two passes, one lane: the first choice of the OWASP cheat sheet on password storage. The second choice of
# RFC 9106, 4 takes 64 MiB and four threads per hash, too much for a small machine. The passwords are long and random,
# so no dictionary finds them whatever the costs.
_HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
_PREFIX = "$argon2id$"
# More threads would take memory and processor time from all other requests.
_CONCURRENCY = 2
_MOST_WAITING = 64
# Salt and hash of zeros, which no password matches. Verified for unknown users, so that timing does not reveal them.
_NO_MATCH = f"{_PREFIX}v=19$m={19 * 1024},t=2,p=1${'A' * 22}${'A' * 43}"


# A new password revokes everything that the old one gave access to.
_REVOKE = (
    "DELETE FROM identity.sessions WHERE tenant_id = $1 AND account_id = $2",
    "DELETE FROM identity.authorization_codes WHERE tenant_id = $1 AND account_id = $2",
    "DELETE FROM identity.device_codes WHERE tenant_id = $1 AND account_id = $2",
    "DELETE FROM identity.refresh_tokens WHERE tenant_id = $1 AND account_id = $2",
)


_Key = TypeVar("_Key", bound=Hashable)


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


async def hash_secrets(secrets: Mapping[_Key, str]) -> dict[_Key, str]:
    """Hash each secret. The result contains parameters, salt and hash."""
    semaphore = asyncio.Semaphore(_CONCURRENCY)

    async def hash_one(secret: str) -> str:
        async with semaphore:
            return await asyncio.to_thread(_HASHER.hash, secret)

    return dict(zip(secrets, await asyncio.gather(*map(hash_one, secrets.values())), strict=True))


class PasswordVerifier:
    """Verifies two passwords at a time; rejects further requests under load."""

    def __init__(self) -> None:
        self._semaphore = asyncio.Semaphore(_CONCURRENCY)
        self._waiting = 0

    async def is_right(self, secret: str, stored: str | None) -> bool:
        """Compare a secret with its hash.

        Without a hash it takes as long. Raises TemporarilyUnavailable.
        """
        if self._waiting >= _MOST_WAITING:
            raise TemporarilyUnavailable("Too many passwords are being verified. Send the request again in a second.")
        expected = stored if stored is not None and stored.startswith(_PREFIX) else _NO_MATCH
        self._waiting += 1
        try:
            async with self._semaphore:
                return await asyncio.to_thread(_matches, expected, secret)
        finally:
            self._waiting -= 1


def _matches(expected: str, secret: str) -> bool:
    try:
        return _HASHER.verify(expected, secret)
    except VerifyMismatchError:
        return False
