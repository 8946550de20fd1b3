"""Calls that have arrived whole are handed over whole, and answers leave whole: the server writes head and body one
after the other, which are two calls of the kernel and wake the caller twice."""

import asyncio
from collections.abc import Iterable
from itertools import chain

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from chamberlain.api.whole import WHOLE, WholeCall
from chamberlain.bootstrap.heads import BoundedHeads

Data = bytes | bytearray | memoryview

CLOSE = (b"connection", b"close")


class WholeAnswers(BoundedHeads):
    """The server's own way to speak HTTP, with its bounds, over a transport that gathers what is written."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the server has it
        """Somebody has connected."""
        self.gathering = GatheringTransport(transport, self.loop)
        super().connection_made(self.gathering)

    def on_headers_complete(self) -> None:
        """A call begins. It is answered in a later turn of the event loop, when this stands in its scope."""
        super().on_headers_complete()
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
        self._transport.write_through(head + body)
        cycle.message_event.set()
        if not cycle.keep_alive:
            cycle.transport.close()
        cycle.on_response()
        # The scope leads here, and from here back to itself. Left so, every call that is answered here would have to be
        # collected as garbage, and after some thousand of them all others would wait 20 ms for that.
        cycle.scope["state"].clear()
        return True


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
    """Sends what is written in one turn of the event loop at the end of that turn. All else goes through at once."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        # Nothing of the base class is needed; it says which methods there are.
        self._transport = transport
        self._loop = loop
        self._gathered: list[Data] = []

    def write(self, data: Data) -> None:
        """Keep it until the end of this turn."""
        if not self._gathered:
            self._loop.call_soon(self._send)
        self._gathered.append(data)

    def write_through(self, data: Data) -> None:
        """Send it now, behind what was kept."""
        if self._gathered:
            self._gathered.append(data)
        else:
            self._transport.write(data)

    def writelines(self, list_of_data: Iterable[Data]) -> None:
        """Keep them until the end of this turn."""
        for data in list_of_data:
            self.write(data)

    def _send(self) -> None:
        if self._gathered:
            gathered, self._gathered = self._gathered, []
            self._transport.write(b"".join(gathered))

    def close(self) -> None:
        """Send what was written, then end."""
        self._send()
        self._transport.close()

    def abort(self) -> None:
        """End at once; what was written is lost."""
        self._gathered.clear()
        self._transport.abort()

    def get_write_buffer_size(self) -> int:
        """How many bytes have not been sent."""
        return sum(map(len, self._gathered)) + self._transport.get_write_buffer_size()

    def is_closing(self) -> bool:
        return self._transport.is_closing()

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
