"""Who is signed in with a browser. The cookie has the secret, the database its digest."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from chamberlain.embedded.identity.database import transaction
from chamberlain.embedded.identity.estate import Account
from chamberlain.embedded.identity.identity_platform import IdentityPlatform
from chamberlain.embedded.identity.random_secrets import digest_of, new_secret

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
SWEEP = """
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


async def begin(platform: IdentityPlatform, account: Account) -> tuple[str, Session]:
    """A new session, with the secret for the cookie. It is never one that was there before (session fixation)."""
    secret, now = new_secret(), platform.now()
    digest = digest_of(secret)
    async with transaction(platform.pool, account.tenant) as connection:
        await connection.execute(_BEGIN, digest, account.tenant, account.id, now, now + LIFE)
        await connection.execute(SWEEP, account.tenant, now)
    return secret, Session(account, now, digest)


async def find(platform: IdentityPlatform, secret: str | None) -> Session | None:
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


async def end(platform: IdentityPlatform, secret: str | None) -> None:
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
