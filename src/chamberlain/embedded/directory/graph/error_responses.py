# SPDX-License-Identifier: Apache-2.0
"""Error responses in the format of Graph."""

from dataclasses import dataclass
from datetime import timedelta
from math import ceil

from chamberlain.embedded.directory.errors import (
    BadQuery,
    Forbidden,
    Throttled,
    Unauthorized,
    Unreachable,
    WriteRefused,
)
from chamberlain.embedded.directory.graph.calls import (
    MOST_BODY,
    BodyTooLarge,
    BodyTooSlow,
    MethodNotAllowed,
    NotThere,
    SyncStateNotFound,
)

Fault = (
    Unauthorized
    | Forbidden
    | BadQuery
    | WriteRefused
    | NotThere
    | SyncStateNotFound
    | MethodNotAllowed
    | BodyTooLarge
    | BodyTooSlow
    | Unreachable
    | Throttled
)
FAULTS = (
    Unauthorized,
    Forbidden,
    BadQuery,
    WriteRefused,
    NotThere,
    SyncStateNotFound,
    MethodNotAllowed,
    BodyTooLarge,
    BodyTooSlow,
    Unreachable,
    Throttled,
)

Header = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True)
class ErrorResponse:
    """An error response."""

    status: int
    code: str
    message: str
    headers: tuple[Header, ...] = ()
    details: tuple[dict[str, str], ...] = ()


def describe_fault(fault: Fault) -> ErrorResponse:
    """Map a fault to its status, code, message and headers."""
    match fault:
        case Unauthorized():
            challenge = b'Bearer error="invalid_token"' if fault.had_token else b"Bearer"
            return ErrorResponse(401, "InvalidAuthenticationToken", str(fault), ((b"www-authenticate", challenge),))
        case Forbidden():
            challenge = b'Bearer error="insufficient_scope"'
            return ErrorResponse(403, "Authorization_RequestDenied", str(fault), ((b"www-authenticate", challenge),))
        case BadQuery():
            return ErrorResponse(400, fault.code, fault.detail)
        case WriteRefused():
            return _describe_refusal(fault)
        case NotThere():
            return ErrorResponse(404, fault.code, fault.detail)
        case SyncStateNotFound():
            message = "The token is too old or unknown. Read all objects again."
            location = (b"location", fault.location.encode("latin-1"))
            return ErrorResponse(410, "syncStateNotFound", message, (location,))
        case MethodNotAllowed():
            cure = " CHAMBERLAIN_DIRECTORY_WRITABLE=true permits writes." if fault.needs_writable else ""
            message = f"This resource has the methods {fault.allowed}.{cure}"
            return ErrorResponse(405, "Request_BadRequest", message, ((b"allow", fault.allowed.encode()),))
        case BodyTooLarge() | BodyTooSlow():
            return _describe_body(fault)
        case Unreachable() | Throttled():
            return _describe_wait(fault)


def _describe_body(fault: BodyTooLarge | BodyTooSlow) -> ErrorResponse:
    if isinstance(fault, BodyTooSlow):
        return ErrorResponse(408, "RequestTimeout", "The body did not arrive in time.")
    return ErrorResponse(413, "RequestEntityTooLarge", f"The body has more than {MOST_BODY} bytes.")


def _describe_wait(fault: Unreachable | Throttled) -> ErrorResponse:
    headers = (_retry_after(fault.after),)
    if isinstance(fault, Throttled):
        return ErrorResponse(429, "TooManyRequests", f"Too many requests. {_again(fault.after)}", headers)
    # The client does not see the message of the database.
    message = f"The directory cannot answer now. {_again(fault.after)}"
    return ErrorResponse(503, "serviceNotAvailable", message, headers)


def _describe_refusal(refusal: WriteRefused) -> ErrorResponse:
    match refusal.code:
        case "objectUnknown" | "notReferenced":
            return ErrorResponse(404, "Request_ResourceNotFound", refusal.detail)
        case "teamUnknown":
            return ErrorResponse(404, "NotFound", refusal.detail)
        case "alreadyExists":
            return ErrorResponse(409, "Conflict", refusal.detail)
        case _:
            return ErrorResponse(400, "Request_BadRequest", refusal.detail, details=_details(refusal))


# The codes of details in Graph.
_DETAILS = {
    "valueTaken": "ObjectConflict",
    "valueInvalid": "InvalidValue",
    "valueMissing": "MissingValue",
    "notChangeable": "PropertyNotUpdatable",
}


def _details(refusal: WriteRefused) -> tuple[dict[str, str], ...]:
    if refusal.target is None or refusal.code not in _DETAILS:
        return ()
    return ({"code": _DETAILS[refusal.code], "message": refusal.detail, "target": refusal.target},)


def _again(after: timedelta) -> str:
    return f"Send the request again after {_seconds(after)} s."


def _retry_after(after: timedelta) -> Header:
    return (b"retry-after", str(_seconds(after)).encode())


def _seconds(after: timedelta) -> int:
    return ceil(after.total_seconds())
