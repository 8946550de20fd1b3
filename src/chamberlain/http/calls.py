"""Answers of handlers: one with a body, and one that is streamed."""

import os
import re
from collections.abc import AsyncGenerator, Callable, Mapping
from datetime import datetime

from msgspec import Struct

from chamberlain.core.ids import TraceId

Headers = tuple[tuple[bytes, bytes], ...]
JSON = b"application/json"
# Answers are private to the caller and change, so no cache between may store them.
NO_STORE = (b"cache-control", b"no-store")


# Structs rather than dataclasses: one is made for every call, and a frozen dataclass costs ten times as much to make.
class Answer(Struct, frozen=True):
    """A complete answer.

    The pipeline adds length, request-id and client-request-id.
    """

    status: int
    body: bytes
    headers: Headers = ()
    content_type: bytes = JSON


class Stream(Struct, frozen=True):
    """A streamed answer.

    It ends when its chunks end, at `ends_at`, when the client disconnects, or when the service stops. `close` is called
    in each case. If it `must_be_whole` and is cut short, the connection is closed without the end of the body, so that
    the client notices.
    """

    chunks: AsyncGenerator[bytes, None]
    content_type: bytes
    headers: Headers
    ends_at: datetime
    close: Callable[[], None]
    status: int = 200
    must_be_whole: bool = False


# W3C Trace Context, version 00, and later versions as far as they begin alike; version ff and ids of zeros do not
# count.
_TRACEPARENT = re.compile(
    rb"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?", re.ASCII
)
# Long enough for every id that clients make; bounded because it is sent back.
_CLIENT_REQUEST_ID = re.compile(rb"[!-~]{1,128}")


# Drawn from the system in advance: one call of the kernel costs more than the rest of making an id.
_trace_ids: list[TraceId] = []
_DRAWN_AT_ONCE = 256


def trace_id_of(headers: Mapping[bytes, bytes], new_trace_id: Callable[[], TraceId]) -> TraceId:
    """The trace that the caller says this call belongs to, else one of its own. It is our `request-id` as well."""
    traceparent = headers.get(b"traceparent")
    if traceparent is not None:
        match = _TRACEPARENT.fullmatch(traceparent)
        if match is not None:
            return TraceId(match[1].decode("ascii"))
    return new_trace_id()


def echoes(headers: Mapping[bytes, bytes], trace_id: TraceId) -> list[tuple[bytes, bytes]]:
    """The headers that every answer has; a client-request-id that is too long or not visible ASCII is not sent back."""
    found = [(b"request-id", trace_id.encode("ascii"))]
    client_request_id = headers.get(b"client-request-id")
    if client_request_id is not None and _CLIENT_REQUEST_ID.fullmatch(client_request_id):
        found.append((b"client-request-id", client_request_id))
    return found


def new_trace_id() -> TraceId:
    """A trace id as W3C Trace Context has it: 16 random bytes in hexadecimal digits."""
    try:
        return _trace_ids.pop()
    except IndexError:
        digits = os.urandom(16 * _DRAWN_AT_ONCE).hex()
        one, *others = [TraceId(digits[start : start + 32]) for start in range(0, len(digits), 32)]
        _trace_ids.extend(others)
        return one
