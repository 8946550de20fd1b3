# SPDX-License-Identifier: Apache-2.0
"""Deletes what SOGo caches about addresses.

SOGo keeps the entry of an address in memcached for five minutes, and also that there is none. Without this, a new room
would answer invitations only after that time, and a changed number of bookings would apply only then.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from chamberlain.core.errors import Cause, TryAgain
from chamberlain.core.reasons import Reason

# SOGo's default of SOGoCacheCleanupInterval.
CACHED_FOR: Final = timedelta(minutes=5)
_RETRY_AFTER: Final = timedelta(seconds=5)
# Seconds of one deletion. memcached answers within a millisecond.
_TIMEOUT_SECONDS: Final = 5.0
# A longer key is refused (memcached protocol.txt).
_LONGEST_KEY: Final = 250


@dataclass(frozen=True, slots=True)
class SogoCache:
    """The memcached server of SOGo."""

    host: str
    port: int

    async def forget(self, names: Iterable[str]) -> None:
        """Delete the entries of user names and addresses. Raises TryAgain."""
        # Keys with spaces are never stored: the protocol of memcached has none.
        keys = [key for name in dict.fromkeys(names) if len(key := _key(name)) <= _LONGEST_KEY and key.split() == [key]]
        if not keys:
            return
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                await self._delete(keys)
        except (OSError, TimeoutError, EOFError) as error:
            problem = "The memcached server of SOGo does not answer."
            raise TryAgain(_RETRY_AFTER, Reason.build("directoryNotReady", problem=problem), Cause.AWAY) from error

    async def _delete(self, keys: list[bytes]) -> None:
        reader, writer = await asyncio.open_connection(self.host, self.port)
        try:
            writer.write(b"".join(b"delete %s\r\n" % key for key in keys))
            await writer.drain()
            for _ in keys:
                # DELETED or NOT_FOUND.
                if not (await reader.readline()).endswith(b"\n"):
                    raise EOFError
        finally:
            writer.close()


def _key(name: str) -> bytes:
    """Return the key of a user name or address (SOGoCache.m, setUserAttributes)."""
    return f"{name}+attributes".encode()
