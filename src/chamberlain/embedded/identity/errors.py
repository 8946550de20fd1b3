# SPDX-License-Identifier: Apache-2.0
"""Errors of the endpoints (RFC 6749, 5.2) and of the pages.

OAuthError
|-- InvalidRequest           the request is malformed
|-- InvalidClient            client authentication failed
|-- UnauthorizedClient       this kind of client may not use this grant
|-- UnsupportedGrantType     unknown grant type
|-- InvalidScope             a scope that this client may not request
|-- InvalidGrant             an invalid, expired or revoked code or refresh token
|-- AuthorizationPending     the user has not decided about the device yet
|-- SlowDown                 the device polls too often
|-- DeviceDenied             the user denied the device
|-- ExpiredToken             the device code expired
|-- AccessDenied             this caller has no access
`-- TemporarilyUnavailable   overload; retry later
PageError
|-- WrongOrigin              another address, or no TLS
|-- FormInvalid              the form does not come from our page in this browser
|-- ClientRequestInvalid     an error that must not be sent to the redirect URI
|-- UsersNotServed           other machines can reach this service, so users cannot sign in
`-- TenantUnknown            unknown tenant
TooManyAttempts              sign-in or code entry is blocked for a while
IdentityUnreachable          the database is unreachable
"""

from datetime import datetime


class OAuthError(Exception):
    """Error response of an endpoint.

    `error` is the stable code. The description says what to do.
    """

    error = "invalid_request"
    status = 400

    def __init__(self, description: str) -> None:
        super().__init__(description)
        self.description = description


class InvalidRequest(OAuthError):
    """The request is malformed."""


class InvalidClient(OAuthError):
    """Client authentication failed.

    With `by_header` the response asks for the Authorization header again.
    """

    error = "invalid_client"
    status = 401

    def __init__(self, description: str, *, by_header: bool = False) -> None:
        super().__init__(description)
        self.by_header = by_header


class UnauthorizedClient(OAuthError):
    """This kind of client may not use this grant."""

    error = "unauthorized_client"


class UnsupportedGrantType(OAuthError):
    """The grant type is unknown."""

    error = "unsupported_grant_type"


class InvalidScope(OAuthError):
    """The client may not request this scope."""

    error = "invalid_scope"


class InvalidGrant(OAuthError):
    """The code or refresh token is not valid for this client."""

    error = "invalid_grant"


class AuthorizationPending(OAuthError):
    """The user has not decided about the device yet (RFC 8628, 3.5)."""

    error = "authorization_pending"


class SlowDown(OAuthError):
    """The device polls too often; the user has not decided yet."""

    error = "slow_down"


class DeviceDenied(OAuthError):
    """The user denied the device."""

    error = "access_denied"


class ExpiredToken(OAuthError):
    """The device code expired."""

    error = "expired_token"


class AccessDenied(OAuthError):
    """This caller has no access."""

    error = "access_denied"
    status = 403


class TemporarilyUnavailable(OAuthError):
    """Overload; the same request works later."""

    error = "temporarily_unavailable"
    status = 503


class PageError(Exception):
    """Error page; the text says what to do."""

    status = 400
    title = "The request failed"

    def __init__(self, text: str, *, address: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.address = address


class WrongOrigin(PageError):
    """The request has another address, or no TLS.

    The name of another site may resolve to this machine (DNS rebinding).
    `address` is the right one of the same page, for a page that can be opened.
    """

    status = 421
    title = "This page has another address"

    def __init__(self, base_url: str, *, address: str) -> None:
        super().__init__(f"The sign-in pages are available below {base_url}/ only.", address=address)


class FormInvalid(PageError):
    """The form is forged or outdated.

    It does not come from our page in this browser, or the state has changed since.
    """

    status = 403
    title = "The page has expired"

    def __init__(self) -> None:
        super().__init__("Nothing was changed. Go back, reload the page and submit it again. Cookies are required.")


class ClientRequestInvalid(PageError):
    """The request is invalid, and its redirect URI is not trusted."""

    title = "Invalid request of the application"


class UsersNotServed(PageError):
    """Users cannot sign in, because other machines reach this service."""

    status = 403
    title = "Sign-in is turned off"

    def __init__(self) -> None:
        super().__init__(
            "Other machines can reach this service, so the example users cannot sign in. Let the service listen on "
            "127.0.0.1, or connect it to the identity provider of your organisation."
        )


class TenantUnknown(PageError):
    """There is no tenant with this id."""

    status = 404
    title = "Unknown organisation"

    def __init__(self) -> None:
        super().__init__("No organisation has the id in the address. Check the address.")


class TooManyAttempts(Exception):
    """Further attempts are rejected without a check until then."""

    def __init__(self, until: datetime) -> None:
        super().__init__(f"Too many attempts, until {until}.")
        self.until = until


class IdentityUnreachable(Exception):
    """The platform's database is unreachable."""
