# SPDX-License-Identifier: Apache-2.0
"""Sessions of browsers: begin, find, refresh, list and end.

The cookie has a secret of 256 bits. The database has its digest and the encrypted tokens, so that neither a copy of the
database nor one of the keys alone is of use.
"""

import asyncio
import hmac
import re
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from hashlib import sha256

import msgspec

from chamberlain.console.models import IDLE_LIFE, LIFE, Session, SessionEntry, Tokens, context_of
from chamberlain.core.ids import TenantId, UserId
from chamberlain.database.transactions import Database
from chamberlain.queries import load_queries
from chamberlain.secrets.keyring import Keyring, KeysUnusable

SQL = load_queries(__name__)

# Limits the writes of `used_at`.
_WRITE_INTERVAL = timedelta(minutes=1)
# Access tokens are replaced so long before their end. Their lives are 5 minutes or more.
_REFRESH_BEFORE = timedelta(seconds=60)
# A refresh holds a connection during the call of the issuer. The embedded issuer needs connections of the same pool.
_MOST_REFRESHES = 4
# A tenant whose issuer is slow leaves some to the others.
_MOST_REFRESHES_OF_TENANT = 2
_LONGEST_BROWSER = 200
_SECRET = re.compile(r"[A-Za-z0-9_-]{43}")

# Returns new tokens, or None if the issuer has revoked the old ones.
Renew = Callable[[Tokens], Awaitable[Tokens | None]]


def new_secret() -> str:
    """Make a secret of 256 bits."""
    return secrets.token_urlsafe(32)


def is_secret(text: str) -> bool:
    """Return whether a text has the format of our secrets."""
    return _SECRET.fullmatch(text) is not None


def form_token(secret: str) -> str:
    """Return the token of the forms of a secret.

    Other sites cannot read the cookie that it is derived from.
    """
    return hmac.new(secret.encode(), b"console form", sha256).hexdigest()


def is_form_token(secret: str, token: str) -> bool:
    """Compare the token of a form in constant time."""
    return hmac.compare_digest(form_token(secret).encode(), token.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class Sessions:
    """The sessions of all tenants. `now` is the clock of the database.

    Every method raises Unavailable.
    """

    database: Database
    keyring: Keyring
    now: Callable[[], datetime]
    _refreshes: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_MOST_REFRESHES))
    _refreshes_of: dict[TenantId, asyncio.Semaphore] = field(default_factory=dict)

    async def begin(self, tenant_id: TenantId, user_id: UserId, tokens: Tokens, browser: str) -> Session:
        """Begin a session. A new secret prevents session fixation."""
        secret, now = new_secret(), self.now()
        session = Session(tenant_id, user_id, _digest(secret), secret, tokens)
        async with self.database.transaction(tenant_id) as tx:
            await tx.execute(SQL["announce"])
            sealed = self._seal(session)
            named = browser[:_LONGEST_BROWSER]
            await tx.execute(SQL["insert"], session.digest, tenant_id, user_id, named, sealed, now, now + LIFE)
        return session

    async def find(self, secret: str | None) -> Session | None:
        """Find the session of a cookie, and record its use."""
        if secret is None or not is_secret(secret):
            return None
        digest, now = _digest(secret), self.now()
        async with self.database.statement() as connection:
            row = await connection.fetchrow(SQL["use"], digest, now, now - IDLE_LIFE, now - _WRITE_INTERVAL)
        if row is None:
            return None
        tenant_id, tokens = TenantId(row["tenant_id"]), self._open(digest, row["sealed"])
        if tokens is None:
            return None
        return Session(tenant_id, UserId(row["user_id"]), digest, secret, tokens)

    async def is_open(self, session: Session) -> bool:
        """Return whether a session has not ended.

        This counts as no use of the session.
        """
        now = self.now()
        async with self.database.statement() as connection:
            return await connection.fetchrow(SQL["find"], session.digest, now, now - IDLE_LIFE) is not None

    async def refresh(self, session: Session, renew: Renew) -> Session | None:
        """Replace the tokens of a session before they end.

        Pages that refresh at the same time wait for the first of them: many issuers revoke all tokens if a refresh
        token is used twice. So this is the one transaction that stays open during a call. Returns None if the issuer
        has revoked the tokens, or the session has ended.
        """
        of_tenant = self._refreshes_of.setdefault(session.tenant_id, asyncio.Semaphore(_MOST_REFRESHES_OF_TENANT))
        async with of_tenant, self._refreshes, self.database.transaction(session.tenant_id) as tx:
            await tx.execute(SQL["announce"])
            row = await tx.fetch_row(SQL["lock"], session.tenant_id, session.digest)
            if row is None:
                return None
            tokens = self._open(session.digest, row["sealed"])
            if tokens is not None and self.is_due(replace(session, tokens=tokens)):
                tokens = await renew(tokens)
            if tokens is None:
                return None
            renewed = replace(session, tokens=tokens)
            await tx.execute(SQL["put_tokens"], session.tenant_id, session.digest, self._seal(renewed))
        return renewed

    async def list(self, session: Session) -> Sequence[SessionEntry]:
        """List the sessions of the user, the last used first."""
        now = self.now()
        async with self.database.transaction(session.tenant_id) as tx:
            rows = await tx.fetch(SQL["list"], session.tenant_id, session.user_id, now, now - IDLE_LIFE)
        return [SessionEntry(bytes(row["digest"]), row["browser"], row["created_at"], row["used_at"]) for row in rows]

    async def end(self, session: Session, digest: bytes | None = None) -> None:
        """End a session, or another one of the same user."""
        ended = session.digest if digest is None else digest
        async with self.database.transaction(session.tenant_id) as tx:
            await tx.execute(SQL["delete"], session.tenant_id, session.user_id, ended)

    async def end_all(self, session: Session) -> None:
        """End all sessions of the user, in all browsers."""
        async with self.database.transaction(session.tenant_id) as tx:
            await tx.execute(SQL["delete_all"], session.tenant_id, session.user_id)

    async def tenant_of(self, address: str) -> TenantId | None:
        """Find the tenant of a mail address by its domain.

        Returns None if no tenant has the domain, or several do.
        """
        domain = address.rpartition("@")[2].strip()
        async with self.database.statement() as connection:
            rows = await connection.fetch(SQL["tenants_of_domain"], domain)
        return TenantId(rows[0]["tenant_id"]) if len(rows) == 1 else None

    def is_due(self, session: Session) -> bool:
        """Return whether the access token ends soon."""
        return session.tokens.until - self.now() < _REFRESH_BEFORE

    def _seal(self, session: Session) -> bytes:
        return self.keyring.seal(msgspec.json.encode(session.tokens), context_of(session.digest))

    def _open(self, digest: bytes, sealed: bytes) -> Tokens | None:
        """Decrypt tokens.

        Returns None if their key was lost. The user signs in again then.
        """
        try:
            opened = self.keyring.open(bytes(sealed), context_of(digest))
        except KeysUnusable:
            return None
        return msgspec.json.decode(opened, type=Tokens)


def _digest(secret: str) -> bytes:
    return sha256(secret.encode()).digest()
