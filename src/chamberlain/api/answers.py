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
    """What is sent back. Length, request-id and client-request-id are added on the way out."""

    status: int
    body: bytes
    headers: Headers = ()
    content_type: bytes = JSON


class Stream(Struct, frozen=True):
    """An answer that goes on until its chunks end, its time is up, the caller leaves or the service stops.

    `close` is called when it is over, however it ends. One that must be whole and is not is broken off without the end
    of its body, so that the caller sees that something is missing.
    """

    chunks: AsyncGenerator[bytes, None]
    content_type: bytes
    headers: Headers
    ends_at: datetime
    close: Callable[[], None]
    status: int = 200
    must_be_whole: bool = False
