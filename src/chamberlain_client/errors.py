# SPDX-License-Identifier: Apache-2.0
"""All errors of the SDK.

ChamberlainError
├── TokenUnusable            there is no token, or it contains invalid characters
├── SignInNeeded             no user is signed in any more (chamberlain_client.msal)
├── NotAnId                  an argument is not an id
├── NotAnAddress             an argument is not the address of a service
├── Unreachable              no response: there was no connection, or it broke
│   ├── NotTrusted           the certificate of the service is not trusted
│   └── TimedOut             no response in time
├── AnswerNotUnderstood      a response that is not from the API, such as one of a proxy
├── Refused                  the service refused the call, with a reason
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
├── NotYet                   the operation takes longer than the timeout; it has not failed
│   ├── RequestNotFinished
│   └── GroupNotVisibleYet
└── WebhookInvalid           a call of a webhook that failed verification

No message contains a token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from chamberlain_client.models import Fault, Request

    # A number, a word or text, or a list of words.
    Word = int | str | tuple[str, ...]


class ChamberlainError(Exception):
    """Base class of all errors of the SDK."""


class TokenUnusable(ChamberlainError):
    """There is no valid token to send."""

    def __init__(self) -> None:
        super().__init__(
            "The token is empty or has characters that no bearer token has. Give the bare token, without 'Bearer'."
        )


class SignInNeeded(ChamberlainError):
    """A user has to sign in again.

    `code` is that of the identity platform, or None.
    """

    def __init__(self, code: str | None, detail: str) -> None:
        super().__init__(detail)
        self.code = code


class NotAnId(ChamberlainError, ValueError):
    """An argument is not a UUID; nothing was sent."""

    def __init__(self, given: object) -> None:
        super().__init__(f"{given!s:.100} is not an id: ids are UUIDs, with their four hyphens.")


class NotAnAddress(ChamberlainError, ValueError):
    """An argument is not the address of a service."""

    def __init__(self, given: str) -> None:
        super().__init__(f"{given:.100} is not the address of a service: it has to begin with https:// or http://.")


class Unreachable(ChamberlainError):
    """There was no response.

    If the call `was_sent`, the service may have executed it.
    """

    def __init__(self, detail: str, *, was_sent: bool) -> None:
        super().__init__(detail)
        self.was_sent = was_sent


class NotTrusted(Unreachable):
    """The certificate of the service is not trusted.

    Nothing was sent, and there is no retry.
    """


class TimedOut(Unreachable):
    """There was no response in time."""


class AnswerNotUnderstood(ChamberlainError):
    """A response that is not from the API.

    It may be from a proxy, or from another service at the address.
    """

    def __init__(self, status: int, why: str) -> None:
        super().__init__(f"The answer ({status}) is not one of the API: {why}. Check the address of the service.")
        self.status = status


class Refused(ChamberlainError):
    """The service refused the call. `code` is stable; `detail` is for people.

    `values` are the numbers and words of `detail` by name. `faults` are those of the body. The service lists at most
    100; `faults_are_truncated` says that there are more.
    `trace_id` finds the call in the log of the service. `conflicting_id` is the owner of a conflicting name or
    address, `limit` the name of an exceeded limit, `retry_after` the number of seconds before a retry. Each may be
    None.
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
        values: Mapping[str, Word] | None = None,
    ) -> None:
        # The fault of a conflict repeats its detail.
        others = [fault for fault in faults if fault.detail != detail]
        listed = "".join(f"\n  {fault.pointer or '/'}: {fault.detail} ({fault.code})" for fault in others)
        listed += "\n  There are more." if faults_are_truncated else ""
        super().__init__(f"{status} {code}: {detail}{listed}")
        self.status = status
        self.code = code
        self.detail = detail
        self.trace_id = trace_id
        self.faults = faults
        self.faults_are_truncated = faults_are_truncated
        self.conflicting_id = conflicting_id
        self.limit = limit
        self.retry_after = retry_after
        self.values = values or {}


class Malformed(Refused):
    """The body, a parameter or an id is malformed."""


class Unauthenticated(Refused):
    """The token is missing, invalid or expired."""


class Forbidden(Refused):
    """The caller has no permission."""


class NotFound(Refused):
    """The resource does not exist, or the caller may not read it."""


class Conflict(Refused):
    """A name is taken, or the state does not allow the operation."""


class Stale(Refused):
    """The resource has changed since it was read."""


class BodyTooLarge(Refused):
    """The body is larger than the service accepts."""


class HostUnknown(Refused):
    """The service does not serve that host."""


class NotPossible(Refused):
    """The body is well-formed but cannot be provisioned."""


class LimitReached(Refused):
    """A quota or rate limit is exceeded."""


class ServiceFault(Refused):
    """An error of the service."""


class Unavailable(ServiceFault):
    """The service is overloaded, or one of its dependencies is unavailable."""


class NotYet(ChamberlainError):
    """The operation takes longer than the timeout. It has not failed."""


class RequestNotFinished(NotYet):
    """A request has not ended. `request` is its last state."""

    def __init__(self, request: Request) -> None:
        super().__init__(f"Request {request.request_id} is not finished yet: it is {request.state}.")
        self.request = request


class GroupNotVisibleYet(NotYet):
    """The directory does not show the group yet.

    The request may wait for an approval, or for the directory.
    """

    def __init__(self, request_id: UUID) -> None:
        super().__init__(f"The group of request {request_id} is not visible yet in the directory. Look again later.")
        self.request_id = request_id


class WebhookInvalid(ChamberlainError):
    """A call of a webhook failed verification: do nothing, and answer 400."""
