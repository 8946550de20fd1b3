"""Shared by all endpoints: authentication, addresses, cursors, streams, metrics."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar
from uuid import UUID

from msgspec import Struct
from starlette.types import Receive

from chamberlain.auth.models import Caller
from chamberlain.auth.permissions import Operation, ScopePrefixes
from chamberlain.core.ids import TraceId
from chamberlain.core.paging import FeedPosition, NamePosition, Position
from chamberlain.http.streams import Streams


@dataclass(frozen=True, slots=True)
class Check:
    """One condition of readiness.

    A failed check has the cause as a sentence and as a stable code. The service stays ready when a check fails that is
    not `required`.
    """

    name: str
    passed: bool
    detail: str | None = None
    reason_code: str | None = None
    required: bool = True


class Cursors(Protocol):
    """Encrypt positions of pages as cursors, and decrypt them.

    `place` names the caller and the list.
    """

    def seal(self, position: Position | NamePosition | FeedPosition, place: str) -> str:
        """Return the cursor of a position."""

    def open(self, cursor: str, place: str) -> Position:
        """Return the position of a cursor.

        Raises Malformed for a cursor of another caller or list.
        """

    def open_named(self, cursor: str, place: str) -> NamePosition:
        """Do the same for a list that is sorted by name."""

    def open_feed(self, cursor: str, place: str) -> FeedPosition:
        """Do the same for a feed."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """Base addresses without a slash at the end.

    Answers are built from them, never from a Host header.
    """

    base_url: str
    insiders_base_url: str
    graph_url: str


@dataclass(frozen=True, slots=True)
class HttpContext:
    """Shared by all endpoints of one process.

    `verify` authenticates an Authorization header; it raises Unauthenticated and Unavailable. `require_allowed` raises
    Forbidden if the caller may not perform the operation at all. `observe` records path template, method, status and
    seconds of one call. `hosts` are the accepted values of the Host header, in lower case. `token_url` and
    `authorize_url` are those of the identity platform, for the OpenAPI document; None if unknown.
    """

    verify: Callable[[str | None], Awaitable[Caller]]
    require_allowed: Callable[[Caller, Operation], Awaitable[None]]
    cursors: Cursors
    streams: Streams
    check_readiness: Callable[[], Awaitable[Sequence[Check]]]
    observe: Callable[[str, str, int, float], None]
    new_trace_id: Callable[[], TraceId]
    prefixes: ScopePrefixes
    addresses: Addresses
    hosts: frozenset[str]
    retry_after_seconds: int
    body_timeout_seconds: float = 10.0
    authorize_url: str | None = None
    token_url: str | None = None


Body_co = TypeVar("Body_co", covariant=True)


# Structs rather than dataclasses: one is made for every call, and a frozen dataclass costs ten times as much
# to make.
class Call(Struct, Generic[Body_co], frozen=True):
    """A call whose checks are all passed.

    `path` is the canonical one, with its trailing slash. `raw` is the body as it was sent and `body` what it says,
    None for an endpoint without a body. `ids` are the ids of the path, `query` its parameters. `client_address` is None
    where the server knows none. `listed_headers` are the headers one by one, for those that may come several times.
    `receive` tells when the caller leaves. `http` is what all endpoints share.
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
    http: HttpContext

    @property
    def caller(self) -> Caller:
        """Who calls. Asked by handlers of endpoints that need a permission; public ones have no caller."""
        if self.known_caller is None:
            raise LookupError(f"{self.method} {self.path} is public; its handler must not ask who calls.")
        return self.known_caller
