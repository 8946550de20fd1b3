"""Calls that have arrived whole are handed over whole, and answers leave whole: the server writes head and body one
after the other, which are two calls of the kernel and wake the caller twice."""

import asyncio
from collections import deque
from collections.abc import Iterable
from itertools import chain

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from chamberlain.http.body import AUTHORITY, WHOLE, WholeCall
from chamberlain.http.connections import Connection
from chamberlain.http.header_limits import BoundedHeads

Data = bytes | bytearray | memoryview

CLOSE = (b"connection", b"close")
# Bytes of an answer that are copied at once. The rest stays where it is, which for documents is shared by all clients.
PIECE = 16 * 1024
# How long a body may still take when the process stops: the call itself needs some of the grace (listeners.py).
SECONDS_FOR_UPLOAD = 5


class WholeAnswers(BoundedHeads):
    """The server's own way to speak HTTP, with its bounds, over a transport that gathers what is written."""

    upload_seconds: float = SECONDS_FOR_UPLOAD
    # Whether the process stops.
    ends_after_next = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the server has it
        """Put the gathering transport between."""
        self.gathering = GatheringTransport(transport, self.loop, self.connection)
        super().connection_made(self.gathering)

    def end_after_next(self) -> None:
        """Close the connection after the next answer: the process stops."""
        self.ends_after_next = True

    def shutdown(self) -> None:
        """End the connection now if no call is under way, else after its answer."""
        if self.is_idle:
            self.gathering.close()
        elif self.cycle is not None:
            self.cycle.keep_alive = False
            self.loop.call_later(self.upload_seconds, self._end_upload)

    def _end_upload(self) -> None:
        """End a call whose body did not come. No work on it has begun, so its client can send it again."""
        cycle = self.cycle
        if cycle.more_body and not cycle.response_started and not cycle.disconnected:
            cycle.disconnected = True
            cycle.message_event.set()
            self.gathering.close()

    @property
    def is_idle(self) -> bool:
        """Whether every call that has begun is whole, and its answer is sent."""
        return self._nothing_is_under_way() and not self._is_unread

    def taken(self) -> int:
        """Bytes of answers that the kernel has taken."""
        return self.gathering.taken()

    def ends_after_rest(self) -> bool:
        """Whether a complete answer is still being sent; then the connection closes behind it."""
        if self._is_unread:
            self.gathering.close()
        return self._is_unread

    def on_response_complete(self) -> None:
        """Send what was gathered, so that it is known whether the client reads."""
        self.gathering.flush()
        super().on_response_complete()

    def resume_writing(self) -> None:
        """Send the next pieces, and go on when all were taken."""
        self.gathering.go_on()
        if not self.connection.is_paused:
            super().resume_writing()

    def on_headers_complete(self) -> None:
        """A call begins. It is answered in a later turn of the event loop, when this stands in its scope."""
        super().on_headers_complete()
        if self.ends_after_next:
            self.cycle.keep_alive = False
        if not self.url.startswith(b"/"):
            self.scope[AUTHORITY] = _authority(self.url)  # type: ignore[literal-required]  # An extension.
        self.scope["state"][WHOLE] = _Whole(self.cycle, self.gathering)


class _Whole(WholeCall):
    """One call and its answer, without the messages of ASGI. What the server does with those is done here as well."""

    __slots__ = ("_cycle", "_transport")

    def __init__(self, cycle: RequestResponseCycle, transport: "GatheringTransport") -> None:
        self._cycle = cycle
        self._transport = transport

    def body(self) -> bytes | None:
        """The whole body, if it is there."""
        cycle = self._cycle
        if cycle.more_body or cycle.disconnected or cycle.waiting_for_100_continue:
            return None
        body, cycle.body = bytes(cycle.body), bytearray()
        cycle.flow.resume_reading()
        cycle.message_event.clear()
        return body

    def answer(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> bool:
        """Send it, unless the caller reads too slowly."""
        cycle = self._cycle
        if cycle.flow.write_paused:
            return False
        if cycle.disconnected:
            return True
        says_so = CLOSE in headers
        head = _head(status, chain(cycle.default_headers, headers), closes=not cycle.keep_alive and not says_so)
        if says_so:
            # Else what is still on its way is read to its end, for as long as its sender likes.
            cycle.keep_alive = False
        cycle.response_started = cycle.response_complete = True
        cycle.waiting_for_100_continue = False
        self._transport.write_answer(head, body)
        cycle.message_event.set()
        if not cycle.keep_alive:
            cycle.transport.close()
        cycle.on_response()
        # The scope leads here, and from here back to itself. Left so, every call that is answered here would have to be
        # collected as garbage, and after some thousand of them all others would wait 20 ms for that.
        cycle.scope["state"].clear()
        return True


def _authority(address: bytes) -> bytes:
    """The host and port of an absolute address, with anything else that stands there."""
    _, _, rest = address.partition(b"://")
    return rest.partition(b"/")[0].partition(b"?")[0]


def _head(status: int, headers: Iterable[tuple[bytes, bytes]], *, closes: bool) -> bytes:
    lines = [b"%b: %b\r\n" % header for header in headers]
    if closes:
        lines.append(b"connection: close\r\n")
    head = b"".join([STATUS_LINE[status], *lines, b"\r\n"])
    # Whoever could put a line break into a header could put in anything.
    if not head.count(b"\r") == head.count(b"\n") == len(lines) + 2:
        raise ValueError("A header has a line break.")
    return head


class GatheringTransport(asyncio.Transport):
    """Sends what is written in one turn of the event loop at the end of that turn, and large answers in pieces.

    A piece is sent when the kernel has taken the one before, so that unread answers take little memory.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, connection: Connection) -> None:
        # Nothing of the base class is needed; it says which methods there are.
        self._transport = transport
        self._loop = loop
        self._connection = connection
        self._gathered: list[Data] = []
        self._rest: deque[memoryview] = deque()
        self._written = 0
        self._closes = False

    def write(self, data: Data) -> None:
        """Keep it until the end of this turn."""
        if not self._gathered:
            self._loop.call_soon(self.flush)
        self._gathered.append(data)

    def write_answer(self, head: bytes, body: bytes) -> None:
        """Send it now, behind what was kept."""
        if self._gathered:
            self._gathered += (head, body)
        elif len(body) < PIECE:
            self._push(head + body)
        else:
            self._push(head)
            self._push(body)

    def writelines(self, list_of_data: Iterable[Data]) -> None:
        """Keep them until the end of this turn."""
        for data in list_of_data:
            self.write(data)

    def flush(self) -> None:
        """Send what was gathered."""
        if not self._gathered:
            return
        gathered, self._gathered = self._gathered, []
        if self._transport.is_closing():
            # The client left in this turn.
            return
        if sum(map(len, gathered)) <= PIECE:
            self._push(b"".join(gathered))
        else:
            for data in gathered:
                self._push(data)

    def go_on(self) -> None:
        """Send the rest, piece by piece, for as long as the kernel takes them."""
        while self._rest and not self._connection.is_paused and not self._transport.is_closing():
            view = self._rest.popleft()
            if len(view) > PIECE:
                self._rest.appendleft(view[PIECE:])
            self._transport.write(view[:PIECE])
        if self._closes and not self._rest and not self._connection.is_paused:
            self._end()

    def taken(self) -> int:
        """Bytes that the kernel has taken. TLS adds some to what waits, which makes it a little less."""
        return self._written - self.get_write_buffer_size()

    def _push(self, data: Data) -> None:
        self._written += len(data)
        if self._rest or len(data) > PIECE or self._connection.is_paused:
            self._rest.append(memoryview(data))
            self.go_on()
        else:
            self._transport.write(data)

    def close(self) -> None:
        """Send what was written, then end."""
        self.flush()
        self._closes = True
        if not self._rest and not self._connection.is_paused:
            self._end()

    def _end(self) -> None:
        if self._connection.lingers:
            self._connection.linger(self._transport)
        else:
            self._transport.close()

    def abort(self) -> None:
        """End at once; what was written is lost."""
        self._gathered.clear()
        self._rest.clear()
        self._transport.abort()

    def get_write_buffer_size(self) -> int:
        """How many bytes have not been sent."""
        own = sum(map(len, self._gathered)) + sum(map(len, self._rest))
        return own + self._connection.unsent(self._transport)

    def is_closing(self) -> bool:
        return self._closes or self._transport.is_closing()

    def get_extra_info(self, name: str, default: object = None) -> object:
        return self._transport.get_extra_info(name, default)

    def pause_reading(self) -> None:
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._transport.set_protocol(protocol)

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._transport.get_protocol()
