"""What a browser brings along when it comes to a page: by which address, the key of its forms, and who is signed in."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from urllib.parse import SplitResult, urlsplit
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from chamberlain.embedded.identity.clients import Account
from chamberlain.embedded.identity.csrf import is_same_origin, is_valid_token, token_for
from chamberlain.embedded.identity.database import transaction
from chamberlain.embedded.identity.errors import FormNotOurs, WrongAddress
from chamberlain.embedded.identity.identity_platform import IdentityPlatform
from chamberlain.embedded.identity.random_secrets import digest_of, new_secret
from chamberlain.embedded.identity.request_body import read_form

# A day's work; and whoever leaves a browser open on a desk is gone after an hour.
LIFE = timedelta(hours=8)
_UNUSED_LIFE = timedelta(hours=1)
# Its use is written down only so often.
_WRITTEN_AFTER = timedelta(minutes=1)

_BEGIN = """
INSERT INTO identity.sessions (digest, tenant_id, account_id, created_at, used_at, ends_at)
VALUES ($1, $2, $3, $4, $4, $5)
"""

_TENANT = "SELECT identity.tenant_of_session($1)"

_FIND = """
SELECT account.id, account.address, account.display_name, session.created_at, session.used_at
FROM identity.sessions AS session
JOIN identity.accounts AS account ON account.tenant_id = session.tenant_id AND account.id = session.account_id
WHERE session.tenant_id = $1 AND session.digest = $2 AND session.ends_at > $3 AND session.used_at > $4
"""

_USE = "UPDATE identity.sessions SET used_at = $3 WHERE tenant_id = $1 AND digest = $2 AND used_at < $3"

_END = "DELETE FROM identity.sessions WHERE tenant_id = $1 AND digest = $2"

# Whoever begins one cleans up a little.
REMOVE_ENDED = """
DELETE FROM identity.sessions WHERE tenant_id = $1 AND digest IN (
    SELECT digest FROM identity.sessions WHERE tenant_id = $1 AND ends_at < $2 ORDER BY ends_at LIMIT 100
    FOR UPDATE SKIP LOCKED
)
"""


@dataclass(frozen=True, slots=True)
class Session:
    """A person who signed in at `began_at`, and what forms that are meant for this session alone are bound to."""

    account: Account
    began_at: datetime
    digest: bytes = field(repr=False)


async def begin_session(platform: IdentityPlatform, account: Account) -> tuple[str, Session]:
    """A new session, with the secret for the cookie. It is never one that was there before (session fixation)."""
    secret, now = new_secret(), platform.now()
    digest = digest_of(secret)
    async with transaction(platform.pool, account.tenant) as connection:
        await connection.execute(_BEGIN, digest, account.tenant, account.id, now, now + LIFE)
        await connection.execute(REMOVE_ENDED, account.tenant, now)
    return secret, Session(account, now, digest)


async def find_session(platform: IdentityPlatform, secret: str | None) -> Session | None:
    """The session of a cookie, if it has not ended. Looking at it is using it."""
    if secret is None or not platform.serves_people:
        return None
    digest, now = digest_of(secret), platform.now()
    tenant_id = await _tenant_of(platform, digest)
    if tenant_id is None:
        return None
    async with transaction(platform.pool, tenant_id) as connection:
        row = await connection.fetchrow(_FIND, tenant_id, digest, now, now - _UNUSED_LIFE)
        if row is None:
            return None
        if now - row["used_at"] >= _WRITTEN_AFTER:
            await connection.execute(_USE, tenant_id, digest, now)
    account = Account(id=row["id"], tenant=tenant_id, address=row["address"], display_name=row["display_name"])
    return Session(account, row["created_at"], digest)


async def end_session(platform: IdentityPlatform, secret: str | None) -> None:
    """End the session of a cookie, if there is one."""
    if secret is None:
        return
    digest = digest_of(secret)
    tenant_id = await _tenant_of(platform, digest)
    if tenant_id is not None:
        async with transaction(platform.pool, tenant_id) as connection:
            await connection.execute(_END, tenant_id, digest)


async def _tenant_of(platform: IdentityPlatform, digest: bytes) -> UUID | None:
    async with transaction(platform.pool) as connection:
        tenant_id: UUID | None = await connection.fetchval(_TENANT, digest)
    return tenant_id


_SECRET = re.compile(r"[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class Browser:
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
        if not is_same_origin(self.request.headers, origin_of(self.platform.base_url)):
            raise FormNotOurs
        return await read_form(self.request)

    def require_token(self, form: dict[str, str], purpose: str) -> None:
        """Raises FormNotOurs when the form was not given to this browser for this purpose."""
        if not is_valid_token(form, self.form_key if self.has_form_key else None, purpose):
            raise FormNotOurs

    @property
    def network(self) -> str:
        """The address that it comes from."""
        return "" if self.request.client is None else self.request.client.host

    def keep_form_key(self, response: Response) -> None:
        """Give the browser the key of its forms, if it has none. It lives as long as the browser."""
        if not self.has_form_key:
            _set_cookie(response, form_cookie(self.platform.base_url), self.form_key)


async def identify_browser(platform: IdentityPlatform, request: Request) -> Browser:
    """What a browser brings along. Raises WrongAddress: pages have one address and TLS, whatever else leads here."""
    _require_address(platform.base_url, request)
    key = _cookie(request, form_cookie(platform.base_url))
    secret = _cookie(request, session_cookie(platform.base_url))
    session = await find_session(platform, secret)
    return Browser(
        platform=platform,
        request=request,
        form_key=key or new_secret(),
        has_form_key=key is not None,
        session_secret=secret,
        session=session,
    )


async def replace_session(visit: Browser, account: Account) -> tuple[str, Session]:
    """A new session in place of the one that there was; the secret is for `keep_session`."""
    await end_session(visit.platform, visit.session_secret)
    return await begin_session(visit.platform, account)


def set_session_cookie(response: Response, base_url: str, secret: str) -> None:
    """Give the browser the session, for as long as the browser runs and the session lasts."""
    _set_cookie(response, session_cookie(base_url), secret)


def delete_session_cookie(response: Response, base_url: str) -> None:
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
