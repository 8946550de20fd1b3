"""The context that all endpoints share, and the call that a handler gets."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar
from uuid import UUID

from msgspec import Struct
from starlette.types import Receive

from chamberlain.auth.models import Caller
from chamberlain.auth.permissions import Operation, ScopePrefixes
from chamberlain.core.ids import TraceId
from chamberlain.http.cursors import Cursors
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


@dataclass(frozen=True, slots=True)
class Addresses:
    """Base addresses without a trailing slash. Responses use them, never the Host header."""

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


# A struct, because making a frozen dataclass costs ten times as much, and each call makes one.
class Call(Struct, Generic[Body_co], frozen=True):
    """A validated call.

    `path` is canonical, with its trailing slash. `raw` is the body in bytes and `body` the parsed one, None for an
    endpoint without a body. `client_address` is None if the server knows none. `listed_headers` has repeated headers
    several times. `receive` reports that the client disconnects.
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
        """Return the caller of an endpoint that needs a permission. Public endpoints have none."""
        if self.known_caller is None:
            raise LookupError(f"{self.method} {self.path} is public and has no caller.")
        return self.known_caller
