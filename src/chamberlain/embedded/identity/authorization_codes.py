"""Codes that a browser carries from the sign-in page to a program (RFC 6749, 4.1): made here, and redeemed once."""

from datetime import datetime, timedelta

from chamberlain.embedded.identity.clients import RegisteredClient
from chamberlain.embedded.identity.database import transaction
from chamberlain.embedded.identity.estate import Account
from chamberlain.embedded.identity.identity_platform import IdentityPlatform
from chamberlain.embedded.identity.random_secrets import digest_of, new_secret

# RFC 6749, 4.1.2 allows ten minutes; a program on the same machine needs a moment.
LIFE = timedelta(seconds=60)

# A used one is remembered for so long, so that its second use is known for what it is.
_REMEMBERED = timedelta(hours=24)

_ISSUE = """
INSERT INTO identity.authorization_codes
    (tenant_id, digest, client_id, account_id, redirect_uri, scope, nonce, code_challenge, auth_time, ends_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
"""

# Some at each issue: more go than come.
REMOVE_ENDED = """
DELETE FROM identity.authorization_codes WHERE tenant_id = $1 AND digest = ANY (ARRAY(
    SELECT digest FROM identity.authorization_codes WHERE tenant_id = $1 AND ends_at <= $2
    ORDER BY ends_at LIMIT 100 FOR UPDATE SKIP LOCKED))
"""


async def issue(
    platform: IdentityPlatform,
    client: RegisteredClient,
    account: Account,
    *,
    redirect_uri: str,
    scope: str,
    nonce: str | None,
    code_challenge: str,
    auth_time: datetime,
) -> str:
    """A code with which this program gets tokens for this person, within a minute, once.

    `redirect_uri` is the whole address as it was asked for, `code_challenge` the one of S256 (RFC 7636, 4.2), `scope`
    as asked for and checked by `scopes.choose_for_user`, `auth_time` the moment in which the person signed in. None of
    them may hold a NUL.
    """
    code, now = new_secret(), platform.now()
    async with transaction(platform.pool, client.tenant_id) as connection:
        await connection.execute(
            _ISSUE,
            client.tenant_id,
            digest_of(code),
            client.id,
            account.id,
            redirect_uri,
            scope,
            nonce,
            code_challenge,
            auth_time,
            now + LIFE,
        )
        await connection.execute(REMOVE_ENDED, client.tenant_id, now - _REMEMBERED)
    return code
