# SPDX-License-Identifier: Apache-2.0
"""The connections of a process: limits, and timeouts of slow clients.

One task checks them every second, so a call needs no timer.
"""

import asyncio
import logging
import resource
import socket
import ssl
import struct
from collections import Counter, deque
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from time import monotonic
from typing import Protocol

import uvloop.loop

from chamberlain.observability import metrics

# One line per kind and minute, so that an attack cannot fill the disk.
SECONDS_BETWEEN_LINES = 60.0

logger = logging.getLogger(__name__)


class Refused(StrEnum):
    """Reasons to close a connection. They are values of a metric's label."""

    ANSWER_NOT_READ = "answerNotRead"
    TOO_MANY_CONNECTIONS = "tooManyConnections"
    TOO_MANY_OF_ADDRESS = "tooManyOfAddress"
    HANDSHAKE_TOO_SLOW = "handshakeTooSlow"
    HEAD_TOO_SLOW = "headTooSlow"
    HEAD_TOO_LARGE = "headTooLarge"
    NOT_HTTP = "notHttp"


_SENTENCES = {
    Refused.ANSWER_NOT_READ: "Connections were closed whose clients did not read the answer.",
    Refused.TOO_MANY_CONNECTIONS: "Connections were closed to make room for new ones: the process is at its cap.",
    Refused.TOO_MANY_OF_ADDRESS: "Connections were refused: their address is at its cap.",
    Refused.HANDSHAKE_TOO_SLOW: "Connections were closed that did not complete the TLS handshake in time.",
    Refused.HEAD_TOO_SLOW: "Connections were closed that did not send the head of a call in time.",
    Refused.HEAD_TOO_LARGE: "Connections were closed whose call had a head above the limit.",
    Refused.NOT_HTTP: "Connections were closed that did not speak HTTP.",
}


class Refusals:
    """The refusals of one process. Times are seconds of a monotonic clock."""

    def __init__(self) -> None:
        self._unlogged: Counter[Refused] = Counter()
        self._last_address: dict[Refused, str] = {}
        self._logged_at: dict[Refused, float] = {}

    def add(self, kind: Refused, address: str, now: float) -> None:
        """Count a refusal; the first of a kind is logged at once."""
        metrics.connection_refused(kind)
        self._unlogged[kind] += 1
        self._last_address[kind] = address
        self._log_if_due(kind, now)

    def log_due(self, now: float) -> None:
        """Log refusals that were only counted, once their kind is due again."""
        for kind in tuple(self._unlogged):
            self._log_if_due(kind, now)

    def _log_if_due(self, kind: Refused, now: float) -> None:
        if now - self._logged_at.get(kind, float("-inf")) >= SECONDS_BETWEEN_LINES:
            self._logged_at[kind] = now
            count, address = self._unlogged.pop(kind), self._last_address[kind]
            logger.warning(_SENTENCES[kind], extra={"kind": str(kind), "count": count, "address": address})


# Connections of each listener that wait in the kernel until the process accepts them.
BACKLOG = 1024
# Seconds between two sweeps.
SWEEP_SECONDS = 1.0
# The connection is closed if the client takes fewer bytes of a pending response in so many seconds.
LEAST_TAKEN = 4096
WRITE_SECONDS = 10.0
# The same as for a head.
HANDSHAKE_SECONDS = 10.0
# Time for a TLS client to confirm the end of the connection.
TLS_CLOSE_SECONDS = 2.0
# How long a stopping process reads from a closed connection: more than a round trip.
LINGER_SECONDS = 1.0
# Bytes per read, and so the most that is kept of calls that wait for an earlier response.
READ_SIZE = 16 * 1024
# File descriptors for database, webhooks, directory, logs and keys.
SPARE_FILES = 256
# With fewer connections a service is useless.
FEWEST = 16

# SO_LINGER with a time of zero: the connection is reset, and what was not sent is dropped.
_RESET = struct.pack("ii", 1, 0)

# Each read is copied out before the next one begins, so all connections can share it.
_BUFFER = bytearray(READ_SIZE)
_VIEW = memoryview(_BUFFER)


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Configurable limits. Without `most_of_address` an address has the limit of the process.

    `exempt` are trusted proxies, whose address many clients share.
    """

    most: int = 3000
    most_of_address: int | None = None
    exempt: tuple[IPv4Network | IPv6Network, ...] = ()

    def counts(self, address: str) -> bool:
        """Whether the connections of an address are limited."""
        if self.most_of_address is None:
            return False
        try:
            parsed = ip_address(address)
        except ValueError:
            return True
        plain = (parsed.ipv4_mapped or parsed) if isinstance(parsed, IPv6Address) else parsed
        return not any(plain in network for network in self.exempt)


class Speaker(Protocol):
    """The HTTP protocol of a connection."""

    connection: "Connection"

    def end_after_next(self) -> None:
        """Close the connection after the next response: the process stops."""
        ...

    @property
    def is_at_work(self) -> bool:
        """Whether the client waits for the service."""
        ...

    def taken(self) -> int:
        """Return the bytes of responses that the kernel has taken."""
        ...

    def held(self) -> int:
        """Return the bytes of calls that wait for an earlier response."""
        ...

    def ends_after_rest(self) -> bool:
        """Whether a complete response is still being sent.

        Then the connection closes after it.
        """
        ...

    def connection_made(self, transport: asyncio.Transport) -> None: ...
    def data_received(self, data: bytes) -> None: ...
    def eof_received(self) -> None: ...
    def connection_lost(self, exc: Exception | None) -> None: ...
    def pause_writing(self) -> None: ...
    def resume_writing(self) -> None: ...


class Connection(asyncio.BufferedProtocol):
    """One accepted socket, with or without TLS.

    It passes on data and records progress.
    """

    __slots__ = (
        "_connections", "_context", "_discards", "_speaker", "_tls", "address", "is_admitted", "is_paused",
        "is_talking", "lingers", "mark_at", "mark_taken", "progress_at", "transport",
    )  # fmt: skip

    def __init__(self, connections: "Connections", speaker: Speaker, context: ssl.SSLContext | None) -> None:
        self._connections = connections
        self._speaker = speaker
        self._context = context
        self._tls: asyncio.BufferedProtocol | None = None
        self._discards = False
        self.address = ""
        self.is_admitted = False
        # Whether a part of a response waits for the kernel.
        self.is_paused = False
        # Whether HTTP has started, after a TLS handshake.
        self.is_talking = False
        # Whether the process stops, so the connection must not end with a reset.
        self.lingers = False
        self.progress_at = 0.0
        self.mark_at = 0.0
        self.mark_taken = 0
        speaker.connection = self

    @property
    def is_at_work(self) -> bool:
        """Whether the client waits for the service."""
        return self.is_talking and not self.is_paused and self._speaker.is_at_work

    @property
    def is_secured(self) -> bool:
        """Whether the connection uses TLS."""
        return self._context is not None

    def taken(self) -> int:
        """Return the bytes of responses that the kernel has taken."""
        return self._speaker.taken() if self.is_talking else 0

    def unsent(self, transport: asyncio.Transport) -> int:
        """Return the bytes that wait in this transport and below it."""
        above = transport.get_write_buffer_size()
        return above if transport is self.transport else above + self.transport.get_write_buffer_size()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Start, unless the limit is reached."""
        self.transport = transport
        peer = transport.get_extra_info("peername")
        self.address = str(peer[0]) if peer else ""
        if not self._connections.admit(self):
            transport.abort()
            return
        # Pause writing for any data that the kernel does not take at once, so no polling is needed.
        transport.set_write_buffer_limits(high=0)
        if self._context is None:
            self._speaker.connection_made(transport)
            return
        self._tls = uvloop.loop.SSLProtocol(  # type: ignore[attr-defined]  # The stubs leave it out.
            asyncio.get_running_loop(),
            self._speaker,
            self._context,
            None,
            server_side=True,
            # The sweep closes slow ones earlier, and counts them.
            ssl_handshake_timeout=HANDSHAKE_SECONDS * 2,
            ssl_shutdown_timeout=TLS_CLOSE_SECONDS,
        )
        self._tls.connection_made(transport)

    def get_buffer(self, _sizehint: int) -> memoryview:
        """Return the buffer of the next read."""
        if self._tls is None:
            return _VIEW
        return memoryview(self._tls.get_buffer(READ_SIZE))[:READ_SIZE]

    def buffer_updated(self, nbytes: int) -> None:
        """Pass on data."""
        if self._tls is not None:
            self._tls.buffer_updated(nbytes)
        elif not self._discards:
            self._speaker.data_received(_VIEW[:nbytes].tobytes())

    def eof_received(self) -> bool | None:
        """Pass on the end of the client's data."""
        if self._tls is not None:
            return self._tls.eof_received()
        self._speaker.eof_received()
        # The client may still read (half-closed connection, RFC 9293, 3.6).
        return self._speaker.ends_after_rest()

    def pause_writing(self) -> None:
        """Record that the kernel has not taken everything."""
        self.is_paused = True
        if self._tls is not None:
            self._tls.pause_writing()
        if self.is_talking:
            self._connections.wait_for_reader(self)
            self._speaker.pause_writing()

    def resume_writing(self) -> None:
        """Continue with the rest."""
        self.is_paused = False
        if self._tls is not None:
            self._tls.resume_writing()
        # Both may fill the kernel's buffer again.
        if not self.is_paused and self.is_talking:
            self._speaker.resume_writing()
        if not self.is_paused:
            self._connections.forget_reader(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Pass on the end of the connection."""
        if not self.is_admitted:
            return
        self._connections.closed(self)
        if self._tls is None:
            self._speaker.connection_lost(exc)
        else:
            self._tls.connection_lost(exc)

    def held(self) -> int:
        """Return the bytes of calls that wait for an earlier response."""
        return self._speaker.held() if self.is_talking else 0

    def end_after_next(self) -> None:
        """Close the connection after the next response: the process stops."""
        self.lingers = True
        self._speaker.end_after_next()

    def linger(self, transport: asyncio.Transport) -> None:
        """Close without a reset, which a socket with unread data would cause.

        The client sees the end at once, and has time to close its side. Further data is discarded.
        """
        if self._tls is not None:
            # TLS has its own shutdown.
            transport.close()
        elif not self._discards:
            self._discards = True
            self.transport.write_eof()
            self.transport.resume_reading()
            asyncio.get_running_loop().call_later(LINGER_SECONDS, self.transport.abort)

    def refuse(self, kind: Refused) -> None:
        """Count and log a refusal; the caller closes the connection."""
        self._connections.refused(self, kind)


class Connections:
    """All connections of one process."""

    def __init__(self, limits: ConnectionLimits | None = None, refusals: Refusals | None = None) -> None:
        self._limits = limits or ConnectionLimits()
        self._refusals = refusals or Refusals()
        self._most = min(self._limits.most, room_for_connections())
        self._open: set[Connection] = set()
        self._is_stopping = False
        # In the order of their start.
        self._handshakes: dict[Connection, None] = {}
        self._unread: set[Connection] = set()
        self._of_address: Counter[str] = Counter()
        # Candidates for closing at the limit, the longest without progress first.
        self._candidates: deque[tuple[float, Connection]] = deque()
        metrics.connections_allowed(self._most)

    @property
    def count(self) -> int:
        """How many connections are open."""
        return len(self._open)

    @property
    def unread(self) -> int:
        """How many connections have an unread response."""
        return len(self._unread)

    def held(self) -> int:
        """Return the bytes of calls that wait for an earlier response."""
        return sum(connection.held() for connection in self._open)

    def admit(self, connection: Connection) -> bool:
        """Accept the connection, or return False at the limit.

        At the limit, the connection without progress for longest is closed for it.
        """
        connection.progress_at = _now()
        most_of_address = self._limits.most_of_address
        if most_of_address is not None and self._limits.counts(connection.address):
            place = _place(connection.address)
            if self._of_address[place] >= most_of_address:
                self.refused(connection, Refused.TOO_MANY_OF_ADDRESS)
                return False
            self._of_address[place] += 1
        while len(self._open) >= self._most:
            self._close(self._stalest(), Refused.TOO_MANY_CONNECTIONS)
        connection.is_admitted = True
        self._open.add(connection)
        metrics.connections_open(len(self._open))
        if connection.is_secured:
            self._handshakes[connection] = None
        if self._is_stopping:
            connection.end_after_next()
        return True

    def stop(self) -> None:
        """Close every connection after its next response."""
        self._is_stopping = True
        for connection in self._open:
            connection.end_after_next()

    def closed(self, connection: Connection) -> None:
        """Remove a closed connection."""
        if connection in self._open:
            self._open.discard(connection)
            metrics.connections_open(len(self._open))
            if self._limits.counts(connection.address):
                place = _place(connection.address)
                self._of_address[place] -= 1
                if not self._of_address[place]:
                    del self._of_address[place]
        self._handshakes.pop(connection, None)
        self._unread.discard(connection)

    def wait_for_reader(self, connection: Connection) -> None:
        """Start the write timeout, unless it runs already."""
        if connection not in self._unread:
            self._unread.add(connection)
            connection.mark_at = _now()
            connection.mark_taken = connection.taken()

    def forget_reader(self, connection: Connection) -> None:
        """End the write timeout: everything was taken."""
        self._unread.discard(connection)
        connection.progress_at = _now()

    def refused(self, connection: Connection, kind: Refused) -> None:
        """Count and log one refusal."""
        self._refusals.add(kind, connection.address, _now())

    async def run(self) -> None:
        """Sweep until cancelled."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            self.sweep(_now())

    def sweep(self, now: float) -> None:
        """Close connections whose timeout is over."""
        # The limit of a running process can change (prlimit).
        self._most = min(self._limits.most, room_for_connections())
        metrics.connections_allowed(self._most)
        while len(self._open) > self._most:
            self._close(self._stalest(), Refused.TOO_MANY_CONNECTIONS)
        for connection in tuple(self._handshakes):
            if connection.is_talking:
                del self._handshakes[connection]
            elif now - connection.progress_at >= HANDSHAKE_SECONDS:
                self._close(connection, Refused.HANDSHAKE_TOO_SLOW)
            else:
                break
        for connection in tuple(self._unread):
            taken = connection.taken()
            if taken - connection.mark_taken >= LEAST_TAKEN:
                connection.mark_at = connection.progress_at = now
                connection.mark_taken = taken
            elif now - connection.mark_at >= WRITE_SECONDS:
                self._close(connection, Refused.ANSWER_NOT_READ)
        self._refusals.log_due(now)

    def _close(self, connection: Connection, kind: Refused) -> None:
        self.refused(connection, kind)
        # Its file descriptor is free in the next turn of the event loop.
        self.closed(connection)
        # Without this the kernel would keep the unread response for minutes.
        underlying = connection.transport.get_extra_info("socket")
        underlying.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        connection.transport.abort()

    def _stalest(self) -> Connection:
        """Return the connection without progress for longest.

        Those that wait for the service come last.
        """
        while self._candidates:
            progress_at, connection = self._candidates.popleft()
            if connection in self._open and connection.progress_at == progress_at:
                return connection
        # Sort once for many, so that a flood of new connections costs little.
        ranked = sorted(self._open, key=lambda each: (each.is_at_work, each.progress_at))
        self._candidates = deque((each.progress_at, each) for each in ranked[: len(ranked) // 4 + 1])
        return self._candidates.popleft()[1]


def room_for_connections() -> int:
    """Return the number of connections that the file limit allows.

    Spare descriptors are subtracted.
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    spare = min(SPARE_FILES, soft // 2)
    return max(FEWEST, soft - spare)


def raise_file_limit(connections: int) -> None:
    """Raise the limit of file descriptors for so many connections.

    The system may allow fewer.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # A full backlog is accepted before connections are closed for it.
    needed = connections + SPARE_FILES + 2 * BACKLOG
    if soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(needed, hard), hard))


def _now() -> float:
    # Finer than the time of the event loop, which has milliseconds.
    return monotonic()


def _place(address: str) -> str:
    """Return the counted address.

    For IPv6 it is the network, since a client has 2^64 addresses (RFC 6177).
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address):
        return str(parsed.ipv4_mapped or ip_network((parsed, 64), strict=False))
    return address
