# SPDX-License-Identifier: Apache-2.0
"""The call of a handler, read within limits of size and time."""

import asyncio
import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from itertools import chain
from typing import Any, Final, Generic, TypeVar
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
from chamberlain.core.time import read_day, read_time
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


def count_nothing(_caller: Caller, _operation: Operation) -> None:
    """Count no use of a permission."""


@dataclass(frozen=True, slots=True)
class HttpContext:
    """Shared by all endpoints of one process.

    `verify` authenticates an Authorization header; it raises Unauthenticated and Unavailable. `require_allowed` raises
    Forbidden if the caller may not perform the operation at all. `observe` records path template, method, status and
    seconds of one call. `count_use` counts an operation that a caller was allowed. `hosts` are the accepted values of
    the Host header, in lower case. `oauth_url` is the beginning of the identity platform's OAuth 2 endpoints, for the
    OpenAPI document; None if unknown. `sign_in_url` is the page to enter the code of a device, or None.
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
    count_use: Callable[[Caller, Operation], None] = count_nothing
    body_timeout_seconds: float = 10.0
    oauth_url: str | None = None
    sign_in_url: str | None = None


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
    """A parameter of the query or a header, with its schema.

    The handler refuses a call without a required one.
    """

    name: str
    schema: Mapping[str, object]
    description: str
    required: bool = False


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
            faults.append(Malformed.build("malformedId", "{parameter} in the path must be a UUID.", parameter=name))
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
        sentence = "A query may have at most {max} parameters."
        faults.append(Malformed.build("invalidParameter", sentence, max=_MOST_PARAMETERS))
        return {}
    names = Counter(name for name, _ in pairs)
    known = {parameter.name for parameter in parameters}
    if unknown := [name for name in names if name not in known]:
        sentence = "There is no query parameter {parameter} here."
        faults.append(Malformed.build("unknownParameter", sentence, parameter=_shown(unknown)))
    if repeated := [name for name in known if names[name] > 1]:
        sentence = "Give the query parameter {parameter} once only."
        faults.append(Malformed.build("invalidParameter", sentence, parameter=_shown(repeated)))
    query = dict(pairs)
    for parameter in parameters:
        if parameter.name in query and (fault := _unmet(query[parameter.name], parameter)):
            faults.append(fault)
    return query


def _unmet(text: str, parameter: Parameter) -> Malformed | None:
    """Validate the text of a parameter by its schema."""
    # Values of a JSON Schema have any type; the standard defines which.
    schema: Mapping[str, Any] = parameter.schema
    name, code = parameter.name, "invalidParameter"
    if schema["type"] == "boolean" and text not in {"true", "false"}:
        return Malformed.build(code, "The query parameter {parameter} must be true or false.", parameter=name)
    if schema["type"] == "integer":
        least, most = schema["minimum"], schema["maximum"]
        # A text with more digits than the maximum is out of range, and int() is slow for very long ones.
        is_within = _DIGITS.fullmatch(text) and len(text) <= len(str(most)) and least <= int(text) <= most
        sentence = "The query parameter {parameter} must be a whole number from {min} to {max}."
        return None if is_within else Malformed.build(code, sentence, parameter=name, min=least, max=most)
    if schema.get("format") == "uuid" and not WRITTEN_ID.fullmatch(text):
        return Malformed.build(code, "The query parameter {parameter} must be a UUID.", parameter=name)
    if schema.get("format") == "date" and not read_day(text):
        return Malformed.build(
            code, "The query parameter {parameter} must be a day, such as 2026-11-20.", parameter=name
        )
    if schema.get("format") == "date-time" and not read_time(text):
        sentence = "The query parameter {parameter} must be a time with its zone, such as 2026-11-20T09:30:00.000Z."
        return Malformed.build(code, sentence, parameter=name)
    if "maxLength" in schema:
        return _line_fault(text, name, schema["minLength"], schema["maxLength"])
    if "enum" in schema and text not in schema["enum"]:
        choices = tuple(map(str, schema["enum"]))
        return Malformed.build(
            code, "The query parameter {parameter} must be one of {choices}.", parameter=name, choices=choices
        )
    return None


def _line_fault(text: str, name: str, least: int, most: int) -> Malformed | None:
    """Validate a parameter of one line."""
    if _LINE.fullmatch(text) and least <= len(text) <= most:
        return None
    if least == most:
        sentence = "The query parameter {parameter} must have {max} characters, and no control characters."
        return Malformed.build("invalidParameter", sentence, parameter=name, max=most)
    sentence = "The query parameter {parameter} must have {min} to {max} characters, and no control characters."
    return Malformed.build("invalidParameter", sentence, parameter=name, min=least, max=most)


def _shown(names: Sequence[str]) -> str:
    """Show a few names, in printable ASCII."""
    return ", ".join(re.sub(r"[^ -~]", "?", name[:64]) for name in names[:5])


# The limit in docs/reference/api.md: a group with 10,000 members fits.
LIMIT = 512 * 1024


JSON: Final = b"application/json"
# RFC 9512.
YAML: Final = b"application/yaml"


def media_type_of(headers: Mapping[bytes, bytes]) -> bytes:
    """Return the media type of the body without parameters."""
    return headers.get(b"content-type", b"").split(b";", 1)[0].strip().lower()


async def receive_body(
    scope: Scope,
    receive: Receive,
    headers: Mapping[bytes, bytes],
    seconds: float,
    *,
    accepted: Collection[bytes] = (JSON,),
) -> bytes:
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
        _check_content_type(headers, accepted)
    # RFC 8259, 8.1: a parser may ignore a byte order mark.
    return body.removeprefix(BOM_UTF8)


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


def _check_content_type(headers: Mapping[bytes, bytes], accepted: Collection[bytes]) -> None:
    content_type = headers.get(b"content-type", b"")
    if content_type not in accepted and not (media_type_of(headers) in accepted and _is_utf8(content_type)):
        raise ContentNotJson(accepted)
    if headers.get(b"content-encoding", b"identity").strip().lower() != b"identity":
        raise ContentNotJson(accepted)


def _is_utf8(content_type: bytes) -> bool:
    """Return whether a content type has no `charset` other than UTF-8."""
    pairs = [parameter.partition(b"=")[::2] for parameter in content_type.lower().split(b";")[1:]]
    charsets = [value.strip().strip(b'"') for name, value in pairs if name.strip() == b"charset"]
    return all(charset in _UTF_8 for charset in charsets)


_UTF_8 = frozenset({b"utf-8", b"utf8"})
_IDEMPOTENCY_KEY = re.compile(rb"[!-~]{1,255}")


def check_idempotency_key(headers: Iterable[tuple[bytes, bytes]], faults: FormFaults) -> None:
    """Validate the idempotency key.

    At most one is allowed, of 1 to 255 visible ASCII characters.
    """
    keys = [value for name, value in headers if name == b"idempotency-key"]
    if len(keys) > 1 or not all(map(_IDEMPOTENCY_KEY.fullmatch, keys)):
        sentence = "Send one {parameter}, of {min} to {max} visible ASCII characters without spaces."
        faults.append(Malformed.build("invalidParameter", sentence, parameter="Idempotency-Key", min=1, max=255))


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
        yield Fault("", fault.code, fault.detail, fault.values)


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
    if media_type_of(call.headers) == YAML:
        digest = _digest_of_bytes(call.method, call.path, call.query, call.raw)
    else:
        digest = digest_of(call.method, call.path, call.query, call.raw)
    return IdempotencyKey(key.decode("ascii"), digest)


def digest_of(method: str, path: str, query: Mapping[str, str], raw: bytes) -> bytes:
    """Compute the digest of a request.

    It ignores the order of members and parameters, white space, escapes, and the difference between 2 and 2.0.
    """
    return _digest_of_bytes(method, path, query, json.encode(parse_with_whole_numbers(raw), order="sorted"))


def _digest_of_bytes(method: str, path: str, query: Mapping[str, str], body: bytes) -> bytes:
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
