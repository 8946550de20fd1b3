"""What the platform refuses, in the words of OAuth (RFC 6749, 5.2), and what keeps it from answering.

OAuthError
|-- InvalidRequest           the request cannot be read
|-- InvalidClient            the program did not prove that it is itself
|-- UnauthorizedClient       a program of this kind may not ask in this way
|-- UnsupportedGrantType     a way of asking that does not exist here
|-- InvalidScope             a permission that this program may not ask for
|-- InvalidGrant             a code or refresh token that is good for nothing, or not here
|-- AuthorizationPending     nobody has let the device in yet
|-- SlowDown                 the device asks too often
|-- DeviceDenied             somebody has sent the device away
|-- ExpiredToken             the device was not let in in time
|-- AccessDenied             not from there, or not by whom asks
`-- TemporarilyUnavailable   not now
IdentityUnreachable          the database is away
"""


class OAuthError(Exception):
    """A refusal: `error` is the stable word, the text a sentence that says what to do."""

    error = "invalid_request"
    status = 400

    def __init__(self, description: str) -> None:
        super().__init__(description)
        self.description = description


class InvalidRequest(OAuthError):
    """The request cannot be read."""


class InvalidClient(OAuthError):
    """`by_header` tells that the program sent its secret in a header, and is to be asked for it there again."""

    error = "invalid_client"
    status = 401

    def __init__(self, description: str, *, by_header: bool = False) -> None:
        super().__init__(description)
        self.by_header = by_header


class UnauthorizedClient(OAuthError):
    """A program of this kind may not ask in this way."""

    error = "unauthorized_client"


class UnsupportedGrantType(OAuthError):
    """A way of asking that does not exist here."""

    error = "unsupported_grant_type"


class InvalidScope(OAuthError):
    """A permission that this program may not ask for."""

    error = "invalid_scope"


class InvalidGrant(OAuthError):
    """A code or refresh token that is good for nothing, or not for this program."""

    error = "invalid_grant"


class AuthorizationPending(OAuthError):
    """Nobody has let the device in yet (RFC 8628, 3.5)."""

    error = "authorization_pending"


class SlowDown(OAuthError):
    """The device asks too often; nobody has let it in yet."""

    error = "slow_down"


class DeviceDenied(OAuthError):
    """Somebody has sent the device away."""

    error = "access_denied"


class ExpiredToken(OAuthError):
    """The device was not let in in time."""

    error = "expired_token"


class AccessDenied(OAuthError):
    """Not from there, or not by whom asks."""

    error = "access_denied"
    status = 403


class TemporarilyUnavailable(OAuthError):
    """Not now; the same request will do later."""

    error = "temporarily_unavailable"
    status = 503


class IdentityUnreachable(Exception):
    """The platform's database does not answer."""
