"""Listening: what somebody tells on a channel of the database is heard for ever, whatever becomes of connections."""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import timedelta

from chamberlain.core.errors import Unavailable
from chamberlain.database.errors import unavailable
from chamberlain.database.transactions import Connection, connect


async def listen(
    address: str,
    channel: str,
    heard: Callable[[str], None],
    *,
    lost: Callable[[], None] = lambda: None,
    pause: timedelta = timedelta(seconds=1),
    look: timedelta = timedelta(seconds=15),
) -> None:
    """Call `heard` with every notification of a channel, for ever. A connection that dies, or whose server does not
    answer when it is asked every `look`, is made anew after a pause: `lost` is called when it dies, and `heard` with ''
    when it stands again, since something may have been missed."""
    while True:
        with suppress(Unavailable):
            connection = await connect(address)
            try:
                with unavailable():
                    await connection.add_listener(channel, lambda *heard_there: heard(str(heard_there[-1])))
                heard("")
                await _until_gone(connection, look)
            finally:
                lost()
                connection.terminate()
        await asyncio.sleep(pause.total_seconds())


async def _until_gone(connection: Connection, look: timedelta) -> None:
    gone = asyncio.Event()
    connection.add_termination_listener(lambda _connection: gone.set())
    while not (gone.is_set() or connection.is_closed()):
        with suppress(TimeoutError):
            async with asyncio.timeout(look.total_seconds()):
                await gone.wait()
        # Nothing at all is heard from a server that is switched off, either.
        with unavailable():
            await connection.execute("SELECT")


JOBS_CHANNEL = "chamberlain_jobs"
INTERVAL = timedelta(milliseconds=5)
# Whoever is woken all the time is at work anyway.
LONGEST_INTERVAL = timedelta(milliseconds=20)
# How long a process that ends may take over its last wake-up.
LAST_WORD = timedelta(seconds=1)
# PostgreSQL carries less than 8,000 bytes; a name is an id of 36 characters and a comma.
MOST_NAMES = 200
# A wake-up is a transaction too, but nothing that has to be on the disk; waiting for that, many times a second, would
# keep those from the disk who do wait for it.
NOT_WAITING = {"synchronous_commit": "off"}


class Notifier:
    """Sends a wake-up soon after something was committed that somebody waits for, once for however many commits.

    A channel carries either bare wake-ups (`flag`), for those who look anyway, or names (`tell`), for those who wait
    for one thing out of many; on the latter an empty wake-up would send everybody to look.
    """

    def __init__(self, address: str, channel: str = JOBS_CHANNEL) -> None:
        self._address = address
        self._channel = channel
        self._flagged = asyncio.Event()
        self._flags = 0
        self._names: set[str] = set()
        self._connection: Connection | None = None

    def flag(self) -> None:
        """Something was committed."""
        self._flags += 1
        self._flagged.set()

    def tell(self, names: Iterable[object]) -> None:
        """Something was committed about those that are named, if any are."""
        self._names.update(map(str, names))
        if self._names:
            self._flagged.set()

    @property
    def waiting(self) -> int:
        """How many things the next wake-up is about; one that is named twice is one."""
        return self._flags + len(self._names)

    async def run(self) -> None:
        """Send wake-ups for ever. What was flagged before this is cancelled is still sent."""
        interval = INTERVAL
        try:
            while True:
                await self._flagged.wait()
                await self._send()
                await asyncio.sleep(interval.total_seconds())
                interval = next_interval(interval, self.waiting)
        finally:
            if self._flagged.is_set():
                with suppress(TimeoutError):
                    async with asyncio.timeout(LAST_WORD.total_seconds()):
                        await self._send()
            self._hang_up()

    async def _send(self) -> None:
        self._flagged.clear()
        self._flags = 0
        told, self._names = self._names, set()
        names = sorted(told)
        payloads = [",".join(names[start : start + MOST_NAMES]) for start in range(0, len(names), MOST_NAMES)] or [""]
        try:
            if self._connection is None or self._connection.is_closed():
                self._connection = await connect(self._address, NOT_WAITING)
            with unavailable():
                await self._connection.execute(
                    "SELECT pg_notify($1, payload) FROM unnest($2::text[]) payload", self._channel, payloads
                )
        except Unavailable:
            # Those who wait look by themselves; there is nothing to mend here but the connection, at the next flag.
            self._hang_up()
        except asyncio.CancelledError:
            # Nobody knows how far it came; the last word says it once more.
            self._hang_up()
            self.tell(told)
            self._flagged.set()
            raise

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
        self._connection = None


def next_interval(interval: timedelta, waiting: int) -> timedelta:
    """How long to wait behind the next wake-up, which is about so many things that have come in this interval. Whoever
    asks for one thing after the other has one of them at a time, and would wait for a long interval each time."""
    return min(2 * interval, LONGEST_INTERVAL) if waiting > 1 else INTERVAL
