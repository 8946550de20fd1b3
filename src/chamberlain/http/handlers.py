"""Declare endpoints: table rows, calls, and the context of handlers."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar
from uuid import UUID

from msgspec import Struct
from starlette.types import Receive

from chamberlain.auth.models import Caller
from chamberlain.auth.permissions import Operation, ScopePrefixes
from chamberlain.core.ids import TraceId
from chamberlain.core.validation import Reader
from chamberlain.http.cursors import Cursors
from chamberlain.http.responses import Answer, Stream, Streams


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
    """Base addresses without a trailing slash.

    Responses use them, never the Host header.
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
        """Return the caller of an endpoint with a permission.

        Public endpoints have none.
        """
        if self.known_caller is None:
            raise LookupError(f"{self.method} {self.path} is public and has no caller.")
        return self.known_caller


Service = TypeVar("Service")
Body = TypeVar("Body")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the query or a header, with its schema."""

    name: str
    schema: Mapping[str, object]
    description: str


@dataclass(frozen=True, slots=True)
class Success:
    """A successful response of an endpoint.

    `headers` maps names to descriptions. `content` is the type of the body, several alternatives, or None. A stream of
    server-sent events has the type of the data of each event in `events`, and the type of a line of JSON in `lines`.
    """

    status: int
    description: str
    content: type[Struct] | tuple[type[Struct], ...] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    example: Mapping[str, object] | None = None
    links: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    events: Mapping[str, type[Struct]] = field(default_factory=dict)
    lines: type[Struct] | None = None

    @property
    def contents(self) -> tuple[type[Struct], ...]:
        """Return the types of the body."""
        if self.content is None:
            return ()
        return self.content if isinstance(self.content, tuple) else (self.content,)


@dataclass(frozen=True, slots=True)
class About:
    """The description of an endpoint in the OpenAPI document.

    `example` is one of the request body.
    """

    id: str
    tag: str
    summary: str
    description: str = ""
    example: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Endpoint(Generic[Service, Body]):
    """A method and a path, with permission, body and responses.

    The handler gets the service of its noun. `operation` None means that no token is needed. `shape` None means no
    body; a missing optional body counts as `{}`. All path parameters are ids. `headers` are those that only this
    endpoint reads. `codes` are the errors of the service; the pipeline's errors follow from the rest of the row.
    """

    method: str
    path: str
    handler: Callable[[Service, Call[Body]], Awaitable[Answer | Stream]]
    operation: Operation | None
    about: About
    answers: tuple[Success, ...]
    shape: Reader[Body] | None = None
    parameters: tuple[Parameter, ...] = ()
    headers: tuple[Parameter, ...] = ()
    codes: tuple[str, ...] = ()
    body_is_optional: bool = False


# Rows differ in service and body. The type checker checks each row.
AnyEndpoint = Endpoint[Any, Any]


@dataclass(frozen=True, slots=True)
class EndpointTable(Generic[Service]):
    """The endpoints of one noun, and the class of their service."""

    service: type[Service]
    endpoints: tuple[Endpoint[Service, Any], ...]

    def serve(self, services: Sequence[object]) -> Sequence["ServedEndpoint"]:
        """Join the endpoints with the instance of their service.

        Raises LookupError if there is none.
        """
        for each in services:
            if isinstance(each, self.service):
                return [ServedEndpoint(endpoint, each) for endpoint in self.endpoints]
        raise LookupError(f"No {self.service.__name__} for {self.endpoints[0].path}.")


class ServedEndpoint(NamedTuple):
    """An endpoint with the service that its handler calls."""

    endpoint: AnyEndpoint
    service: object
