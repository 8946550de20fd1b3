"""Responses of handlers, complete or streamed, and the trace id of a call."""

import os
import re
from collections.abc import AsyncGenerator, Callable, Mapping
from datetime import datetime

from msgspec import Struct

from chamberlain.core.ids import TraceId

Headers = tuple[tuple[bytes, bytes], ...]
JSON = b"application/json"
# Responses are private to the caller and change, so no cache may store them.
NO_STORE = (b"cache-control", b"no-store")


# A struct, because making a frozen dataclass costs ten times as much, and each call makes one.
class Answer(Struct, frozen=True):
    """A complete response.

    The pipeline adds length, request-id and client-request-id.
    """

    status: int
    body: bytes
    headers: Headers = ()
    content_type: bytes = JSON


class Stream(Struct, frozen=True):
    """A streamed response.

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


# W3C Trace Context, version 00, and later versions with the same beginning. Version ff and ids of zeros are invalid.
_TRACEPARENT = re.compile(
    rb"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?", re.ASCII
)
# Long enough for the ids of all known clients; limited because it is sent back.
_CLIENT_REQUEST_ID = re.compile(rb"[!-~]{1,128}")


def trace_id_of(headers: Mapping[bytes, bytes], new_trace_id: Callable[[], TraceId]) -> TraceId:
    """Return the trace id of `traceparent`, or a new one. It is the `request-id` as well."""
    traceparent = headers.get(b"traceparent")
    if traceparent is not None:
        match = _TRACEPARENT.fullmatch(traceparent)
        if match is not None:
            return TraceId(match[1].decode("ascii"))
    return new_trace_id()


def echoes(headers: Mapping[bytes, bytes], trace_id: TraceId) -> list[tuple[bytes, bytes]]:
    """Return the headers of every response: request-id, and client-request-id if it is valid."""
    found = [(b"request-id", trace_id.encode("ascii"))]
    client_request_id = headers.get(b"client-request-id")
    if client_request_id is not None and _CLIENT_REQUEST_ID.fullmatch(client_request_id):
        found.append((b"client-request-id", client_request_id))
    return found


def new_trace_id() -> TraceId:
    """Make a W3C trace id: 16 random bytes in hexadecimal digits."""
    return TraceId(os.urandom(16).hex())
