"""How each fault is told: its status, headers of its own, and Graph's code and message."""

from dataclasses import dataclass
from datetime import timedelta
from math import ceil

from chamberlain.embedded.directory.errors import BadQuery, Forbidden, Throttled, Unauthorized, Unreachable
from chamberlain.embedded.directory.graph.calls import MethodNotAllowed, NotThere

Fault = Unauthorized | Forbidden | BadQuery | NotThere | MethodNotAllowed | Unreachable | Throttled
FAULTS = (Unauthorized, Forbidden, BadQuery, NotThere, MethodNotAllowed, Unreachable, Throttled)

ALLOWED = b"GET, HEAD, OPTIONS"

Header = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True)
class Told:
    """A fault as the caller gets it."""

    status: int
    code: str
    message: str
    headers: tuple[Header, ...] = ()


def tell(fault: Fault) -> Told:
    """The fault as the caller gets it."""
    match fault:
        case Unauthorized():
            challenge = b'Bearer error="invalid_token"' if fault.had_token else b"Bearer"
            return Told(401, "InvalidAuthenticationToken", str(fault), ((b"www-authenticate", challenge),))
        case Forbidden():
            challenge = b'Bearer error="insufficient_scope"'
            return Told(403, "Authorization_RequestDenied", str(fault), ((b"www-authenticate", challenge),))
        case BadQuery():
            return Told(400, fault.code, fault.detail)
        case NotThere():
            return Told(404, fault.code, fault.detail)
        case MethodNotAllowed():
            message = "This directory can only be read: by GET, HEAD and OPTIONS."
            return Told(405, "Request_BadRequest", message, ((b"allow", ALLOWED),))
        case Unreachable():
            # What the database said is for the log, not for whoever calls.
            message = f"The directory cannot answer now. {_again(fault.after)}"
            return Told(503, "serviceNotAvailable", message, (_retry_after(fault.after),))
        case Throttled():
            message = f"Too many requests. {_again(fault.after)}"
            return Told(429, "TooManyRequests", message, (_retry_after(fault.after),))


def _again(after: timedelta) -> str:
    return f"Send the request again after {_seconds(after)} s."


def _retry_after(after: timedelta) -> Header:
    return (b"retry-after", str(_seconds(after)).encode())


def _seconds(after: timedelta) -> int:
    return ceil(after.total_seconds())
