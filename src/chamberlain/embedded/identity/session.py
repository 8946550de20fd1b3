# SPDX-License-Identifier: Apache-2.0
"""Browsers: session, cookies and CSRF protection.

A cookie contains the secret of the session; the database stores its digest. Forms have a token, derived from a secret
cookie. Other sites cannot read the cookie. Its name prefix `__Host-` keeps them from setting it.
"""

import hmac
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Self
from urllib.parse import urlsplit
from uuid import UUID

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response

from chamberlain.embedded.identity.clients import Account, account_from_row
from chamberlain.embedded.identity.database import transaction
from chamberlain.embedded.identity.errors import FormInvalid, UsersNotServed, WrongOrigin
from chamberlain.embedded.identity.hashing import digest_of, new_secret
from chamberlain.embedded.identity.identity_platform import IdentityPlatform
from chamberlain.embedded.identity.rendering import render
from chamberlain.embedded.identity.request_body import read_form
from chamberlain.queries import load_queries

SQL = load_queries(__name__)

# A working day. An unattended browser is signed out after an hour.
LIFE = timedelta(hours=8)
_IDLE_LIFE = timedelta(hours=1)
# Limits the writes of `used_at`.
_WRITE_INTERVAL = timedelta(minutes=1)

_SECRET = re.compile(r"[A-Za-z0-9_-]{43}")
TOKEN_FIELD = "form_token"  # noqa: S105 - the name of a field.

REMOVE_ENDED = SQL["remove_ended_sessions"]


@dataclass(frozen=True, slots=True)
class Session:
    """A user who signed in at `began_at`."""

    account: Account
    began_at: datetime
    secret: str = field(repr=False)

    @property
    def digest(self) -> bytes:
        """The stored digest, which also binds forms to this session."""
        return digest_of(self.secret)


@dataclass(frozen=True, slots=True)
class Browser:
    """Request of a browser for a page.

    `session` is None if no user is signed in.
    """

    platform: IdentityPlatform
    request: Request
    form_key: str = field(repr=False)
    has_form_key: bool
    session_secret: str | None = field(repr=False)
    session: Session | None

    @classmethod
    async def from_request(cls, platform: IdentityPlatform, request: Request) -> Self:
        """Read the cookies and find the session.

        Raises WrongOrigin at another address than the platform's.
        """
        _require_origin(platform.base_url, request)
        lines = request.headers.getlist("cookie")
        form_key = cookie_secret(lines, form_cookie(platform.base_url))
        secret = cookie_secret(lines, session_cookie(platform.base_url))
        return cls(
            platform=platform,
            request=request,
            form_key=form_key or new_secret(),
            has_form_key=form_key is not None,
            session_secret=secret,
            session=await _find_session(platform, secret),
        )

    @property
    def network(self) -> str:
        """The IP address of the browser."""
        return "" if self.request.client is None else self.request.client.host

    @property
    def tenant_id(self) -> UUID:
        """The tenant in the path of the page."""
        tenant_id: UUID = self.request.path_params["tenant_id"]
        return tenant_id

    async def organisation(self, tenant_id: UUID) -> str:
        """Return the name of a tenant for a page."""
        return await self.platform.organisation(tenant_id) or "your organisation"

    def require_users(self) -> None:
        """Raises UsersNotServed where users cannot sign in."""
        if not self.platform.serves_people:
            raise UsersNotServed

    def token(self, purpose: str) -> str:
        """Return the CSRF token for a form with this purpose."""
        return token_for(self.form_key, purpose)

    async def read_own_form(self) -> dict[str, str]:
        """Parse a form from our origin.

        Raises FormInvalid. The caller must verify the form with `require_token`.
        """
        if not is_same_origin(self.request.headers, _origin_of(self.platform.base_url)):
            raise FormInvalid
        return await read_form(self.request)

    def require_token(self, form: Mapping[str, str], purpose: str) -> None:
        """Raises FormInvalid without the token of this browser and purpose."""
        if not is_valid_token(form, self.form_key if self.has_form_key else None, purpose):
            raise FormInvalid

    def require_session(self) -> Session:
        """Return the session. Raises FormInvalid if there is none."""
        if self.session is None:
            raise FormInvalid
        return self.session

    def render_form(
        self, template: str, purpose: str, *, status: int = 200, leads_to: Sequence[str] = (), **values: object
    ) -> Response:
        """Render a page with a form, and set a missing form cookie."""
        token, base_url = self.token(purpose), self.platform.base_url
        response = render(base_url, template, status=status, leads_to=leads_to, form_token=token, **values)
        if not self.has_form_key:
            _set_cookie(response, form_cookie(self.platform.base_url), self.form_key)
        return response

    async def begin_session(self, account: Account) -> Session:
        """Replace the session by a new one.

        A new secret prevents session fixation.
        """
        await self.end_session()
        secret, now = new_secret(), self.platform.now()
        async with transaction(self.platform.pool, account.tenant) as connection:
            await connection.execute(
                SQL["insert_session"], digest_of(secret), account.tenant, account.id, now, now + LIFE
            )
            await connection.execute(REMOVE_ENDED, account.tenant, now)
        return Session(account, now, secret)

    async def end_session(self) -> None:
        """Delete the session of the cookie, if there is one."""
        if self.session_secret is None:
            return
        digest = digest_of(self.session_secret)
        tenant_id = await _tenant_of(self.platform, digest)
        if tenant_id is not None:
            async with transaction(self.platform.pool, tenant_id) as connection:
                await connection.execute(SQL["delete_session"], tenant_id, digest)

    def set_session_cookie(self, response: Response, session: Session) -> None:
        """Set the cookie, which expires when the browser closes."""
        _set_cookie(response, session_cookie(self.platform.base_url), session.secret)

    def delete_session_cookie(self, response: Response) -> None:
        """Remove the cookie from the browser."""
        name = session_cookie(self.platform.base_url)
        response.delete_cookie(name, path="/", secure=True, httponly=True, samesite="lax")


def session_cookie(base_url: str) -> str:
    """Return the name of the session cookie.

    It contains the port, because browsers share cookies between ports.
    """
    return f"__Host-identity-session-{urlsplit(base_url).port or 443}"


def form_cookie(base_url: str) -> str:
    """Return the name of the cookie with the form key."""
    return f"__Host-identity-forms-{urlsplit(base_url).port or 443}"


def cookie_secret(lines: Iterable[str], name: str) -> str | None:
    """Return the last value of a cookie, if it has our format.

    Our cookies are never quoted. The parser of the standard library takes quadratic time for quoted values: it blocked
    the event loop for 6 s.
    """
    found = None
    for line in lines:
        for pair in line.split(";"):
            key, _, value = pair.partition("=")
            if key.strip() == name:
                found = value.strip()
    return found if found is not None and _SECRET.fullmatch(found) else None


async def _find_session(platform: IdentityPlatform, secret: str | None) -> Session | None:
    """Find the unexpired session of a cookie, and record its use."""
    if secret is None or not platform.serves_people:
        return None
    digest, now = digest_of(secret), platform.now()
    tenant_id = await _tenant_of(platform, digest)
    if tenant_id is None:
        return None
    async with transaction(platform.pool, tenant_id) as connection:
        row = await connection.fetchrow(SQL["find"], tenant_id, digest, now, now - _IDLE_LIFE)
        if row is None:
            return None
        if now - row["used_at"] >= _WRITE_INTERVAL:
            await connection.execute(SQL["use_session"], tenant_id, digest, now)
    return Session(account_from_row(tenant_id, row), row["created_at"], secret)


async def _tenant_of(platform: IdentityPlatform, digest: bytes) -> UUID | None:
    async with transaction(platform.pool) as connection:
        tenant_id: UUID | None = await connection.fetchval(SQL["tenant_of_session"], digest)
    return tenant_id


def _require_origin(base_url: str, request: Request) -> None:
    origin = _origin_of(base_url)
    if f"{request.url.scheme}://{request.headers.get('host', '').lower()}" == origin:
        return
    query = f"?{request.url.query}" if request.url.query else ""
    # The page offers no address for a form: it must not be sent twice.
    is_page = request.method in ("GET", "HEAD")
    raise WrongOrigin(base_url, address=f"{origin}{request.url.path}{query}" if is_page else "")


def _origin_of(base_url: str) -> str:
    """Return the origin as browsers write it, without a default port."""
    parts = urlsplit(base_url)
    return f"{parts.scheme}://" + parts.netloc.lower().removesuffix(":443" if parts.scheme == "https" else ":80")


def _set_cookie(response: Response, name: str, value: str) -> None:
    # Lax: browsers omit strict cookies when an application on another site redirects them here.
    response.set_cookie(name, value, path="/", secure=True, httponly=True, samesite="lax")


def token_for(key: str, purpose: str) -> str:
    """Return the token of a form, by browser key and purpose."""
    return hmac.new(key.encode(), purpose.encode(), sha256).hexdigest()


def is_valid_token(form: Mapping[str, str], key: str | None, purpose: str) -> bool:
    """Verify the token of a form.

    Without a key no token is valid.
    """
    if key is None:
        return False
    return hmac.compare_digest(form.get(TOKEN_FIELD, "").encode(), token_for(key, purpose).encode())


def is_same_origin(headers: Headers, origin: str) -> bool:
    """Check that the browser reports our own origin.

    Our pages send no referrer, so browsers send the origin `null`, and Sec-Fetch-Site decides. At least one of the two
    headers is required: all current browsers send one.
    """
    site, sent_origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site not in (None, "same-origin"):
        return False
    if sent_origin is None or sent_origin == "null":
        return site is not None
    return sent_origin == origin
