"""What a browser brings along when it comes to a page: by which address, the key of its forms, and who is signed in."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

from starlette.requests import Request
from starlette.responses import Response

from chamberlain.embedded.identity import sessions
from chamberlain.embedded.identity.bodies import read_form
from chamberlain.embedded.identity.estate import Account
from chamberlain.embedded.identity.forgery import is_from_here, is_own, token_for
from chamberlain.embedded.identity.identity_platform import IdentityPlatform
from chamberlain.embedded.identity.page_refusals import FormNotOurs, WrongAddress
from chamberlain.embedded.identity.random_secrets import new_secret
from chamberlain.embedded.identity.sessions import Session

_SECRET = re.compile(r"[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class Visit:
    """A browser at one of our pages. `session` is None when nobody is signed in."""

    platform: IdentityPlatform
    request: Request
    form_key: str = field(repr=False)
    has_form_key: bool
    session_secret: str | None = field(repr=False)
    session: Session | None

    def token(self, purpose: str) -> str:
        """What a form for this purpose carries."""
        return token_for(self.form_key, purpose)

    async def read_own_form(self) -> dict[str, str]:
        """What was posted from a page of ours. Raises FormNotOurs; `require_token` has to follow."""
        if not is_from_here(self.request.headers, origin_of(self.platform.base_url)):
            raise FormNotOurs
        return await read_form(self.request)

    def require_token(self, form: dict[str, str], purpose: str) -> None:
        """Raises FormNotOurs when the form was not given to this browser for this purpose."""
        if not is_own(form, self.form_key if self.has_form_key else None, purpose):
            raise FormNotOurs

    @property
    def network(self) -> str:
        """The address that it comes from."""
        return "" if self.request.client is None else self.request.client.host

    def keep_form_key(self, response: Response) -> None:
        """Give the browser the key of its forms, if it has none. It lives as long as the browser."""
        if not self.has_form_key:
            _set_cookie(response, form_cookie(self.platform.base_url), self.form_key)


async def open_visit(platform: IdentityPlatform, request: Request) -> Visit:
    """What a browser brings along. Raises WrongAddress: pages have one address and TLS, whatever else leads here."""
    _require_address(platform.base_url, request)
    key = _cookie(request, form_cookie(platform.base_url))
    secret = _cookie(request, session_cookie(platform.base_url))
    session = await sessions.find(platform, secret)
    return Visit(
        platform=platform,
        request=request,
        form_key=key or new_secret(),
        has_form_key=key is not None,
        session_secret=secret,
        session=session,
    )


async def begin_session(visit: Visit, account: Account) -> tuple[str, Session]:
    """A new session in place of the one that there was; the secret is for `keep_session`."""
    await sessions.end(visit.platform, visit.session_secret)
    return await sessions.begin(visit.platform, account)


def keep_session(response: Response, base_url: str, secret: str) -> None:
    """Give the browser the session, for as long as the browser runs and the session lasts."""
    _set_cookie(response, session_cookie(base_url), secret)


def drop_session(response: Response, base_url: str) -> None:
    """Take the session from the browser."""
    response.delete_cookie(session_cookie(base_url), path="/", secure=True, httponly=True, samesite="lax")


def session_cookie(base_url: str) -> str:
    """The name of the cookie. Cookies know no ports, so the port is in it: two platforms would take it in turns."""
    return f"__Host-identity-session-{_port(base_url)}"


def form_cookie(base_url: str) -> str:
    """The name of the cookie with the key of forms."""
    return f"__Host-identity-forms-{_port(base_url)}"


def origin_of(base_url: str) -> str:
    """The origin that our pages have to browsers."""
    parts = urlsplit(base_url)
    return f"{parts.scheme}://{_host(parts)}"


def _require_address(base_url: str, request: Request) -> None:
    parts = urlsplit(base_url)
    if request.url.scheme == parts.scheme and request.headers.get("host", "").lower() == _host(parts):
        return
    query = f"?{request.url.query}" if request.url.query else ""
    # A form is not to be sent once more somewhere else.
    is_page = request.method in ("GET", "HEAD")
    raise WrongAddress(base_url, f"{origin_of(base_url)}{request.url.path}{query}" if is_page else "")


def _host(parts: SplitResult) -> str:
    """As browsers write it: without the port that goes without saying."""
    return parts.netloc.lower().removesuffix(":443" if parts.scheme == "https" else ":80")


def _port(base_url: str) -> int:
    return urlsplit(base_url).port or 443


def _cookie(request: Request, name: str) -> str | None:
    return cookie_secret(request.headers.getlist("cookie"), name)


def cookie_secret(lines: Iterable[str], name: str) -> str | None:
    """The last value that a cookie has in these headers, when it is a secret of ours.

    Ours are never quoted. The parser of the standard library unquotes a value in the square of its length, which held
    the event loop for 6 s.
    """
    found = None
    for line in lines:
        for pair in line.split(";"):
            key, _, value = pair.partition("=")
            if key.strip() == name:
                found = value.strip()
    return found if found is not None and _SECRET.fullmatch(found) else None


def _set_cookie(response: Response, name: str, value: str) -> None:
    # Lax, since a browser comes back from programs: on the way from another site a strict one would stay at home.
    response.set_cookie(name, value, path="/", secure=True, httponly=True, samesite="lax")
