"""Shared by all endpoints: authentication, addresses, cursors, streams, metrics."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

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
