"""Limit the size and the time of heads, and ignore upgrades that are not offered.

The parser has no limits and joins an endless header in quadratic time, which blocks all other clients. So bytes are
counted before they are parsed.
"""

import asyncio
from time import monotonic

import httptools
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from chamberlain.http.calls import echoes, new_trace_id
from chamberlain.http.connections import Connection, Refused
from chamberlain.http.problems import HeadTooLarge, problem_of

# The limit in docs/reference/api.md. Twice the limit of most servers, for tokens with many claims.
LIMIT = 64 * 1024
# The same as for a body.
SECONDS = 10
# Delays closing: closing while data arrives resets the connection, and the client may lose the response.
CLOSE_SECONDS = 1
_END_OF_HEAD = b"\r\n\r\n"


class HeaderLimits(HttpToolsProtocol):
    """The HTTP protocol of uvicorn with limits for heads.

    Each connection has one timer, the keep-alive timer of uvicorn. It runs while no call is in progress. A head that
    arrives in one piece starts no timer.
    """

    head_seconds: float = SECONDS
    close_seconds: float = CLOSE_SECONDS
    # Set by the Connection itself.
    connection: Connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the server has it
        """Start the timeout of the first head."""
        super().connection_made(transport)
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
        """Take one call at a time: the next one waits until the client has read the last response."""
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
        """Continue after the client has read."""
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
        """Parse data, never more at once than the limit of the head allows."""
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
        """Start a call after its head."""
        self._unparsed = 0
        self.connection.progress_at = monotonic()
        self._unset_keepalive_if_required()
        if not self.parser.should_upgrade():
            cycle = self.cycle
            super().on_headers_complete()
            self._earlier = cycle if self.pipeline else None
            # Trailers after the body are no headers (RFC 9110, 6.5.1).
            self.headers = []
        elif self.parser.get_method() == b"CONNECT":
            raise httptools.HttpParserError("No tunnel is offered.")

    def on_body(self, body: bytes) -> None:
        """Receive a part of a body, as uvicorn does for calls without an upgrade."""
        self._unparsed = 0
        cycle = self.cycle
        if not cycle.response_complete:
            cycle.body += body
            if len(cycle.body) > HIGH_WATER_LIMIT:
                self.flow.pause_reading()
            cycle.message_event.set()

    def on_message_complete(self) -> None:
        """End a call, even one that was answered earlier; uvicorn would leave that incomplete."""
        if not self.parser.should_upgrade():
            self._unparsed = 0
            cycle = self.cycle
            cycle.more_body = False
            if not cycle.response_complete:
                cycle.message_event.set()

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
