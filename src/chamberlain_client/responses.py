# SPDX-License-Identifier: Apache-2.0
"""Responses: decode them, or convert them to errors. Pure."""

from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Generic, Literal, TypeVar

import msgspec
from msgspec import Raw, Struct, json, structs

from chamberlain_client.errors import (
    AnswerNotUnderstood,
    BodyTooLarge,
    Conflict,
    Forbidden,
    HostUnknown,
    LimitReached,
    Malformed,
    NotFound,
    NotPossible,
    Refused,
    ServiceFault,
    Stale,
    Unauthenticated,
    Unavailable,
)
from chamberlain_client.models import CollabTemplate, Fault, GroupTemplate, GuestTemplate, TemplateKind
from chamberlain_client.wire import Model, Versioned

T = TypeVar("T")
V = TypeVar("V", bound=Versioned)

_CLASSES: Mapping[int, type[Refused]] = {
    400: Malformed,
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    412: Stale,
    413: BodyTooLarge,
    421: HostUnknown,
    422: NotPossible,
    429: LimitReached,
    503: Unavailable,
}

# The codes of SCIM errors that have no scimType.
_SCIM_CODES: Mapping[int, str] = {401: "tokenInvalid", 403: "insufficientScope", 404: "notFound"}

# No JSON, or JSON of another shape. A body that is nested too deeply raises the last one.
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Response(Struct, frozen=True):
    """One response, whole.

    Names of headers are in lower case. `at` is the time of receipt, in seconds since 1970.
    """

    status: int
    headers: Mapping[str, str]
    content: bytes
    at: float

    @property
    def replayed(self) -> bool:
        """Whether an earlier call with the idempotency key got this response."""
        return self.headers.get("idempotency-replayed") == "true"

    @property
    def retry_after(self) -> float | None:
        """The seconds of Retry-After, which may be a date (RFC 9110, 10.2.3)."""
        value = self.headers.get("retry-after", "").strip()
        if value.isascii() and value.isdigit():
            return float(value[:9])
        until = _parse_date(value)
        if until is None:
            return None
        # Compare with the clock of the service if the response has it: the local clock may be wrong.
        now = _parse_date(self.headers.get("date", ""))
        return max(0.0, until - (self.at if now is None else now))


class Page(Struct, Generic[T], frozen=True):
    """One page of a list; `next_cursor` is None on the last page."""

    items: tuple[T, ...]
    next_cursor: str | None


class _Items(Model, frozen=True):
    items: tuple[Raw, ...]
    next_cursor: str | None


class _Kind(Model, frozen=True):
    kind: TemplateKind


class _Problem(Model, frozen=True):
    code: str
    detail: str = ""
    trace_id: str | None = None
    errors: tuple[Fault, ...] = ()
    errors_truncated: bool = False
    conflicting_id: str | None = None
    limit: str | None = None
    values: Mapping[str, int | str | tuple[str, ...]] | None = None


class _GraphError(Model, frozen=True):
    code: str
    message: str = ""


class _GraphProblem(Model, frozen=True):
    error: _GraphError


class _ScimProblem(Model, frozen=True):
    """An error of SCIM (RFC 7644, 3.12)."""

    schemas: tuple[Literal["urn:ietf:params:scim:api:messages:2.0:Error"], ...]
    detail: str = ""
    scim_type: str | None = None


def decode(response: Response, type_: type[T]) -> T:
    """Decode the body of a response. Raises AnswerNotUnderstood."""
    return decode_bytes(response.content, type_, response.status)


def decode_bytes(content: bytes | Raw, type_: type[T], status: int = 200) -> T:
    """Decode JSON of a response. Raises AnswerNotUnderstood."""
    try:
        return json.decode(content, type=type_)
    except _UNREADABLE as error:
        raise AnswerNotUnderstood(status, str(error).rstrip(".")) from error


def decode_collab_template(content: bytes | Raw) -> CollabTemplate:
    """Decode a template by its kind. Raises AnswerNotUnderstood."""
    if decode_bytes(content, _Kind).kind is TemplateKind.GUEST:
        return decode_bytes(content, GuestTemplate)
    return decode_bytes(content, GroupTemplate)


def item_decoder(type_: type[T]) -> Callable[[Raw], T]:
    """Create a decoder for the items of a list."""
    return lambda content: decode_bytes(content, type_)


def decode_page(response: Response, decode_item: Callable[[Raw], T], cursor: object = None) -> Page[T]:
    """Decode one page of a list, which was read with `cursor`.

    Raises AnswerNotUnderstood, also for a page that leads to itself: a cache that ignores the query would make the list
    endless.
    """
    found = decode(response, _Items)
    if cursor is not None and found.next_cursor == cursor:
        raise AnswerNotUnderstood(response.status, "the page behind it is the same one")
    return Page(tuple(map(decode_item, found.items)), found.next_cursor)


def with_etag(resource: V, response: Response) -> V:
    """Add the version that the response names."""
    return structs.replace(resource, etag=response.headers.get("etag"))


def refusal_of(response: Response) -> Refused | AnswerNotUnderstood | None:
    """Convert a response to an error; None for a success."""
    if 200 <= response.status < 300:
        return None
    if response.status < 400:
        return AnswerNotUnderstood(response.status, "it sends the call elsewhere")
    problem = _decode_problem(response)
    if problem is None:
        # A proxy has its own error pages, but reports overload by the same status.
        if response.status not in {429, 503}:
            return AnswerNotUnderstood(response.status, "it has no problem document")
        problem = _Problem("unknown", "There is no reason given.", response.headers.get("request-id"))
    class_ = _CLASSES.get(response.status, ServiceFault if response.status >= 500 else Refused)
    return class_(
        status=response.status,
        code=problem.code,
        detail=problem.detail,
        trace_id=problem.trace_id,
        faults=problem.errors,
        faults_are_truncated=problem.errors_truncated,
        conflicting_id=problem.conflicting_id,
        limit=problem.limit,
        retry_after=response.retry_after,
        values=problem.values,
    )


def _decode_problem(response: Response) -> _Problem | None:
    try:
        return json.decode(response.content, type=_Problem)
    except _UNREADABLE:
        pass
    trace_id = response.headers.get("request-id")
    try:
        error = json.decode(response.content, type=_GraphProblem).error
    except _UNREADABLE:
        pass
    else:
        return _Problem(error.code, error.message, trace_id)
    try:
        refused = json.decode(response.content, type=_ScimProblem)
    except _UNREADABLE:
        return None
    return _Problem(refused.scim_type or _SCIM_CODES.get(response.status, "unknown"), refused.detail, trace_id)


def _parse_date(date: str) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
