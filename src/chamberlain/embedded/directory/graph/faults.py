"""How each fault is told: its status, headers of its own, and Graph's code and message."""

from dataclasses import dataclass

from chamberlain.embedded.directory.errors import BadQuery, Forbidden, Unauthorized, Unreachable
from chamberlain.embedded.directory.graph.calls import MethodNotAllowed, NotThere

Fault = Unauthorized | Forbidden | BadQuery | NotThere | MethodNotAllowed | Unreachable
FAULTS = (Unauthorized, Forbidden, BadQuery, NotThere, MethodNotAllowed, Unreachable)

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
            message = "This directory can only be read: GET is the only method."
            return Told(405, "Request_BadRequest", message, ((b"allow", b"GET"),))
        case Unreachable():
            # What the database said is for the log, not for whoever calls.
            message = "The directory cannot answer now. Send the request again after two seconds."
            return Told(503, "serviceNotAvailable", message, ((b"retry-after", b"2"),))
