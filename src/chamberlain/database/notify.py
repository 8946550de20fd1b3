# SPDX-License-Identifier: Apache-2.0
"""LISTEN and NOTIFY: wake workers and watchers after a commit.

NOTIFY in a writing transaction takes a lock of the whole cluster over its commit, which costs more than half of the
rate. So a process only sets a flag after its commit. One task sends all wake-ups on its own connection, each five
milliseconds, and each twenty under load. A lost wake-up costs one poll interval, never a job.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta

from chamberlain.core.errors import Unavailable
from chamberlain.core.ids import RequestId
from chamberlain.database.connection import unavailable
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
    """Call `heard` with every notification of a channel, for ever.

    A connection that dies, or does not answer the check each `look`, is opened again after `pause`. `lost` is called
    when it dies. `heard` is called with '' when it is open again, since notifications may be missing.
    """
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
        # A server that is switched off sends nothing.
        with unavailable():
            await connection.execute("SELECT")


JOBS_CHANNEL = "chamberlain_jobs"
REQUESTS_CHANNEL = "chamberlain_requests"
CONNECTIONS_CHANNEL = "chamberlain_connections"
INTERVAL = timedelta(milliseconds=5)
# A worker that is woken all the time is busy anyway.
LONGEST_INTERVAL = timedelta(milliseconds=20)
# Timeout of the last wake-up of a process that stops.
LAST_WORD = timedelta(seconds=1)
# PostgreSQL carries less than 8,000 bytes; a name is an id of 36 characters and a comma.
MOST_NAMES = 200
# A wake-up is a transaction too. It need not be durable, and must not delay commits that must be.
NOT_WAITING = {"synchronous_commit": "off"}


class Notifier:
    """Send one wake-up soon after any number of commits.

    A channel carries either bare wake-ups (`flag`), or names (`tell`) for waiters of one object. On the latter, an
    empty wake-up would wake all waiters.
    """

    def __init__(self, address: str, channel: str = JOBS_CHANNEL) -> None:
        self._address = address
        self._channel = channel
        self._flagged = asyncio.Event()
        self._flags = 0
        self._names: set[str] = set()
        self._connection: Connection | None = None

    def flag(self) -> None:
        """Note a commit."""
        self._flags += 1
        self._flagged.set()

    def tell(self, names: Iterable[object]) -> None:
        """Note commits about these names, if there are any."""
        self._names.update(map(str, names))
        if self._names:
            self._flagged.set()

    @property
    def waiting(self) -> int:
        """Return the number of pending wake-ups, with names deduplicated."""
        return self._flags + len(self._names)

    async def run(self) -> None:
        """Send wake-ups for ever.

        Pending ones are still sent after a cancellation.
        """
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
        sent, self._names = self._names, set()
        names = sorted(sent)
        payloads = [",".join(names[start : start + MOST_NAMES]) for start in range(0, len(names), MOST_NAMES)] or [""]
        try:
            if self._connection is None or self._connection.is_closed():
                self._connection = await connect(self._address, NOT_WAITING)
            with unavailable():
                await self._connection.execute(
                    "SELECT pg_notify($1, payload) FROM unnest($2::text[]) payload", self._channel, payloads
                )
        except Unavailable:
            # Waiters poll, too. Only the connection is opened again, at the next flag.
            self._hang_up()
        except asyncio.CancelledError:
            # Whether it was sent is unknown; the last send repeats it.
            self._hang_up()
            self.tell(sent)
            self._flagged.set()
            raise

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
        self._connection = None


def next_interval(interval: timedelta, waiting: int) -> timedelta:
    """Return the interval until the next wake-up.

    It grows under load only. A client that sends one request after the other would wait for a long interval each time.
    """
    return min(2 * interval, LONGEST_INTERVAL) if waiting > 1 else INTERVAL


class Watchers:
    """Wakes the watchers of a request, or all for an empty notification.

    Watchers of everything are woken by each notification.
    """

    def __init__(self) -> None:
        self._watching: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        self._watching_all: set[asyncio.Event] = set()

    def __len__(self) -> int:
        """Return the number of watchers."""
        return sum(map(len, self._watching.values()))

    @contextmanager
    def watching(self, request_id: RequestId) -> Iterator[asyncio.Event]:
        """Return an event that is set when the request may change.

        Clear it before you read.
        """
        name, changed = str(request_id), asyncio.Event()
        self._watching[name].add(changed)
        try:
            yield changed
        finally:
            self._watching[name].discard(changed)
            if not self._watching[name]:
                del self._watching[name]

    @contextmanager
    def watching_all(self) -> Iterator[asyncio.Event]:
        """Return an event that is set when any request may change.

        Clear it before you read.
        """
        changed = asyncio.Event()
        self._watching_all.add(changed)
        try:
            yield changed
        finally:
            self._watching_all.discard(changed)

    def heard(self, payload: str) -> None:
        """Wake the watchers that a notification names. For `listen`."""
        for changed in self._watching_all:
            changed.set()
        names = payload.split(",") if payload else list(self._watching)
        for name in names:
            for changed in self._watching.get(name, ()):
                changed.set()
