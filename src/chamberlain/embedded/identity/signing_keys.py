# SPDX-License-Identifier: Apache-2.0
"""Signing keys of the tokens, and their rotation.

They are sealed in the database and shared by all processes. A key is published a day before its first use, so that
verifiers have it by then. It signs for thirty days, and stays published until its last token has expired.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Protocol

from joserfc.jwk import DictKey, RSAKey

from chamberlain.embedded.identity.database import Connection, Pool, transaction
from chamberlain.queries import load_queries

SQL = load_queries(__name__)

TOKEN_LIFE = timedelta(minutes=60)
_SIGNS_FOR = timedelta(days=30)
_PUBLISHED_AHEAD = timedelta(days=1)
# Verifiers tolerate a clock skew of a few minutes.
_PUBLISHED_AFTER = TOKEN_LIFE + timedelta(minutes=5)
# Much shorter than the day between publication and first use of a key.
_CACHED_FOR = timedelta(seconds=60)
_BITS = 2048
# "iden": advisory lock, so that one process at a time creates a key.
_LOCK = 0x6964656E


class Sealer(Protocol):
    """Authenticated encryption; `context` names the row, and decryption needs the same."""

    def seal(self, plain: bytes, context: str) -> bytes: ...

    def open(self, sealed: bytes, context: str) -> bytes: ...


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A key pair and the time of its first use."""

    id: str
    pair: RSAKey = field(repr=False)
    signs_from: datetime


class SigningKeys:
    """The signing keys, cached for a minute."""

    def __init__(self, pool: Pool, sealer: Sealer, now: Callable[[], datetime]) -> None:
        self._pool = pool
        self._sealer = sealer
        self._now = now
        self._keys: Sequence[SigningKey] = ()
        self._read_at: datetime | None = None
        self._reading = asyncio.Lock()

    async def current(self) -> SigningKey:
        """Return the key that signs now."""
        now = self._now()
        keys = await self._known(now)
        # The first key may start a moment from now, by the clock of the process that created it.
        return max((key for key in keys if key.signs_from <= now), key=lambda key: key.signs_from, default=keys[0])

    async def published(self) -> list[DictKey]:
        """Return the public keys of current, next and unexpired tokens."""
        now = self._now()
        keys = await self._known(now)
        ended = _ended(keys, now)
        return [
            key.pair.as_dict(private=False, kid=key.id, use="sig", alg="RS256") for key in keys if key.id not in ended
        ]

    async def _known(self, now: datetime) -> Sequence[SigningKey]:
        async with self._reading:
            if self._read_at is None or now - self._read_at >= _CACHED_FOR:
                async with transaction(self._pool) as connection:
                    keys = await self._read(connection)
                self._keys = await self._with_next(now) if _next_is_due(keys, now) else keys
                self._read_at = now
            return self._keys

    async def _read(self, connection: Connection) -> list[SigningKey]:
        known = {key.id: key for key in self._keys}
        return [
            known.get(row["id"]) or self._open(row["id"], row["sealed"], row["signs_from"])
            for row in await connection.fetch(SQL["read_signing_keys"])
        ]

    def _open(self, key_id: str, sealed: bytes, signs_from: datetime) -> SigningKey:
        return SigningKey(key_id, RSAKey.import_key(self._sealer.open(sealed, _context(key_id))), signs_from)

    async def _with_next(self, now: datetime) -> Sequence[SigningKey]:
        """Create the next key, unless another process has, and return all keys."""
        pair = await asyncio.to_thread(RSAKey.generate_key, _BITS)
        async with transaction(self._pool) as connection:
            await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
            keys = await self._read(connection)
            if not _next_is_due(keys, now):
                return keys
            # The very first key signs at once: no verifier has cached a key set without it.
            key = SigningKey(pair.thumbprint(), pair, now + _PUBLISHED_AHEAD if keys else now)
            sealed = self._sealer.seal(pair.as_der(private=True), _context(key.id))
            await connection.execute(SQL["insert_signing_key"], key.id, sealed, key.signs_from)
            await connection.execute(SQL["delete_signing_key"], _ended(keys, now))
            return await self._read(connection)


async def sealing_keys(pool: Pool) -> Mapping[str, int]:
    """Count the signing keys by the encryption key that seals them.

    Raises IdentityUnreachable.
    """
    async with transaction(pool) as connection:
        return {row["key_id"]: row["number"] for row in await connection.fetch(SQL["count_by_sealing_key"])}


async def reseal(pool: Pool, sealer: Sealer, unusable: type[Exception]) -> tuple[int, int]:
    """Seal all signing keys with the current encryption key.

    Returns the numbers of sealed and skipped ones. It skips a key that cannot be opened: the sealer raises `unusable`.
    Raises IdentityUnreachable.
    """
    skipped = 0
    async with transaction(pool) as connection:
        rows = await connection.fetch(SQL["lock_all"])
        for row in rows:
            context = _context(row["id"])
            try:
                sealed = sealer.seal(sealer.open(row["sealed"], context), context)
            except unusable:
                skipped += 1
            else:
                await connection.execute(SQL["reseal"], row["id"], sealed)
    return len(rows) - skipped, skipped


def _context(key_id: str) -> str:
    return f"identity.signing_keys/{key_id}"


def _next_is_due(keys: Sequence[SigningKey], now: datetime) -> bool:
    return not keys or now >= keys[-1].signs_from + _SIGNS_FOR - _PUBLISHED_AHEAD


def _ended(keys: Sequence[SigningKey], now: datetime) -> list[str]:
    """Return the ids of keys without unexpired tokens.

    Their successor has been signing for long enough.
    """
    return [key.id for key, successor in pairwise(keys) if now >= successor.signs_from + _PUBLISHED_AFTER]
