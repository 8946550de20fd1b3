"""Passwords of people: hashed and kept, and compared when somebody signs in."""

import asyncio
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError

from chamberlain.embedded.identity.clients import Account
from chamberlain.embedded.identity.database import Pool, transaction
from chamberlain.embedded.identity.errors import TemporarilyUnavailable

# 19 MiB, twice over, in one lane: the first that OWASP's cheat sheet on storing passwords names. The second choice of
# RFC 9106, 4 takes 64 MiB and four threads for each, which on a small machine everybody else would feel; what is hashed
# here is random and long, so no dictionary finds it whatever the costs.
_HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
_FORM = "$argon2id$"
# More threads would only take memory and the processor from everybody else.
_AT_ONCE = 2
_MOST_WAITING = 64
# Compared with when there is nothing to compare with, so that the time taken does not tell whether somebody exists: a
# salt and a hash of zeros, which no secret has.
_NOBODY = f"{_FORM}v=19$m={19 * 1024},t=2,p=1${'A' * 22}${'A' * 43}"

_Key = TypeVar("_Key", bound=Hashable)


async def hash_secrets(secrets: Mapping[_Key, str]) -> dict[_Key, str]:
    """What is stored of each: the parameters, the salt and the hash."""
    turns = asyncio.Semaphore(_AT_ONCE)

    async def hashed(secret: str) -> str:
        async with turns:
            return await asyncio.to_thread(_HASHER.hash, secret)

    return dict(zip(secrets, await asyncio.gather(*map(hashed, secrets.values())), strict=True))


class PasswordVerifier:
    """Compares secrets with their hashes, at most two at once; with too many waiting, further ones are sent away."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(_AT_ONCE)
        self._waiting = 0

    async def is_right(self, secret: str, stored: str | None) -> bool:
        """Whether the secret is the one; without a stored hash it takes as long and is wrong."""
        if self._waiting >= _MOST_WAITING:
            raise TemporarilyUnavailable("Too many secrets are being checked. Send the request again after a second.")
        expected = stored if stored is not None and stored.startswith(_FORM) else _NOBODY
        self._waiting += 1
        try:
            async with self._turns:
                return await asyncio.to_thread(_matches, expected, secret)
        finally:
            self._waiting -= 1


def _matches(expected: str, secret: str) -> bool:
    try:
        return _HASHER.verify(expected, secret)
    except VerifyMismatchError:
        return False


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
