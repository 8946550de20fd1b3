# SPDX-License-Identifier: Apache-2.0
"""Problem documents (RFC 9457), and the HTTP status of each error."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from math import ceil
from types import MappingProxyType
from typing import Annotated
from urllib.parse import quote

from msgspec import UNSET, Meta, Struct, UnsetType, json

from chamberlain.core.errors import (
    MOST_FAULTS,
    BodyInvalid,
    Conflict,
    Forbidden,
    KeyReused,
    LimitReached,
    Malformed,
    NotFound,
    NotPossible,
    Refusal,
    Stale,
    Unauthenticated,
    Unavailable,
)
from chamberlain.core.ids import TraceId
from chamberlain.core.sentences import Values, phrase
from chamberlain.http.responses import Answer, Headers
from chamberlain.http.wire import Fault, encode_fault


class HostUnknown(Refusal):
    """The Host header names another server."""

    def __init__(self) -> None:
        super().__init__(
            "hostUnknown", "This server does not serve that host. Check the address, or the base address settings."
        )


class MethodNotAllowed(Refusal):
    """The path exists, but not with this method."""

    def __init__(self, allow: bytes) -> None:
        super().__init__("methodNotAllowed", f"This resource supports {allow.decode('ascii')} only.")
        self.allow = allow


class HeadAmbiguous(Malformed):
    """A head that a proxy and this service could understand differently."""

    def __init__(self, detail: str) -> None:
        super().__init__("ambiguousHead", detail)


class BodyTooLarge(Refusal):
    """The body exceeds its size limit."""

    def __init__(self, limit: int) -> None:
        self.values = {"max": limit // 1024, "unit": "KiB"}
        super().__init__("bodyTooLarge", phrase("A body may have at most {max} {unit}.", self.values))


class HeadTooLarge(Refusal):
    """The head exceeds its size limit."""

    def __init__(self, limit: int) -> None:
        self.values = {"max": limit // 1024, "unit": "KiB"}
        sentence = "The request line and the headers may have at most {max} {unit} together."
        super().__init__("headTooLarge", phrase(sentence, self.values))


class BodyTooSlow(Malformed):
    """The body did not arrive in time.

    The connection is closed, as for any incomplete body.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__("notJson", f"The body did not arrive within {seconds:g} seconds. Send the request again.")


class ContentNotJson(Refusal):
    """The endpoint does not accept the content type of the body."""

    def __init__(self, accepted: Collection[bytes]) -> None:
        types = " or ".join(each.decode("ascii") for each in accepted)
        what = "JSON or YAML" if len(accepted) > 1 else "JSON"
        super().__init__(
            "notJsonContent", f"Send the body as {what} in UTF-8, uncompressed, with Content-Type: {types}."
        )


@dataclass(frozen=True, slots=True)
class Kind:
    """The status of a refusal class, and the titles of its codes."""

    status: int
    titles: Mapping[str, str]


KINDS: Mapping[type[Refusal], Kind] = MappingProxyType(
    {
        Malformed: Kind(
            400,
            {
                "notJson": "The body is not JSON.",
                "notYaml": "The body is not YAML.",
                "notAnObject": "The body is not a JSON object.",
                "unknownParameter": "The query parameter is unknown.",
                "invalidParameter": "A parameter has an invalid value.",
                "invalidCursor": "The cursor does not belong to this list.",
                "malformedId": "An id is not a UUID.",
                "ambiguousHead": "The head of the request is ambiguous.",
            },
        ),
        BodyInvalid: Kind(400, {"invalidBody": "The body is invalid."}),
        Unauthenticated: Kind(
            401,
            {
                "tokenMissing": "A bearer token is required.",
                "tokenInvalid": "The token is not valid.",
                "tokenExpired": "The token has expired.",
                "audienceUnknown": "The token was issued for another audience.",
            },
        ),
        Forbidden: Kind(
            403,
            {
                "insufficientScope": "The token lacks the permission.",
                "applicationNotSupported": "Applications cannot perform this operation.",
                "notAdministrator": "The operation requires an administrator of the tenant.",
                "notApprover": "The caller is not an approver of the request.",
                "selfApproval": "Callers cannot decide on their own requests.",
                "teamLicenseRequired": "A team requires a license.",
                "templateNotAllowed": "The caller may not use the template.",
            },
        ),
        NotFound: Kind(404, {"notFound": "The resource does not exist."}),
        MethodNotAllowed: Kind(405, {"methodNotAllowed": "The resource does not support this method."}),
        Conflict: Kind(
            409,
            {
                "nameTaken": "The name is taken.",
                "addressTaken": "The address is taken.",
                "stateDoesNotAllow": "The state does not allow this action.",
                "inUse": "The resource is in use.",
                "previewChanged": "The preview is out of date.",
                "idempotencyKeyInProgress": "The first request with this key is still in progress.",
            },
        ),
        Stale: Kind(412, {"etagStale": "The resource has changed since you read it."}),
        BodyTooLarge: Kind(413, {"bodyTooLarge": "The body is too large."}),
        ContentNotJson: Kind(415, {"notJsonContent": "The content type is not JSON."}),
        HostUnknown: Kind(421, {"hostUnknown": "The host is unknown."}),
        NotPossible: Kind(422, {"notPossible": "The request is valid but cannot be fulfilled."}),
        KeyReused: Kind(422, {"idempotencyKeyReused": "The idempotency key belongs to another request."}),
        LimitReached: Kind(
            429,
            {
                "rateExceeded": "The rate limit is exceeded.",
                "quotaExceeded": "The quota is exceeded.",
            },
        ),
        HeadTooLarge: Kind(431, {"headTooLarge": "The head of the request is too large."}),
        Unavailable: Kind(
            503,
            {
                "databaseUnavailable": "The database is unavailable.",
                "issuerUnavailable": "The issuer of the token is unavailable.",
                "overloaded": "The service is overloaded.",
            },
        ),
    }
)

# The code of unexpected errors. No refusal has it.
BUG = "internalError"

# All codes of problem documents, in the order of their status.
STATUSES: Mapping[str, int] = MappingProxyType(
    {code: kind.status for kind in KINDS.values() for code in kind.titles} | {BUG: 500}
)
TITLES: Mapping[str, str] = MappingProxyType(
    {code: title for kind in KINDS.values() for code, title in kind.titles.items()}
    | {BUG: "An internal error occurred."}
)
_CONTENT_TYPE = b"application/problem+json"
_TRUNCATED = f"True if there are more faults than the first {MOST_FAULTS}, which `errors` lists. Otherwise omitted."
_VALUES = "The numbers and words of `detail` by name. The error reference lists the names of each code."


class Problem(Struct, omit_defaults=True, rename="camel"):
    """A problem document."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    instance: str
    trace_id: str
    errors: tuple[Fault, ...] | UnsetType = UNSET
    errors_truncated: Annotated[bool, Meta(description=_TRUNCATED)] | UnsetType = UNSET
    conflicting_id: str | UnsetType = UNSET
    limit: str | UnsetType = UNSET
    values: Annotated[Values, Meta(description=_VALUES)] | UnsetType = UNSET


def problem_of(refusal: Refusal, path: str, trace_id: TraceId) -> Answer:
    """Return the response to a refused call."""
    kind = kind_of(type(refusal))
    problem = Problem(
        type=f"/problems/{refusal.code}",
        title=kind.titles[refusal.code],
        status=kind.status,
        code=refusal.code,
        detail=refusal.detail,
        instance=_reference(path),
        trace_id=trace_id,
    )
    if refusal.values:
        problem.values = refusal.values
    match refusal:
        case BodyInvalid() | NotPossible():
            problem.errors = tuple(map(encode_fault, refusal.faults))
            if refusal.are_truncated:
                problem.errors_truncated = True
        case Conflict(conflicting_id=conflicting_id, faults=faults):
            problem.errors = tuple(map(encode_fault, faults)) or UNSET
            problem.conflicting_id = conflicting_id or UNSET
        case LimitReached(limit=limit):
            problem.limit = limit
        case _:
            pass  # The others have no further members.
    return Answer(kind.status, json.encode(problem), _headers(refusal), _CONTENT_TYPE)


def problem_of_bug(path: str, trace_id: TraceId) -> Answer:
    """Return the response to an unexpected error.

    The log has the error under the same trace id.
    """
    detail = "The log has the error under this traceId. Retry the request, and report the traceId if it fails again."
    problem = Problem(f"/problems/{BUG}", TITLES[BUG], 500, BUG, detail, _reference(path), trace_id)
    return Answer(500, json.encode(problem), (), _CONTENT_TYPE)


def kind_of(refusal: type[Refusal]) -> Kind:
    """Return the kind of a class of refusals.

    A class without a kind has that of its parent.
    """
    return next(KINDS[ancestor] for ancestor in refusal.__mro__ if ancestor in KINDS)


def _reference(path: str) -> str:
    """Encode a path as a URI reference.

    A client may send an invalid one.
    """
    return quote(path, safe="/:@!$&'()*+,;=~")


def _headers(refusal: Refusal) -> Headers:
    match refusal:
        case Unauthenticated():
            return ((b"www-authenticate", _challenge(refusal)),)
        case Forbidden(sufficient=sufficient) if sufficient:
            scope = " ".join(sufficient)
            return (
                (b"www-authenticate", f'Bearer error="insufficient_scope", scope="{scope}"'.encode("ascii", "replace")),
            )
        case MethodNotAllowed(allow=allow):
            return ((b"allow", allow),)
        case HeadTooLarge() | BodyTooLarge() | BodyTooSlow():
            # The rest of the data need not be read.
            return ((b"connection", b"close"),)
        case _:
            seconds = retry_after(refusal)
            return () if seconds is None else ((b"retry-after", b"%d" % seconds),)


def retry_after(refusal: Refusal) -> int | None:
    """Return the seconds until a retry can succeed, or None."""
    match refusal:
        case LimitReached(after=after) | Unavailable(after=after) | Conflict(after=timedelta() as after):
            return max(1, ceil(after.total_seconds()))
        case _:
            return None


def _challenge(refusal: Unauthenticated) -> bytes:
    """Return the challenge of RFC 6750.

    It has no error if no token was sent.
    """
    if refusal.code == "tokenMissing":
        return b"Bearer"
    description = re.sub(r"[^ !#-\[\]-~]", "", refusal.detail)
    return f'Bearer error="invalid_token", error_description="{description}"'.encode("ascii")
