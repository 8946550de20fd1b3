"""The call of a handler, read within limits of size and time."""

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from itertools import chain
from typing import Any, Generic, TypeVar
from urllib.parse import parse_qsl, urlencode
from uuid import UUID

from msgspec import Struct, json
from starlette.types import Receive, Scope

from chamberlain.auth.models import Caller
from chamberlain.auth.permissions import Operation, ScopePrefixes
from chamberlain.core.errors import BodyInvalid, Fault, Malformed
from chamberlain.core.fields import Description, Shape
from chamberlain.core.idempotency import Act, IdempotencyKey, Submission
from chamberlain.core.ids import WRITTEN_ID, TraceId
from chamberlain.core.json import parse_with_whole_numbers
from chamberlain.core.time import read_time
from chamberlain.core.validation import Reader
from chamberlain.fastpath.buffered_response import buffered_call
from chamberlain.http.cursors import Cursors
from chamberlain.http.problems import BodyTooLarge, BodyTooSlow, ContentNotJson
from chamberlain.http.responses import CallerGone, Streams


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


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the query or a header, with its schema."""

    name: str
    schema: Mapping[str, object]
    description: str


# W3C Trace Context, version 00, and later versions with the same beginning. Version ff and ids of zeros are invalid.
_TRACEPARENT = re.compile(
    rb"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?", re.ASCII
)
# Long enough for the ids of all known clients; limited because it is sent back.
_CLIENT_REQUEST_ID = re.compile(rb"[!-~]{1,128}")


def trace_id_of(headers: Mapping[bytes, bytes], new_trace_id: Callable[[], TraceId]) -> TraceId:
    """Return the trace id of `traceparent`, or a new one.

    It is the `request-id` as well.
    """
    traceparent = headers.get(b"traceparent")
    if traceparent is not None:
        match = _TRACEPARENT.fullmatch(traceparent)
        if match is not None:
            return TraceId(match[1].decode("ascii"))
    return new_trace_id()


def echoes(headers: Mapping[bytes, bytes], trace_id: TraceId) -> list[tuple[bytes, bytes]]:
    """Return request-id, and client-request-id if it is valid.

    Every response has these headers.
    """
    found = [(b"request-id", trace_id.encode("ascii"))]
    client_request_id = headers.get(b"client-request-id")
    if client_request_id is not None and _CLIENT_REQUEST_ID.fullmatch(client_request_id):
        found.append((b"client-request-id", client_request_id))
    return found


FormFaults = list[Malformed | BodyInvalid]
# No endpoint has more than a few. A query of the maximum length could have 30,000, and parsing those takes 20 ms.
_MOST_PARAMETERS = 100
_DIGITS = re.compile("[0-9]+")
_LINE = re.compile(r"[^\u0000-\u001f\u007f-\u009f]*")


def read_ids(texts: Mapping[str, str], faults: FormFaults) -> dict[str, UUID]:
    """Validate the ids of a path.

    They are hyphenated UUIDs in upper or lower case.
    """
    ids: dict[str, UUID] = {}
    for name, text in texts.items():
        if WRITTEN_ID.fullmatch(text):
            ids[name] = UUID(text)
        else:
            faults.append(Malformed("malformedId", f"{name} in the path must be a UUID."))
    return ids


def read_query(query_string: bytes, parameters: Sequence[Parameter], faults: FormFaults) -> dict[str, str]:
    """Validate the parameters of a query.

    An unknown or repeated parameter is a fault.
    """
    if not query_string:
        return {}
    try:
        pairs = parse_qsl(query_string.decode("latin-1"), keep_blank_values=True, max_num_fields=_MOST_PARAMETERS)
    except ValueError:
        detail = f"A query may have at most {_MOST_PARAMETERS} parameters."
        faults.append(Malformed("invalidParameter", detail))
        return {}
    names = Counter(name for name, _ in pairs)
    known = {parameter.name for parameter in parameters}
    if unknown := [name for name in names if name not in known]:
        faults.append(Malformed("unknownParameter", f"There is no query parameter {_shown(unknown)} here."))
    if repeated := [name for name in known if names[name] > 1]:
        faults.append(Malformed("invalidParameter", f"Give the query parameter {_shown(repeated)} once only."))
    query = dict(pairs)
    for parameter in parameters:
        if parameter.name in query and (expected := _unmet(query[parameter.name], parameter.schema)):
            faults.append(Malformed("invalidParameter", f"The query parameter {parameter.name} must be {expected}."))
    return query


# Values of a JSON Schema have any type; the standard defines which.
def _unmet(text: str, schema: Mapping[str, Any]) -> str | None:
    """Describe the expected value of an invalid text.

    Returns None if the text matches the schema.
    """
    if schema["type"] == "boolean":
        return None if text in {"true", "false"} else "true or false"
    if schema["type"] == "integer":
        least, most = schema["minimum"], schema["maximum"]
        # A text with more digits than the maximum is out of range, and int() is slow for very long ones.
        is_within = _DIGITS.fullmatch(text) and len(text) <= len(str(most)) and least <= int(text) <= most
        return None if is_within else f"a whole number from {least} to {most}"
    if schema.get("format") == "uuid":
        return None if WRITTEN_ID.fullmatch(text) else "a UUID"
    if schema.get("format") == "date-time":
        return None if read_time(text) else "a time with its zone, such as 2026-11-20T09:30:00.000Z"
    if "maxLength" in schema:
        is_line = _LINE.fullmatch(text) and schema["minLength"] <= len(text) <= schema["maxLength"]
        return None if is_line else f"{schema['minLength']} to {schema['maxLength']} characters, none for control"
    if "enum" in schema:
        return None if text in schema["enum"] else f"one of {', '.join(schema['enum'])}"
    return None


def _shown(names: Sequence[str]) -> str:
    """Show a few names, in printable ASCII."""
    return ", ".join(re.sub(r"[^ -~]", "?", name[:64]) for name in names[:5])


# The limit in docs/reference/api.md: a group with 10,000 members fits.
LIMIT = 512 * 1024


async def receive_body(scope: Scope, receive: Receive, headers: Mapping[bytes, bytes], seconds: float) -> bytes:
    """Return the whole body.

    Raises BodyTooLarge as soon as that is known, BodyTooSlow, ContentNotJson and CallerGone.
    """
    announced = headers.get(b"content-length")
    if announced is not None and announced.isdigit() and int(announced) > LIMIT:
        raise BodyTooLarge(LIMIT)
    call = buffered_call(scope)
    body = None if call is None else call.body()
    if body is None:
        try:
            async with asyncio.timeout(seconds):
                body = await _receive_all(receive)
        except TimeoutError as error:
            raise BodyTooSlow(seconds) from error
    elif len(body) > LIMIT:
        raise BodyTooLarge(LIMIT)
    if body:
        _check_content_type(headers)
    return body


async def _receive_all(receive: Receive) -> bytes:
    message = await receive()
    chunks: list[bytes] = []
    size = 0
    while message["type"] == "http.request":
        chunk: bytes = message.get("body", b"")
        size += len(chunk)
        if size > LIMIT:
            raise BodyTooLarge(LIMIT)
        chunks.append(chunk)
        if not message.get("more_body", False):
            return b"".join(chunks)
        message = await receive()
    raise CallerGone


def _check_content_type(headers: Mapping[bytes, bytes]) -> None:
    content_type = headers.get(b"content-type", b"")
    if content_type != b"application/json" and content_type.split(b";", 1)[0].strip().lower() != b"application/json":
        raise ContentNotJson
    if headers.get(b"content-encoding", b"identity").strip().lower() != b"identity":
        raise ContentNotJson


_IDEMPOTENCY_KEY = re.compile(rb"[!-~]{1,255}")


def check_idempotency_key(headers: Iterable[tuple[bytes, bytes]], faults: FormFaults) -> None:
    """Validate the idempotency key.

    At most one is allowed, of 1 to 255 visible ASCII characters.
    """
    keys = [value for name, value in headers if name == b"idempotency-key"]
    if len(keys) > 1 or not all(map(_IDEMPOTENCY_KEY.fullmatch, keys)):
        detail = "Send one Idempotency-Key, of 1 to 255 visible ASCII characters without spaces."
        faults.append(Malformed("invalidParameter", detail))


def together(faults: Sequence[Malformed | BodyInvalid]) -> Malformed | BodyInvalid:
    """Combine faults in one refusal.

    If the body has faults, those of path, query and headers come first in the same list, with an empty pointer.
    """
    if len(faults) == 1:
        return faults[0]
    if any(isinstance(fault, BodyInvalid) for fault in faults):
        are_truncated = any(isinstance(fault, BodyInvalid) and fault.are_truncated for fault in faults)
        return BodyInvalid(chain.from_iterable(map(_listed, faults)), are_truncated=are_truncated)
    return Malformed(faults[0].code, " ".join(fault.detail for fault in faults))


def _listed(fault: Malformed | BodyInvalid) -> Iterator[Fault]:
    if isinstance(fault, BodyInvalid):
        yield from fault.faults
    else:
        yield Fault("", fault.code, fault.detail)


class ActionBody(Shape, frozen=True, kw_only=True):
    """A comment, which is kept on the audit trail."""

    comment: Description | None = None


ACTION = Reader(ActionBody)


def submission_of(call: Call[object]) -> Submission:
    """Return the submission of a call that creates a request."""
    return Submission(call.raw, _idempotency_of(call), call.trace_id, call.client_address)


def act_of(call: Call[ActionBody]) -> Act:
    """Return the act of a call with an optional comment."""
    return Act(call.body.comment, _idempotency_of(call), call.trace_id, call.client_address)


def creating_act_of(call: Call[object]) -> Act:
    """Return the act of a call that creates a resource.

    It has no comment.
    """
    return Act(None, _idempotency_of(call), call.trace_id, call.client_address)


def _idempotency_of(call: Call[object]) -> IdempotencyKey | None:
    key = call.headers.get(b"idempotency-key")
    if key is None:
        return None
    return IdempotencyKey(key.decode("ascii"), digest_of(call.method, call.path, call.query, call.raw))


def digest_of(method: str, path: str, query: Mapping[str, str], raw: bytes) -> bytes:
    """Compute the digest of a request.

    It ignores the order of members and parameters, white space, escapes, and the difference between 2 and 2.0.
    """
    body = json.encode(parse_with_whole_numbers(raw), order="sorted")
    head = f"{method}\n{path}\n{urlencode(sorted(query.items()))}\n"
    return sha256(head.encode("ascii") + body).digest()


LONGEST_WAIT = timedelta(seconds=30)
# An open quotation mark extends to the end of the header.
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"?')
_ESCAPED = re.compile(r"\\(.)")
_SECONDS = re.compile(r"[0-9]+")


def wait_of(headers: Iterable[tuple[bytes, bytes]]) -> timedelta | None:
    """Read `Prefer: wait` (RFC 7240), at most LONGEST_WAIT.

    Returns None if the client does not want to wait.
    """
    # Several headers are one list, and the first of repeated preferences counts (RFC 7240, 2).
    sent = ",".join(value.decode("latin-1") for name, value in headers if name == b"prefer")
    waits = [value for name, value in map(_preference, _QUOTED.sub(_bare, sent).split(",")) if name == "wait"]
    if not waits or not _SECONDS.fullmatch(waits[0]):
        return None
    seconds = min(int(waits[0][:9]), LONGEST_WAIT // timedelta(seconds=1))
    return timedelta(seconds=seconds) if seconds else None


def _bare(quoted: re.Match[str]) -> str:
    """Unquote a number.

    Other quoted text is dropped, because it may contain separators.
    """
    inner = _ESCAPED.sub(r"\1", quoted[0][1:-1])
    return inner if quoted[0].endswith('"') and _SECONDS.fullmatch(inner) else '""'


def _preference(text: str) -> tuple[str, str]:
    name, _, value = text.partition(";")[0].partition("=")
    return name.strip().lower(), value.strip()
