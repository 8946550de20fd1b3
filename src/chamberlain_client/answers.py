"""Answers: what they say, or which error they are. Pure: nothing is read from anywhere here."""

from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Generic, TypeVar

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
from chamberlain_client.models.faults import Fault
from chamberlain_client.models.model import Model, Versioned

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

# What is not JSON, or not what was expected; the last is nested deeper than anything of the API.
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Answer(Struct, frozen=True):
    """What came back. Names of headers are in lower case. `at` is when, in seconds since 1970."""

    status: int
    headers: Mapping[str, str]
    content: bytes
    at: float

    @property
    def replayed(self) -> bool:
        """Whether an earlier call with the same key had been answered so."""
        return self.headers.get("idempotency-replayed") == "true"

    @property
    def retry_after(self) -> float | None:
        """How many seconds the service asks one to wait; it may say so in seconds or as a date (RFC 9110, 10.2.3)."""
        said = self.headers.get("retry-after", "").strip()
        if said.isascii() and said.isdigit():
            return float(said[:9])
        until = _seconds_of(said)
        if until is None:
            return None
        # Both of the service's clock, where it tells the time: ours may go wrong.
        now = _seconds_of(self.headers.get("date", ""))
        return max(0.0, until - (self.at if now is None else now))


class Page(Struct, Generic[T], frozen=True):
    """Some of a list; `next_cursor` is None on the last page."""

    items: tuple[T, ...]
    next_cursor: str | None


class _Items(Model, frozen=True):
    items: tuple[Raw, ...]
    next_cursor: str | None


class _Problem(Model, frozen=True):
    code: str
    detail: str = ""
    trace_id: str | None = None
    errors: tuple[Fault, ...] = ()
    errors_truncated: bool = False
    conflicting_id: str | None = None
    limit: str | None = None


class _GraphError(Model, frozen=True):
    code: str
    message: str = ""


class _GraphProblem(Model, frozen=True):
    error: _GraphError


def decoded(answer: Answer, type_: type[T]) -> T:
    """What the answer says. Raises AnswerNotUnderstood."""
    return decoded_bytes(answer.content, type_, answer.status)


def decoded_bytes(content: bytes | Raw, type_: type[T], status: int = 200) -> T:
    """What these bytes of an answer say. Raises AnswerNotUnderstood."""
    try:
        return json.decode(content, type=type_)
    except _UNREADABLE as error:
        raise AnswerNotUnderstood(status, str(error).rstrip(".")) from error


def page_of(answer: Answer, decode: Callable[[Raw], T]) -> Page[T]:
    """The page that the answer is, whose items `decode` reads. Raises AnswerNotUnderstood."""
    found = decoded(answer, _Items)
    return Page(tuple(map(decode, found.items)), found.next_cursor)


def require_next(page: Page[T], answer: Answer, cursor: object) -> None:
    """Nothing, for a page that was read with this cursor and does not lead to itself, as it does in what was kept by
    something that overlooks queries. Raises AnswerNotUnderstood: such a list has no end."""
    if cursor is not None and page.next_cursor == cursor:
        raise AnswerNotUnderstood(answer.status, "the page behind it is the same one")


def items_of(type_: type[T]) -> Callable[[Raw], T]:
    """What reads an item of this type."""
    return lambda content: decoded_bytes(content, type_)


def versioned(found: V, answer: Answer) -> V:
    """What was found, with the version that the answer names."""
    return structs.replace(found, etag=answer.headers.get("etag"))


def refusal_of(answer: Answer) -> Refused | AnswerNotUnderstood | None:
    """The error that the answer is; None for one that is none."""
    if 200 <= answer.status < 300:
        return None
    if answer.status < 400:
        return AnswerNotUnderstood(answer.status, "it sends the call elsewhere")
    problem = _problem(answer)
    if problem is None:
        # What stands between here and the service refuses as it likes; overload is overload all the same.
        if answer.status not in {429, 503}:
            return AnswerNotUnderstood(answer.status, "it has no problem document")
        problem = _Problem("unknown", "There is no reason given.", answer.headers.get("request-id"))
    class_ = _CLASSES.get(answer.status, ServiceFault if answer.status >= 500 else Refused)
    return class_(
        status=answer.status,
        code=problem.code,
        detail=problem.detail,
        trace_id=problem.trace_id,
        faults=problem.errors,
        faults_are_truncated=problem.errors_truncated,
        conflicting_id=problem.conflicting_id,
        limit=problem.limit,
        retry_after=answer.retry_after,
    )


def _problem(answer: Answer) -> _Problem | None:
    try:
        return json.decode(answer.content, type=_Problem)
    except _UNREADABLE:
        pass
    try:
        error = json.decode(answer.content, type=_GraphProblem).error
    except _UNREADABLE:
        return None
    return _Problem(error.code, error.message, answer.headers.get("request-id"))


def _seconds_of(date: str) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
