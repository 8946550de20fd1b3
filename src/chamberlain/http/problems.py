"""Problem documents (RFC 9457): the one place that knows which HTTP status belongs to which error."""

import re
from collections.abc import Mapping
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
    Fault,
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
from chamberlain.http.calls import Answer, Headers


class HostUnknown(Refusal):
    """The call was meant for another server."""

    def __init__(self) -> None:
        super().__init__(
            "hostUnknown", "This server does not answer for that host. Check the address, or the base address settings."
        )


class MethodNotAllowed(Refusal):
    """The path exists, but not with this method."""

    def __init__(self, allow: bytes) -> None:
        super().__init__("methodNotAllowed", f"This address takes {allow.decode('ascii')} only.")
        self.allow = allow


class HeadAmbiguous(Malformed):
    """A head that a proxy and this service could understand differently."""

    def __init__(self, detail: str) -> None:
        super().__init__("ambiguousHead", detail)


class BodyTooLarge(Refusal):
    """More bytes than any body needs."""

    def __init__(self, limit: int) -> None:
        super().__init__("bodyTooLarge", f"A body may have at most {limit // 1024} KiB.")


class HeadTooLarge(Refusal):
    """More bytes than any head needs."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            "headTooLarge", f"The first line and the headers of a call may have at most {limit // 1024} KiB together."
        )


class BodyTooSlow(Malformed):
    """The body did not arrive in time. It is answered as any body that is cut short, and the connection is closed."""

    def __init__(self, seconds: float) -> None:
        super().__init__("notJson", f"The body did not arrive within {seconds:g} seconds. Send the request again.")


class ContentNotJson(Refusal):
    """A body that does not say that it is JSON."""

    def __init__(self) -> None:
        super().__init__("notJsonContent", "Send the body as JSON, uncompressed, with Content-Type: application/json.")


@dataclass(frozen=True, slots=True)
class Kind:
    """A class of refusals: its status, and for each of its codes the title, which is the same every time."""

    status: int
    titles: Mapping[str, str]


KINDS: Mapping[type[Refusal], Kind] = MappingProxyType(
    {
        Malformed: Kind(
            400,
            {
                "notJson": "The body is not JSON.",
                "notAnObject": "The body is not a JSON object.",
                "unknownParameter": "There is no such query parameter.",
                "invalidParameter": "A parameter has a value that it cannot have.",
                "invalidCursor": "The cursor does not belong to this list.",
                "malformedId": "An id is not a UUID.",
                "ambiguousHead": "The head of the call has two meanings.",
            },
        ),
        BodyInvalid: Kind(400, {"invalidBody": "The body does not have the form that is asked for."}),
        Unauthenticated: Kind(
            401,
            {
                "tokenMissing": "A bearer token is needed.",
                "tokenInvalid": "The token is not valid.",
                "tokenExpired": "The token has expired.",
                "audienceUnknown": "The token was issued for somebody else.",
            },
        ),
        Forbidden: Kind(
            403,
            {
                "insufficientScope": "The token lacks the permission.",
                "applicationNotSupported": "Applications cannot do this.",
                "notAdministrator": "This is for administrators of the tenant.",
                "notApprover": "Only an approver may decide.",
                "selfApproval": "Nobody decides on an own request.",
                "teamLicenseRequired": "A team needs a license.",
                "templateNotAllowed": "The template is not for this caller.",
            },
        ),
        NotFound: Kind(404, {"notFound": "There is no such thing."}),
        MethodNotAllowed: Kind(405, {"methodNotAllowed": "The address does not take this method."}),
        Conflict: Kind(
            409,
            {
                "nameTaken": "The name is taken.",
                "addressTaken": "The address is taken.",
                "stateDoesNotAllow": "The state does not allow it.",
                "inUse": "It is in use.",
                "previewChanged": "What was shown is not what there is now.",
                "idempotencyKeyInProgress": "The first request with this key is still in progress.",
            },
        ),
        Stale: Kind(412, {"etagStale": "It has changed since it was read."}),
        BodyTooLarge: Kind(413, {"bodyTooLarge": "The body is too large."}),
        ContentNotJson: Kind(415, {"notJsonContent": "The body does not say that it is JSON."}),
        HostUnknown: Kind(421, {"hostUnknown": "The host is not ours."}),
        NotPossible: Kind(422, {"notPossible": "The request is well-formed but cannot be carried out."}),
        KeyReused: Kind(422, {"idempotencyKeyReused": "The idempotency key belongs to another request."}),
        LimitReached: Kind(
            429,
            {
                "rateExceeded": "Too many requests in too short a time.",
                "quotaExceeded": "More than is granted.",
            },
        ),
        HeadTooLarge: Kind(431, {"headTooLarge": "The head of the call is too large."}),
        Unavailable: Kind(
            503,
            {
                "databaseUnavailable": "The database cannot be reached.",
                "issuerUnavailable": "The issuer of the token cannot be reached.",
                "overloaded": "Too much is waiting.",
            },
        ),
    }
)

# What a bug of ours looks like from outside. No refusal has this code.
BUG = "internalError"

# Every code that stands on top of a problem document, in the order of its status.
STATUSES: Mapping[str, int] = MappingProxyType(
    {code: kind.status for kind in KINDS.values() for code in kind.titles} | {BUG: 500}
)
TITLES: Mapping[str, str] = MappingProxyType(
    {code: title for kind in KINDS.values() for code, title in kind.titles.items()}
    | {BUG: "Something went wrong on our side."}
)
_CONTENT_TYPE = b"application/problem+json"
_TRUNCATED = f"True when there are more than the first {MOST_FAULTS} faults, which `errors` lists. Else left out."


class Problem(Struct, omit_defaults=True, rename="camel"):
    """A refusal as it is sent."""

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


def problem_of(refusal: Refusal, path: str, trace_id: TraceId) -> Answer:
    """The answer to a call that is refused."""
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
    match refusal:
        case BodyInvalid() | NotPossible():
            problem.errors = refusal.faults
            if refusal.are_truncated:
                problem.errors_truncated = True
        case Conflict(conflicting_id=str(conflicting_id)):
            problem.conflicting_id = conflicting_id
        case LimitReached(limit=limit):
            problem.limit = limit
        case _:
            pass  # The others have no members of their own.
    return Answer(kind.status, json.encode(problem), _headers(refusal), _CONTENT_TYPE)


def problem_of_bug(path: str, trace_id: TraceId) -> Answer:
    """The answer to a call that met a fault of ours. The log says what happened, under the same trace id."""
    detail = (
        "The fault is in the log under this traceId. Send the request again, and report the traceId if it stays so."
    )
    problem = Problem(f"/problems/{BUG}", TITLES[BUG], 500, BUG, detail, _reference(path), trace_id)
    return Answer(500, json.encode(problem), (), _CONTENT_TYPE)


def kind_of(refusal: type[Refusal]) -> Kind:
    """The kind of a class of refusals: its own, or that of the class it refines."""
    return next(KINDS[ancestor] for ancestor in refusal.__mro__ if ancestor in KINDS)


def _reference(path: str) -> str:
    """A path as a URI reference; what a client sent need not be one."""
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
            # What is still on its way is not worth reading.
            return ((b"connection", b"close"),)
        case LimitReached(after=after) | Unavailable(after=after) | Conflict(after=timedelta() as after):
            return ((b"retry-after", b"%d" % max(1, ceil(after.total_seconds()))),)
        case _:
            return ()


def _challenge(refusal: Unauthenticated) -> bytes:
    """What RFC 6750 says about a token: nothing when none was sent, else what is wrong with it."""
    if refusal.code == "tokenMissing":
        return b"Bearer"
    description = re.sub(r"[^ !#-\[\]-~]", "", refusal.detail)
    return f'Bearer error="invalid_token", error_description="{description}"'.encode("ascii")
