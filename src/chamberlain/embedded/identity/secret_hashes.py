"""Passwords of people: hashed slowly by Argon2 (RFC 9106), so that a stolen table gives none away, and checked a few at
a time."""

import asyncio
from collections.abc import Hashable, Mapping
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError

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


class SecretChecker:
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
