"""One call and its answer, as handlers see them."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from datetime import datetime
from typing import Generic, TypeVar
from uuid import UUID

from msgspec import Struct
from starlette.types import Receive

from chamberlain.rules.callers import Caller
from chamberlain.rules.ids import TraceId

Body_co = TypeVar("Body_co", covariant=True)
Headers = tuple[tuple[bytes, bytes], ...]
JSON = b"application/json"
# What callers may read is theirs alone, and changes: nobody between keeps it.
NO_STORE = (b"cache-control", b"no-store")


# Structs rather than dataclasses: one of each is made for every call, and a frozen dataclass costs ten times as much
# to make.
class Call(Struct, Generic[Body_co], frozen=True):
    """A call whose checks are all passed.

    `path` is the canonical one, with its trailing slash. `raw` is the body as it was sent and `body` what it says,
    None for an endpoint without a body. `ids` are the ids of the path, `query` its parameters. `client_address` is None
    where the server knows none. `listed_headers` are the headers one by one, for those that may come several times.
    `receive` tells when the caller leaves.
    """

    method: str
    path: str
    ids: Mapping[str, UUID]
    query: Mapping[str, str]
    headers: Mapping[bytes, bytes]
    trace_id: TraceId
    client_address: str | None
    raw: bytes
    body: Body_co
    known_caller: Caller | None
    listed_headers: Sequence[tuple[bytes, bytes]]
    receive: Receive

    @property
    def caller(self) -> Caller:
        """Who calls. Asked by handlers of endpoints that need a permission; public ones have no caller."""
        if self.known_caller is None:
            raise LookupError(f"{self.method} {self.path} is public; its handler must not ask who calls.")
        return self.known_caller


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
