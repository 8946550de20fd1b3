"""The heads of calls: how long one may be, how long one is waited for, and what in them is not offered.

The parser knows no bounds and hands nothing over before a header is whole; to put an endless one together takes it the
square of its length, during which nobody else is served. So what comes is counted before it is parsed.
"""

import asyncio
from time import monotonic

import httptools
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from chamberlain.http.calls import echoes, new_trace_id
from chamberlain.http.connections import Connection, Refused
from chamberlain.http.problems import HeadTooLarge, problem_of

# The bound that docs/reference/api.md gives. Twice what most servers take, for tokens with many claims.
LIMIT = 64 * 1024
# As long as a body may take.
SECONDS = 10
# A connection that is closed while something comes is reset, and its caller may never see why.
SECONDS_FOR_FAREWELL = 1
_END_OF_HEAD = b"\r\n\r\n"


class BoundedHeads(HttpToolsProtocol):
    """The server's own way to speak HTTP, with those who may be anybody.

    There is one timer for each connection, the one with which the server ends idle ones. It runs while no call is under
    way, and no call needs one of its own: a head that comes in one piece stops it, and begins none.
    """

    head_seconds: float = SECONDS
    farewell_seconds: float = SECONDS_FOR_FAREWELL
    # The socket below; the server sets it.
    connection: Connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the server has it
        """Begin the time that the first head has."""
        super().connection_made(transport)
        self.connection.is_talking = True
        # Calls that came while an earlier one had no answer that was read; they are not parsed yet.
        self._held = b""
        # The call that is answered while the head of the next one is here already.
        self._earlier: RequestResponseCycle | None = None
        # Whether an answer is complete, and the kernel has not taken all of it.
        self._is_unread = False
        # How many bytes have come since the last that were of use: a whole head, a piece of a body, the end of a call.
        self._useless = 0
        self._end_in(self.head_seconds)

    @property
    def is_at_work(self) -> bool:
        """Whether a whole call has no complete answer."""
        cycle = self.cycle
        # There is none before the first call, which the annotation leaves out.
        return cycle is not None and not cycle.more_body and not cycle.response_complete  # type: ignore[redundant-expr]

    def data_received(self, data: bytes) -> None:
        """Take one call at a time: the next one waits until the client has read the answer to the last one."""
        if self._held or self._must_wait():
            self._hold(data)
        elif data.count(_END_OF_HEAD) > 1:
            self._take_call_by_call(data)
        else:
            self._take(data)

    def held(self) -> int:
        """Bytes of calls that wait for the answer to an earlier call."""
        return len(self._held)

    def _take_call_by_call(self, data: bytes) -> None:
        # Each head ends with an empty line, so no piece has more than one whole head.
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
        # A piece that ends one body may hold the head of the next call, which is in the pipeline then.
        return self.is_at_work or self._is_unread or bool(self.pipeline)

    def _hold(self, data: bytes) -> None:
        """Keep it for later, and read no more until then."""
        if self._useless < LIMIT:
            self._held += data
            self.flow.pause_reading()

    def on_response_complete(self) -> None:
        """Go on with the next call, if the client has read this answer."""
        if self.connection.is_paused:
            self._is_unread = True
        else:
            self._begin_next()

    def resume_writing(self) -> None:
        """Go on when the client has read."""
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
        """End every call that is under way; the server knows the last one alone."""
        if self._earlier is not None and not self._earlier.response_complete:
            self._earlier.disconnected = True
            self._earlier.message_event.set()
        self._held = b""
        super().connection_lost(exc)

    def timeout_keep_alive_handler(self) -> None:
        """End the connection: no call came, or none that was whole."""
        if 0 < self._useless < LIMIT and self._nothing_is_under_way():
            self.connection.refuse(Refused.HEAD_TOO_SLOW)
        super().timeout_keep_alive_handler()

    def _take(self, data: bytes) -> None:
        """Take what has come, never more of it at once than a head may have left."""
        if len(data) > LIMIT - self._useless:
            self._take_in_pieces(data)
            return
        self._useless += len(data)
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
            self._useless = LIMIT
            return
        if self._useless:
            self._count(len(data))

    def _take_in_pieces(self, data: bytes) -> None:
        # There is no room left when the caller was refused; what still comes is thrown away.
        while data and (room := LIMIT - self._useless):
            self._take(data[:room])
            data = data[room:]

    def _count(self, length: int) -> None:
        """Nothing of use has come of this many bytes."""
        if self._useless == LIMIT:
            self._refuse()
        elif self._useless == length and self._nothing_is_under_way():
            # The first piece of a head: from here it has its time, however long the connection was idle.
            self._end_in(self.head_seconds)

    def _ignore_upgrade(self) -> None:
        # An upgrade that is not offered is ignored (RFC 9110, 7.8). To the parser no call that asks for one has a body,
        # so the head is parsed once more, without it; and by a new parser, since this one may see an end here.
        head = self._head_without_upgrade()
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self.parser.feed_data(head)

    def _head_without_upgrade(self) -> bytes:
        version = self.parser.get_http_version().encode("ascii")
        lines = [b"%b: %b\r\n" % header for header in self.headers if header[0] != b"upgrade"]
        return b"".join([b"%b %b HTTP/%b\r\n" % (self.parser.get_method(), self.url, version), *lines, b"\r\n"])

    def on_headers_complete(self) -> None:
        """A head is whole."""
        self._useless = 0
        self.connection.progress_at = monotonic()
        self._unset_keepalive_if_required()
        if not self.parser.should_upgrade():
            cycle = self.cycle
            super().on_headers_complete()
            self._earlier = cycle if self.pipeline else None
            # What stands behind the body is none of these (RFC 9110, 6.5.1).
            self.headers = []
        elif self.parser.get_method() == b"CONNECT":
            raise httptools.HttpParserError("No tunnel is offered, and what comes through one is no call.")

    def on_body(self, body: bytes) -> None:
        """A piece of a body has come. What the server does with it is done here as well, in fewer steps."""
        self._useless = 0
        cycle = self.cycle
        if not cycle.response_complete:
            cycle.body += body
            if len(cycle.body) > HIGH_WATER_LIMIT:
                self.flow.pause_reading()
            cycle.message_event.set()

    def on_message_complete(self) -> None:
        """A call is whole; one that was answered before that, too, which the server would leave as it was."""
        if not self.parser.should_upgrade():
            self._useless = 0
            cycle = self.cycle
            cycle.more_body = False
            if not cycle.response_complete:
                cycle.message_event.set()

    def _nothing_is_under_way(self) -> bool:
        """Whether every call that has begun is whole and answered."""
        # There is none before the first call, which the annotation leaves out.
        return self.cycle is None or (  # type: ignore[redundant-expr]
            self.cycle.response_complete and not self.cycle.more_body
        )

    def _refuse(self) -> None:
        # The client would take this for the answer to a call that is not complete yet.
        if self._nothing_is_under_way():
            self.connection.refuse(Refused.HEAD_TOO_LARGE)
            self.transport.write(_refusal(self.server_state.default_headers))
        self._end_in(self.farewell_seconds)

    def _end_in(self, seconds: float) -> None:
        self._unset_keepalive_if_required()
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self.timeout_keep_alive_handler)


def _refusal(default_headers: list[tuple[bytes, bytes]]) -> bytes:
    # Which path it is, nobody knows before the head is whole.
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
