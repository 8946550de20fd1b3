"""Waking workers after a commit.

NOTIFY inside a transaction that writes takes a lock of the whole cluster over its commit, which costs more than half
of the rate. So a process only sets a flag after its commit, and one task sends at most one NOTIFY in five
milliseconds on a connection of its own. A wake-up that is lost costs the workers' polling interval, never a job.
"""

import asyncio
from datetime import timedelta

from chamberlain.rules.errors import Unavailable
from chamberlain.store.database import Connection, connect, unavailable

JOBS_CHANNEL = "chamberlain_jobs"
INTERVAL = timedelta(milliseconds=5)
# PostgreSQL carries less than 8,000 bytes; a name is an id of 36 characters and a comma.
MOST_NAMES = 200


class Notifier:
    """Sends a wake-up soon after `flag` was called, once for however many calls. What was flagged is named in it, as
    far as it has room; when it has not, it is empty, which says that anything may have happened."""

    def __init__(self, address: str, channel: str = JOBS_CHANNEL) -> None:
        self._address = address
        self._channel = channel
        self._flagged = asyncio.Event()
        self._names: set[str] = set()

    def flag(self, *names: object) -> None:
        """Something was committed that somebody waits for; `names` say what, where that matters to those who hear
        it."""
        self._names.update(map(str, names))
        self._flagged.set()

    async def run(self) -> None:
        """Send wake-ups for ever."""
        connection: Connection | None = None
        try:
            while True:
                await self._flagged.wait()
                self._flagged.clear()
                names, self._names = self._names, set()
                connection = await self._send(connection, ",".join(names) if len(names) <= MOST_NAMES else "")
                await asyncio.sleep(INTERVAL.total_seconds())
        finally:
            if connection is not None:
                connection.terminate()

    async def _send(self, connection: Connection | None, payload: str) -> Connection | None:
        try:
            if connection is None or connection.is_closed():
                connection = await connect(self._address)
            with unavailable():
                await connection.execute("SELECT pg_notify($1, $2)", self._channel, payload)
        except Unavailable:
            # The workers poll; there is nothing to mend here but the connection, at the next flag.
            if connection is not None:
                connection.terminate()
            return None
        return connection
