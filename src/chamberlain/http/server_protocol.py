"""The HTTP protocol of the server: bounded heads, an orderly stop, and responses in pieces."""

import asyncio
from collections import deque
from collections.abc import Iterable

from chamberlain.fastpath.buffered_response import offer_buffered_call
from chamberlain.http.connections import Connection
from chamberlain.http.header_limits import HeaderLimits

Data = bytes | bytearray | memoryview

# The key in the scope for the host of an absolute address in the request line; absent for a path.
AUTHORITY = "chamberlain.authority"
# Bytes of a response that are copied at once. The rest is not copied, because all clients of a document share it.
PIECE_BYTES = 16 * 1024
# Time for an unfinished body during a stop. The call itself needs some of the grace (listeners.py).
UPLOAD_SECONDS = 5


class ServerProtocol(HeaderLimits):
    """The HTTP protocol of one connection."""

    upload_seconds: float = UPLOAD_SECONDS
    # Set when the process stops.
    ends_after_next = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the server has it
        """Put the paced transport between protocol and socket."""
        self.paced = PacedTransport(transport, self.connection)
        super().connection_made(self.paced)

    def end_after_next(self) -> None:
        """Close the connection after the next response: the process stops."""
        self.ends_after_next = True

    def shutdown(self) -> None:
        """Close an idle connection now, another one after its response."""
        if self.is_idle:
            self.paced.close()
        elif self.cycle is not None:
            self.cycle.keep_alive = False
            self.loop.call_later(self.upload_seconds, self._end_upload)

    def _end_upload(self) -> None:
        """Cancel a call whose body is incomplete. Its work has not started, so the client can retry it."""
        cycle = self.cycle
        if cycle.more_body and not cycle.response_started and not cycle.disconnected:
            cycle.disconnected = True
            cycle.message_event.set()
            self.paced.close()

    @property
    def is_idle(self) -> bool:
        """Whether every call is complete and its response sent."""
        return self._nothing_is_under_way() and not self._is_unread

    def taken(self) -> int:
        """Return the bytes of responses that the kernel has taken."""
        return self.paced.taken()

    def ends_after_rest(self) -> bool:
        """Whether a complete response is still being sent; then the connection closes after it."""
        if self._is_unread:
            self.paced.close()
        return self._is_unread

    def resume_writing(self) -> None:
        """Send the next pieces; continue with the next call after the last piece."""
        self.paced.send_pieces()
        if not self.connection.is_paused:
            super().resume_writing()

    def on_headers_complete(self) -> None:
        """Start a call. The server runs it in a later turn of the event loop, with this scope."""
        super().on_headers_complete()
        if self.ends_after_next:
            self.cycle.keep_alive = False
        if not self.url.startswith(b"/"):
            host = self.url.partition(b"://")[2].partition(b"/")[0].partition(b"?")[0]
            self.scope[AUTHORITY] = host  # type: ignore[literal-required]  # An extension.
        offer_buffered_call(self.scope["state"], self.cycle, self.paced)


class PacedTransport(asyncio.Transport):
    """Sends large responses in pieces.

    The next piece is sent when the kernel has taken the last one, so an unread response takes little memory.
    """

    def __init__(self, transport: asyncio.Transport, connection: Connection) -> None:
        # The base class is the interface; nothing of its state is needed.
        self._transport = transport
        self._connection = connection
        self._rest: deque[memoryview] = deque()
        self._written = 0
        self._closes = False

    def write(self, data: Data) -> None:
        """Send data, or keep it until the kernel takes it."""
        if self._transport.is_closing():
            return
        self._written += len(data)
        if self._rest or len(data) > PIECE_BYTES or self._connection.is_paused:
            self._rest.append(memoryview(data))
            self.send_pieces()
        else:
            self._transport.write(data)

    def write_answer(self, head: bytes, body: bytes) -> None:
        """Send a response, with one system call if it is short."""
        if len(body) < PIECE_BYTES:
            self.write(head + body)
        else:
            self.write(head)
            self.write(body)

    def writelines(self, list_of_data: Iterable[Data]) -> None:
        """Send data."""
        for data in list_of_data:
            self.write(data)

    def send_pieces(self) -> None:
        """Send pieces for as long as the kernel takes them."""
        while self._rest and not self._connection.is_paused and not self._transport.is_closing():
            view = self._rest.popleft()
            if len(view) > PIECE_BYTES:
                self._rest.appendleft(view[PIECE_BYTES:])
            self._transport.write(view[:PIECE_BYTES])
        if self._closes and not self._rest and not self._connection.is_paused:
            self._end()

    def taken(self) -> int:
        """Return the bytes that the kernel has taken. TLS adds to the waiting bytes, so it is slightly less."""
        return self._written - self.get_write_buffer_size()

    def close(self) -> None:
        """Send the rest, then close."""
        self._closes = True
        if not self._rest and not self._connection.is_paused:
            self._end()

    def _end(self) -> None:
        if self._connection.lingers:
            self._connection.linger(self._transport)
        else:
            self._transport.close()

    def abort(self) -> None:
        """Close at once; data that was not sent is lost."""
        self._rest.clear()
        self._transport.abort()

    def get_write_buffer_size(self) -> int:
        """Return the number of unsent bytes."""
        return sum(map(len, self._rest)) + self._connection.unsent(self._transport)

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
