"""Secrets of programs: hashed slowly, so that a stolen table gives none away, and checked a few at a time."""

import asyncio
import hmac
from base64 import b64decode, b64encode
from dataclasses import dataclass
from hashlib import scrypt
from secrets import token_bytes

from chamberlain.embedded.identity.errors import TemporarilyUnavailable

# 16 MiB and some 40 ms; RFC 7914, 2 gives N for interactive use.
_N, _R, _P = 16384, 8, 1
_MEMORY_LIMIT = 64 * 1024 * 1024
# More threads would only take memory and the processor from everybody else.
_AT_ONCE = 2
_MOST_WAITING = 64


async def hash_secret(secret: str) -> str:
    """What is stored: the parameters, the salt and the hash."""
    salt = token_bytes(16)
    digest = await asyncio.to_thread(_scrypt, secret, _Parameters(_N, _R, _P, salt))
    return f"scrypt${_N}${_R}${_P}${b64encode(salt).decode()}${b64encode(digest).decode()}"


class SecretChecker:
    """Compares secrets with their hashes, at most two at once; with too many waiting, further ones are sent away."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(_AT_ONCE)
        self._waiting = 0

    async def is_right(self, secret: str, stored: str | None) -> bool:
        """Whether the secret is the one; without a stored hash it takes as long and is wrong."""
        if self._waiting >= _MOST_WAITING:
            raise TemporarilyUnavailable("Too many secrets are being checked. Send the request again after a second.")
        parameters, expected = _NOBODY if stored is None else _read(stored)
        self._waiting += 1
        try:
            async with self._turns:
                digest = await asyncio.to_thread(_scrypt, secret, parameters)
        finally:
            self._waiting -= 1
        return hmac.compare_digest(digest, expected) and stored is not None


@dataclass(frozen=True, slots=True)
class _Parameters:
    n: int
    r: int
    p: int
    salt: bytes


# Compared with when there is nothing to compare with, so that the time taken does not tell whether a program exists.
_NOBODY = (_Parameters(_N, _R, _P, bytes(16)), bytes(32))


def _read(stored: str) -> tuple[_Parameters, bytes]:
    _, n, r, p, salt, digest = stored.split("$")
    return _Parameters(int(n), int(r), int(p), b64decode(salt)), b64decode(digest)


def _scrypt(secret: str, parameters: _Parameters) -> bytes:
    return scrypt(
        secret.encode(),
        salt=parameters.salt,
        n=parameters.n,
        r=parameters.r,
        p=parameters.p,
        maxmem=_MEMORY_LIMIT,
        dklen=32,
    )
