"""The keys that sign tokens: made at first use, sealed in the database, the same for every process, replaced in time.

A key is published a day before it signs, so that whoever checks tokens has it by then; it signs for thirty days, and
stays published until the last token it signed has ended.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final, Protocol

from joserfc.jwk import DictKey, RSAKey

from chamberlain.embedded.identity.database import Connection, Pool, transaction

TOKEN_LIFE = timedelta(minutes=60)
_SIGNS_FOR = timedelta(days=30)
_PUBLISHED_AHEAD = timedelta(days=1)
# Those who check tokens allow for clocks that differ by some minutes.
_PUBLISHED_AFTER = TOKEN_LIFE + timedelta(minutes=5)
# Far below the day for which a new key is published before it signs.
_READ_AGAIN_AFTER = timedelta(seconds=60)
_BITS = 2048
# "iden": the advisory lock that lets one process at a time make a key.
_LOCK = 0x6964656E

_READ = "SELECT id, sealed, signs_from FROM identity.signing_keys ORDER BY signs_from, id"
_INSERT = "INSERT INTO identity.signing_keys (id, sealed, signs_from) VALUES ($1, $2, $3)"
_DELETE = "DELETE FROM identity.signing_keys WHERE id = ANY($1::text[])"


class Sealer(Protocol):
    """Keeps what is stored secret; `context` names the place, and opening needs the same again."""

    def seal(self, plain: bytes, context: str) -> bytes: ...

    def open(self, sealed: bytes, context: str) -> bytes: ...


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A key pair and the time from which it signs."""

    id: str
    pair: RSAKey = field(repr=False)
    signs_from: datetime


class SigningKeys:
    """The keys of the platform, as far as this process knows them; it looks again every minute."""

    def __init__(self, pool: Pool, sealer: Sealer, now: Callable[[], datetime]) -> None:
        self._pool = pool
        self._sealer = sealer
        self._now = now
        self._keys: Sequence[SigningKey] = ()
        self._read_at: datetime | None = None
        self._reading = asyncio.Lock()

    async def current(self) -> SigningKey:
        """The key that signs now."""
        now = self._now()
        return _current(await self._known(now), now)

    async def published(self) -> list[DictKey]:
        """The public keys: of those that sign, will sign, or have signed tokens that may still be in use."""
        now = self._now()
        keys = await self._known(now)
        return [
            key.pair.as_dict(private=False, kid=key.id, use="sig", alg="RS256")
            for key in keys
            if key.id not in _ended(keys, now)
        ]

    async def _known(self, now: datetime) -> Sequence[SigningKey]:
        async with self._reading:
            if self._read_at is None or now - self._read_at >= _READ_AGAIN_AFTER:
                async with transaction(self._pool) as connection:
                    keys = await self._read(connection)
                self._keys = await self._with_next(now) if _next_is_due(keys, now) else keys
                self._read_at = now
            return self._keys

    async def _read(self, connection: Connection) -> list[SigningKey]:
        known = {key.id: key for key in self._keys}
        return [
            known.get(row["id"]) or self._open(row["id"], row["sealed"], row["signs_from"])
            for row in await connection.fetch(_READ)
        ]

    def _open(self, key_id: str, sealed: bytes, signs_from: datetime) -> SigningKey:
        return SigningKey(key_id, RSAKey.import_key(self._sealer.open(sealed, sealing_context(key_id))), signs_from)

    async def _with_next(self, now: datetime) -> Sequence[SigningKey]:
        """All keys with the next one, which another process may have made meanwhile."""
        pair = await asyncio.to_thread(RSAKey.generate_key, _BITS)
        async with transaction(self._pool) as connection:
            await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
            keys = await self._read(connection)
            if not _next_is_due(keys, now):
                return keys
            # With no key at all nobody can have learned of one that is to come.
            key = SigningKey(pair.thumbprint(), pair, now + _PUBLISHED_AHEAD if keys else now)
            sealed = self._sealer.seal(pair.as_der(private=True), sealing_context(key.id))
            await connection.execute(_INSERT, key.id, sealed, key.signs_from)
            await connection.execute(_DELETE, _ended(keys, now))
            return await self._read(connection)


def sealing_context(key_id: str) -> str:
    """What the key pair with this id is sealed for."""
    return f"identity.signing_keys/{key_id}"


def _current(keys: Sequence[SigningKey], now: datetime) -> SigningKey:
    # The first may begin a moment from now, by the clock of the process that made it.
    return max((key for key in keys if key.signs_from <= now), key=lambda key: key.signs_from, default=keys[0])


def _next_is_due(keys: Sequence[SigningKey], now: datetime) -> bool:
    return not keys or now >= keys[-1].signs_from + _SIGNS_FOR - _PUBLISHED_AHEAD


def _ended(keys: Sequence[SigningKey], now: datetime) -> list[str]:
    """The ids of keys whose last token has ended: their successor has been signing for long enough."""
    return [key.id for key, successor in pairwise(keys) if now >= successor.signs_from + _PUBLISHED_AFTER]


# Whoever seals puts the length of the key's id first, and the id behind it.
_COUNT_BY_SEALING_KEY: Final = """
SELECT convert_from(substring(sealed FROM 2 FOR get_byte(sealed, 0)), 'UTF8') AS key_id, count(*) AS number
FROM identity.signing_keys WHERE length(sealed) > 1 GROUP BY 1 ORDER BY 1
"""
_LOCK_ALL: Final = "SELECT id, sealed FROM identity.signing_keys ORDER BY id FOR UPDATE"
_RESEAL: Final = "UPDATE identity.signing_keys SET sealed = $2 WHERE id = $1"


async def sealing_keys(pool: Pool) -> Mapping[str, int]:
    """How many are sealed with each of those keys. Raises IdentityUnreachable."""
    async with transaction(pool) as connection:
        return {row["key_id"]: row["number"] for row in await connection.fetch(_COUNT_BY_SEALING_KEY)}


async def reseal(pool: Pool, sealer: Sealer, unusable: type[Exception]) -> tuple[int, int]:
    """Seal all of them anew; one that does not open, for which the sealer raises `unusable`, stays as it is. Gives how
    many were sealed and how many were left. Raises IdentityUnreachable."""
    left = 0
    async with transaction(pool) as connection:
        rows = await connection.fetch(_LOCK_ALL)
        for row in rows:
            place = sealing_context(row["id"])
            try:
                sealed = sealer.seal(sealer.open(row["sealed"], place), place)
            except unusable:
                left += 1
            else:
                await connection.execute(_RESEAL, row["id"], sealed)
    return len(rows) - left, left
