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


class PageRefused(Exception):
    """The title and the sentence stand on the page; the sentence says what to do."""

    status = 400
    title = "This does not work"

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class WrongAddress(PageRefused):
    """The page is reached by another address, or without TLS: another site may have bent its name to us."""

    status = 421
    title = "This page has another address"

    def __init__(self, base_url: str, address: str) -> None:
        """`address` is where the same page is, if there is one that could be opened."""
        super().__init__(f"The pages of this sign-in platform are below {base_url}/ and nowhere else.")
        self.address = address


class FormNotOurs(PageRefused):
    """A form that did not come from the page that we gave this browser, or not in this state of things."""

    status = 403
    title = "The page has become too old"

    def __init__(self) -> None:
        super().__init__("Nothing was done. Go back, load the page again and send it once more. Cookies are needed.")


class RequestNotOurs(PageRefused):
    """A program asks in a way that must not be answered to it: nobody knows that the address is its own."""

    title = "The program asked wrongly"


class NobodySignsIn(PageRefused):
    """The people of an example are nobody's, and must not be found where strangers can reach them."""

    status = 403
    title = "Nobody can sign in here"

    def __init__(self) -> None:
        super().__init__(
            "Other machines can reach this service, so the example users cannot sign in. Let the service listen on "
            "127.0.0.1, or connect it to the sign-in platform of your organisation."
        )


class NothingThere(PageRefused):
    """No such organisation."""

    status = 404
    title = "There is no such organisation"

    def __init__(self) -> None:
        super().__init__("No organisation with the id in the address is known here. Look at the address.")
