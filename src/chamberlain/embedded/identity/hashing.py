# SPDX-License-Identifier: Apache-2.0
"""Hashes of passwords and random secrets.

Passwords have Argon2 hashes (RFC 9106), verified with limited concurrency. Codes, refresh tokens, cookies and client
secrets are long and random, so a plain SHA-256 digest is safe and fast.
"""

import asyncio
import hmac
from collections.abc import Hashable, Mapping
from hashlib import sha256
from secrets import token_urlsafe
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError

from chamberlain.embedded.identity.errors import TemporarilyUnavailable

# 19 MiB, two passes, one lane: the first choice of the OWASP cheat sheet on password storage. The second choice of
# RFC 9106, 4 takes 64 MiB and four threads per hash, too much for a small machine. The passwords are long and random,
# so no dictionary finds them whatever the costs.
_HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
_ARGON2_PREFIX = "$argon2id$"
# More threads would take memory and processor time from all other requests.
_CONCURRENCY = 2
_MOST_WAITING = 64
# Salt and hash of zeros, which no password matches. Verified for unknown users, so that timing does not reveal them.
_NO_MATCH = f"{_ARGON2_PREFIX}v=19$m={19 * 1024},t=2,p=1${'A' * 22}${'A' * 43}"
_SECRET_BYTES = 32
_SHA256_PREFIX = "sha256$"

_Key = TypeVar("_Key", bound=Hashable)


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
        expected = stored if stored is not None and stored.startswith(_ARGON2_PREFIX) else _NO_MATCH
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


def new_secret() -> str:
    """Generate a secret that needs no quoting in addresses and cookies."""
    return token_urlsafe(_SECRET_BYTES)


def digest_of(secret: str) -> bytes:
    """Return the digest that is stored."""
    # Callers may send surrogates, which are not valid UTF-8.
    return sha256(secret.encode("utf-8", "surrogatepass")).digest()


def hash_client_secret(secret: str) -> str:
    """Return the stored form of a client secret."""
    return f"{_SHA256_PREFIX}{digest_of(secret).hex()}"


def is_client_secret_hash(stored: str) -> bool:
    """Check the format of a stored client secret.

    Earlier versions stored slow hashes, which have to be created again from the secret.
    """
    return stored.startswith(_SHA256_PREFIX)


def verify_client_secret(secret: str, stored: str) -> bool:
    """Compare a secret with its stored form in constant time."""
    return hmac.compare_digest(hash_client_secret(secret).encode(), stored.encode())
