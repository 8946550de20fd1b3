# SPDX-License-Identifier: Apache-2.0
"""Server-sent events with the live parts of a page.

An event has the parts as `<template data-put="id">`. The module of the pages replaces the elements with these ids.
"""

import re
from collections.abc import AsyncGenerator, Callable
from datetime import datetime
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from chamberlain.console.rendering import HEADERS
from chamberlain.http.responses import Stream, Streams

# SSE heartbeat; keeps proxies from closing the connection.
STILL_THERE: Final = b":\n\n"
# A timeline has far fewer events than this number of digits can count.
_MOST_DIGITS: Final = 9
# The line ends of an event stream. Texts of users may have each of them.
_LINE_END: Final = re.compile("\r\n|\r|\n")
_NO_BUFFER: Final = (b"x-accel-buffering", b"no")


class EventStream(Response):
    """A stream of events, bounded like those of the API.

    `close` is called when it has ended.
    """

    def __init__(
        self, streams: Streams, chunks: AsyncGenerator[bytes, None], ends_at: datetime, close: Callable[[], None]
    ) -> None:
        super().__init__(headers=HEADERS)
        del self.headers["content-length"]
        self._streams = streams
        self._stream = Stream(chunks, b"text/event-stream", (_NO_BUFFER,), ends_at, close)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events until the end."""
        await self._streams.send(self._stream, scope["method"], list(self.raw_headers), receive, send)


def encode_event(number: int, parts: str) -> bytes:
    """Encode an event with live parts."""
    lines = "".join(f"data: {line}\n" for line in _LINE_END.split(parts))
    return f"id: {number}\nevent: parts\n{lines}\n".encode()


def last_event(request: Request) -> int:
    """Return the number of the last event that the browser has seen.

    0 if there is none, or an invalid one.
    """
    sent = request.headers.get("last-event-id", "")
    return int(sent) if sent.isascii() and sent.isdigit() and len(sent) <= _MOST_DIGITS else 0
