"""The heads of calls: how long one may be, how long one is waited for, and what in them is not offered.

The parser knows no bounds and hands nothing over before a header is whole; to put an endless one together takes it the
square of its length, during which nobody else is served. So what comes is counted before it is parsed.
"""

import asyncio

import httptools
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from chamberlain.api.problems import HeadTooLarge, problem_of
from chamberlain.api.trace import echoes
from chamberlain.bootstrap.origins import new_trace_id

# The bound that docs/reference/api.md gives. Twice what most servers take, for tokens with many claims.
LIMIT = 64 * 1024
# As long as a body may take.
SECONDS = 10
# A connection that is closed while something comes is reset, and its caller may never see why.
SECONDS_FOR_FAREWELL = 1


class BoundedHeads(HttpToolsProtocol):
    """The server's own way to speak HTTP, with those who may be anybody.

    There is one timer for each connection, the one with which the server ends idle ones. It runs while no call is under
    way, and no call needs one of its own: a head that comes in one piece stops it, and begins none.
    """

    head_seconds: float = SECONDS
    farewell_seconds: float = SECONDS_FOR_FAREWELL

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the server has it
        """Somebody has connected, and has to say something."""
        super().connection_made(transport)
        # How many bytes have come since the last that were of use: a whole head, a piece of a body, the end of a call.
        self._useless = 0
        self._end_in(self.head_seconds)

    def data_received(self, data: bytes) -> None:
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
            message = "Invalid HTTP request received."
            self.logger.warning(message)
            self.send_400_response(message)
            self._useless = LIMIT
            return
        if self._useless:
            self._count(len(data))

    def _take_in_pieces(self, data: bytes) -> None:
        # There is no room left when the caller was refused; what still comes is thrown away.
        while data and (room := LIMIT - self._useless):
            self.data_received(data[:room])
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
        self._unset_keepalive_if_required()
        if not self.parser.should_upgrade():
            super().on_headers_complete()
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
        # Where an earlier call has no answer yet, this would be taken for it.
        if self._nothing_is_under_way():
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
