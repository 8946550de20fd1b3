"""What ties an answer to its log lines: the trace id, and the caller's own id of the call."""

import os
import re
from collections.abc import Callable, Mapping

from chamberlain.core.ids import TraceId

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
