"""Answers of handlers: one with a body, and one that is streamed."""

from collections.abc import AsyncGenerator, Callable
from datetime import datetime

from msgspec import Struct

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
