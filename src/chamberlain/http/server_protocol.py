# SPDX-License-Identifier: Apache-2.0
"""The HTTP protocol of the server, and how it sends responses.

Heads are limited, a stop finishes open calls, and large responses are sent in pieces.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import Callable, Iterable
from time import monotonic

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from chamberlain.fastpath.buffered_response import offer_buffered_call
from chamberlain.http.connections import Connection, Connections, Refused
from chamberlain.http.problems import HeadTooLarge, problem_of
from chamberlain.http.request import echoes
from chamberlain.observability.logs import new_trace_id

Data = bytes | bytearray | memoryview

# The key in the scope for the host of an absolute address in the request line; absent for a path.
AUTHORITY = "chamberlain.authority"
# Bytes of a response that are copied at once. The rest is not copied, because all clients of a document share it.
PIECE_BYTES = 16 * 1024
# Time for an unfinished body during a stop. The call itself needs some of the grace (app/listeners.py).
UPLOAD_SECONDS = 5
# The limit in docs/reference/api.md. Twice the limit of most servers, for tokens with many claims.
LIMIT = 64 * 1024
# The same as for a body.
SECONDS = 10
# Delays closing: closing while data arrives resets the connection, and the client may lose the response.
CLOSE_SECONDS = 1
_END_OF_HEAD = b"\r\n\r\n"


class ServerProtocol(HttpToolsProtocol):
    """The HTTP protocol of one connection: uvicorn's, with limits for heads.

    The parser has no limits and joins an endless header in quadratic time, which blocks all other clients. So bytes are
    counted before they are parsed.

    Each connection has one timer, the keep-alive timer of uvicorn. It runs while no call is in progress. A head that
    arrives in one piece starts no timer.
    """

    head_seconds: float = SECONDS
    close_seconds: float = CLOSE_SECONDS
    upload_seconds: float = UPLOAD_SECONDS
    # Set when the process stops.
    ends_after_next = False
    # Set by the Connection itself.
    connection: Connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the server has it
        """Insert the paced transport, and start the timeout of the first head."""
        self.paced = PacedTransport(transport, self.connection)
        super().connection_made(self.paced)
        self.connection.is_talking = True
        # Unparsed calls, received before the client has read an earlier response.
        self._held = b""
        # The call in progress while the head of the next one has arrived.
        self._earlier: RequestResponseCycle | None = None
        # Whether a response is complete, and the kernel has not taken all of it.
        self._is_unread = False
        # Bytes received since the last progress: a complete head, a part of a body, or the end of a call.
        self._unparsed = 0
        self._close_in(self.head_seconds)

    @property
    def is_at_work(self) -> bool:
        """Whether a complete call has no complete response."""
        cycle = self.cycle
        # None before the first call; the annotation of uvicorn omits that.
        return cycle is not None and not cycle.more_body and not cycle.response_complete  # type: ignore[redundant-expr]

    def data_received(self, data: bytes) -> None:
        """Take one call at a time.

        The next one waits until the client has read the last response.
        """
        if self._held or self._must_wait():
            self._hold(data)
        elif data.count(_END_OF_HEAD) > 1:
            self._take_call_by_call(data)
        else:
            self._take(data)

    def held(self) -> int:
        """Return the bytes of calls that wait for an earlier response."""
        return len(self._held)

    def _take_call_by_call(self, data: bytes) -> None:
        # Each head ends with an empty line, so no part contains more than one complete head.
        start = 0
        while start < len(data):
            if self._must_wait():
                self._hold(data[start:])
                return
            end = data.find(_END_OF_HEAD, start)
            end = len(data) if end < 0 else end + len(_END_OF_HEAD)
            self._take(data[start:end])
            start = end

    def _must_wait(self) -> bool:
        # Data that ends one body may contain the head of the next call, which is in the pipeline then.
        return self.is_at_work or self._is_unread or bool(self.pipeline)

    def _hold(self, data: bytes) -> None:
        """Keep data for later, and pause reading."""
        if self._unparsed < LIMIT:
            self._held += data
            self.flow.pause_reading()

    def on_response_complete(self) -> None:
        """Continue with the next call if the client has read this response."""
        if self.connection.is_paused:
            self._is_unread = True
        else:
            self._begin_next()

    def resume_writing(self) -> None:
        """Send the next pieces, and continue with the next call after them."""
        self.paced.send_pieces()
        if self.connection.is_paused:
            return
        super().resume_writing()
        if self._is_unread:
            self._is_unread = False
            self._begin_next()

    def _begin_next(self) -> None:
        self.connection.progress_at = monotonic()
        super().on_response_complete()
        if self._held and not self.transport.is_closing():
            held, self._held = self._held, b""
            self.data_received(held)

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel every call in progress; uvicorn cancels the last one only."""
        if self._earlier is not None and not self._earlier.response_complete:
            self._earlier.disconnected = True
            self._earlier.message_event.set()
        self._held = b""
        super().connection_lost(exc)

    def timeout_keep_alive_handler(self) -> None:
        """Close the connection: no complete head has arrived in time."""
        if 0 < self._unparsed < LIMIT and self._nothing_is_under_way():
            self.connection.refuse(Refused.HEAD_TOO_SLOW)
        super().timeout_keep_alive_handler()

    def _take(self, data: bytes) -> None:
        """Parse data, in parts of at most the limit of the head."""
        if len(data) > LIMIT - self._unparsed:
            # Without room left the client was refused, and further data is discarded.
            while data and (room := LIMIT - self._unparsed):
                self._take(data[:room])
                data = data[room:]
            return
        self._unparsed += len(data)
        rest = data
        try:
            while rest:
                try:
                    self.parser.feed_data(rest)
                    break
                except httptools.HttpParserUpgrade as upgrade:
                    rest = rest[upgrade.args[0] :]
                    self._ignore_upgrade()
        except httptools.HttpParserError:
            self.connection.refuse(Refused.NOT_HTTP)
            self.send_400_response("Invalid HTTP request received.")
            self._unparsed = LIMIT
            return
        if self._unparsed == LIMIT:
            self._refuse()
        elif self._unparsed and self._unparsed == len(data) and self._nothing_is_under_way():
            # The first part of a head starts its timeout, however long the connection was idle.
            self._close_in(self.head_seconds)

    def _ignore_upgrade(self) -> None:
        # An upgrade that is not offered is ignored (RFC 9110, 7.8). The parser expects no body after one, so the head
        # is parsed again without it, by a new parser, since this one may have reached its end.
        version = self.parser.get_http_version().encode("ascii")
        lines = [b"%b: %b\r\n" % header for header in self.headers if header[0] != b"upgrade"]
        head = [b"%b %b HTTP/%b\r\n" % (self.parser.get_method(), self.url, version), *lines, b"\r\n"]
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self.parser.feed_data(b"".join(head))

    def on_headers_complete(self) -> None:
        """Start a call after its head.

        The server runs it in a later turn of the event loop, with this scope.
        """
        self._unparsed = 0
        self.connection.progress_at = monotonic()
        self._unset_keepalive_if_required()
        if not self.parser.should_upgrade():
            cycle = self.cycle
            super().on_headers_complete()
            self._earlier = cycle if self.pipeline else None
            # Trailers after the body are no headers (RFC 9110, 6.5.1).
            self.headers = []
            if self.ends_after_next:
                self.cycle.keep_alive = False
            if not self.url.startswith(b"/"):
                host = self.url.partition(b"://")[2].partition(b"/")[0].partition(b"?")[0]
                self.scope[AUTHORITY] = host  # type: ignore[literal-required]  # An extension.
            offer_buffered_call(self.scope["state"], self.cycle, self.paced)
        elif self.parser.get_method() == b"CONNECT":
            raise httptools.HttpParserError("No tunnel is offered.")

    def on_body(self, body: bytes) -> None:
        """Receive a part of a body, as uvicorn does without an upgrade."""
        self._unparsed = 0
        cycle = self.cycle
        if not cycle.response_complete:
            cycle.body += body
            if len(cycle.body) > HIGH_WATER_LIMIT:
                self.flow.pause_reading()
            cycle.message_event.set()

    def on_message_complete(self) -> None:
        """End a call, even one that was answered earlier.

        Uvicorn would leave that incomplete.
        """
        if not self.parser.should_upgrade():
            self._unparsed = 0
            cycle = self.cycle
            cycle.more_body = False
            if not cycle.response_complete:
                cycle.message_event.set()

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
        """Cancel a call whose body is incomplete.

        Its work has not started, so the client can retry it.
        """
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
        """Whether a complete response is still being sent.

        Then the connection closes after it.
        """
        if self._is_unread:
            self.paced.close()
        return self._is_unread

    def _nothing_is_under_way(self) -> bool:
        """Whether every call is complete and answered."""
        # None before the first call; the annotation of uvicorn omits that.
        return self.cycle is None or (  # type: ignore[redundant-expr]
            self.cycle.response_complete and not self.cycle.more_body
        )

    def _refuse(self) -> None:
        # During another call the client would take this for the response to that call.
        if self._nothing_is_under_way():
            self.connection.refuse(Refused.HEAD_TOO_LARGE)
            self.transport.write(_refusal(self.server_state.default_headers))
        self._close_in(self.close_seconds)

    def _close_in(self, seconds: float) -> None:
        self._unset_keepalive_if_required()
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self.timeout_keep_alive_handler)


def connection_factory(
    connections: Connections, context: ssl.SSLContext | None, protocol: type[ServerProtocol] = ServerProtocol
) -> Callable[..., Connection]:
    """Return the factory of connections that the server calls."""

    def begin(
        config: Config,
        server_state: ServerState,
        app_state: dict[str, object],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> Connection:
        return Connection(connections, protocol(config, server_state, app_state, _loop), context)

    return begin


def _refusal(default_headers: list[tuple[bytes, bytes]]) -> bytes:
    # The path is unknown before the head is complete.
    answer = problem_of(HeadTooLarge(LIMIT), "/", trace_id := new_trace_id())
    headers = [
        *default_headers,
        *echoes({}, trace_id),
        (b"content-type", answer.content_type),
        (b"content-length", b"%d" % len(answer.body)),
        *answer.headers,
    ]
    lines = [b"%b: %b\r\n" % header for header in headers]
    return b"".join([STATUS_LINE[answer.status], *lines, b"\r\n", answer.body])


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
        """Return the bytes that the kernel has taken.

        TLS adds to the waiting bytes, so it is slightly less.
        """
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
