"""Everything that this SDK raises.

ChamberlainError
├── TokenUnusable            there is no token, or it has characters that no token has
├── SignInNeeded             nobody is signed in any more (chamberlain_client.msal)
├── NotAnId                  what was given for an id is none
├── NotAnAddress             what was given for the address of the service is none
├── Unreachable              no answer: there was no connection, or it broke
│   ├── NotTrusted           the certificate of the service is not to be trusted
│   └── TimedOut             no answer in time
├── AnswerNotUnderstood      an answer that is not the API's; something in between has given it
├── Refused                  the service says no, and why
│   ├── Malformed            400
│   ├── Unauthenticated      401
│   ├── Forbidden            403
│   ├── NotFound             404
│   ├── Conflict             409
│   ├── Stale                412
│   ├── BodyTooLarge         413
│   ├── HostUnknown          421
│   ├── NotPossible          422
│   ├── LimitReached         429
│   └── ServiceFault         500 and above
│       └── Unavailable      503
├── NotYet                   it takes longer than was waited for; it has not failed
│   ├── RequestNotFinished
│   └── GroupNotVisibleYet
└── WebhookInvalid           a call of a webhook that is not to be believed

A token is in none of their texts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uuid import UUID

    from chamberlain_client.models.faults import Fault
    from chamberlain_client.models.requests import Request


class ChamberlainError(Exception):
    """The family of all errors of this SDK."""


class TokenUnusable(ChamberlainError):
    """There is nothing that could be sent as a token."""

    def __init__(self) -> None:
        super().__init__(
            "The token is empty or has characters that no bearer token has. Give the bare token, without 'Bearer'."
        )


class SignInNeeded(ChamberlainError):
    """No token can be had without a person. `code` is what the identity platform says, where it says anything."""

    def __init__(self, code: str | None, detail: str) -> None:
        super().__init__(detail)
        self.code = code


class NotAnId(ChamberlainError, ValueError):
    """What was given for an id is no UUID; nothing was sent."""

    def __init__(self, given: object) -> None:
        super().__init__(f"{given!s:.100} is not an id: ids are UUIDs, with their four hyphens.")


class NotAnAddress(ChamberlainError, ValueError):
    """What was given for the address of a service is none."""

    def __init__(self, given: str) -> None:
        super().__init__(f"{given:.100} is not the address of a service: it has to begin with https:// or http://.")


class Unreachable(ChamberlainError):
    """There is no answer. Where the call `was_sent`, it may have been carried out."""

    def __init__(self, detail: str, *, was_sent: bool) -> None:
        super().__init__(detail)
        self.was_sent = was_sent


class NotTrusted(Unreachable):
    """Whoever answers cannot prove to be the service. Nothing was sent, and it is not tried again."""


class TimedOut(Unreachable):
    """There is no answer in time."""


class AnswerNotUnderstood(ChamberlainError):
    """An answer that the API does not give. It may come from something between here and the service, or the address
    is not that of the service."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(f"The answer ({status}) is not one of the API: {why}. Check the address of the service.")
        self.status = status


class Refused(ChamberlainError):
    """The service refuses the call. `code` is stable; `detail` is for people.

    `faults` are those of the body. The service lists at most 100; `faults_are_truncated` says that there are more.

    `trace_id` finds the call in the service's log. `conflicting_id` is what has the name or address that was asked
    for, `limit` the name of the limit that is reached, `retry_after` the seconds after which it is worth trying again;
    each is None where the service does not tell it.
    """

    def __init__(
        self,
        *,
        status: int,
        code: str,
        detail: str,
        trace_id: str | None = None,
        faults: tuple[Fault, ...] = (),
        faults_are_truncated: bool = False,
        conflicting_id: str | None = None,
        limit: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        told = "".join(f"\n  {fault.pointer or '/'}: {fault.detail} ({fault.code})" for fault in faults)
        told += "\n  There are more." if faults_are_truncated else ""
        super().__init__(f"{status} {code}: {detail}{told}")
        self.status = status
        self.code = code
        self.detail = detail
        self.trace_id = trace_id
        self.faults = faults
        self.faults_are_truncated = faults_are_truncated
        self.conflicting_id = conflicting_id
        self.limit = limit
        self.retry_after = retry_after


class Malformed(Refused):
    """The body, a parameter or an id does not have the form that is asked for."""


class Unauthenticated(Refused):
    """There is no token, or it proves nothing."""


class Forbidden(Refused):
    """The caller may not do that."""


class NotFound(Refused):
    """There is no such thing, or it is not the caller's to read."""


class Conflict(Refused):
    """A name or address is taken, or the state does not allow it."""


class Stale(Refused):
    """It has changed since it was read."""


class BodyTooLarge(Refused):
    """The body has more bytes than the service takes."""


class HostUnknown(Refused):
    """The service does not answer for that host."""


class NotPossible(Refused):
    """It is well-formed and cannot be carried out."""


class LimitReached(Refused):
    """More than is granted, or too much in too short a time."""


class ServiceFault(Refused):
    """A fault of the service."""


class Unavailable(ServiceFault):
    """The service cannot do it at present."""


class NotYet(ChamberlainError):
    """It takes longer than was waited for. It has not failed."""


class RequestNotFinished(NotYet):
    """A request is still going on. `request` is how it was last seen."""

    def __init__(self, request: Request) -> None:
        super().__init__(f"Request {request.request_id} is not finished yet: it is {request.state}.")
        self.request = request


class GroupNotVisibleYet(NotYet):
    """The directory does not show the group of a request yet. It may wait for an approval, or for the directory."""

    def __init__(self, request_id: UUID) -> None:
        super().__init__(f"The group of request {request_id} is not visible yet in the directory. Look again later.")
        self.request_id = request_id


class WebhookInvalid(ChamberlainError):
    """A call of a webhook that is not to be believed: do nothing, and answer 400."""
