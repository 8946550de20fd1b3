"""Codes that a browser carries from the sign-in page to a program (RFC 6749, 4.1): made here, and redeemed once."""

import hmac
import re
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from uuid import UUID

from asyncpg import Record
from starlette.requests import Request

from chamberlain.embedded.identity import refresh_tokens
from chamberlain.embedded.identity.client_authentication import identify
from chamberlain.embedded.identity.clients import Account, RegisteredClient, find_account_by_id
from chamberlain.embedded.identity.database import Connection, transaction
from chamberlain.embedded.identity.errors import InvalidGrant, InvalidRequest
from chamberlain.embedded.identity.identity_platform import IdentityPlatform
from chamberlain.embedded.identity.random_secrets import digest_of, new_secret
from chamberlain.embedded.identity.scopes import OFFLINE_ACCESS, ChosenForUser, choose_for_user
from chamberlain.embedded.identity.tokens import SignIn, token_response

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


# RFC 7636, 4.1.
_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")

# Compare and swap: of several who bring one code at the same moment, one is the first.
_USE = """
UPDATE identity.authorization_codes SET used_at = $3, family_id = $4
WHERE tenant_id = $1 AND digest = $2 AND used_at IS NULL AND ends_at > $3
RETURNING client_id, account_id, redirect_uri, scope, nonce, code_challenge, auth_time
"""

_BEGUN = "SELECT family_id FROM identity.authorization_codes WHERE tenant_id = $1 AND digest = $2"


@dataclass(frozen=True, slots=True)
class _Redeemed:
    account_id: UUID
    auth_time: datetime
    nonce: str | None
    chosen: ChosenForUser
    refresh_token: str | None = field(repr=False)


async def grant_for_code(
    platform: IdentityPlatform, tenant_id: UUID, request: Request, form: Mapping[str, str]
) -> dict[str, object]:
    """Tokens for the person who signed in. A code that was used before ends what its first use began."""
    client = await identify(platform, tenant_id, request, form)
    _require_proof(form)
    async with transaction(platform.pool, tenant_id) as connection:
        redeemed = await _redeem(connection, client, form, platform.now())
    account = None if redeemed is None else await find_account_by_id(platform.pool, tenant_id, redeemed.account_id)
    if redeemed is None or account is None:
        raise InvalidGrant(
            "The code has ended, was used before, or is not for this program, redirect_uri and code_verifier."
        )
    sign_in = SignIn(account, redeemed.auth_time, redeemed.nonce)
    return await token_response(platform, client, sign_in, chosen=redeemed.chosen, refresh_token=redeemed.refresh_token)


def _require_proof(form: Mapping[str, str]) -> None:
    if "code" not in form or "redirect_uri" not in form:
        raise InvalidRequest("Send code and redirect_uri, the same address as before.")
    # Every code is issued with a challenge, so there is no way without (RFC 9700, 2.1.1).
    if not _VERIFIER.fullmatch(form.get("code_verifier", "")):
        raise InvalidRequest("Send code_verifier, 43 to 128 letters, digits and .-_~, which its challenge was made of.")


async def _redeem(
    connection: Connection, client: RegisteredClient, form: Mapping[str, str], now: datetime
) -> _Redeemed | None:
    digest, family_id = digest_of(form["code"]), refresh_tokens.new_family_id()
    row = await connection.fetchrow(_USE, client.tenant_id, digest, now, family_id)
    if row is None:
        begun = await connection.fetchval(_BEGUN, client.tenant_id, digest)
        await refresh_tokens.end_family(connection, client.tenant_id, begun)
        return None
    if not _is_proved(row, client, form):
        return None
    chosen, refresh_token = choose_for_user(client, row["scope"]), None
    if OFFLINE_ACCESS in chosen.openid:
        family = refresh_tokens.Family(row["account_id"], row["scope"], row["auth_time"])
        refresh_token = await refresh_tokens.begin_family(connection, client, family, family_id=family_id, now=now)
    return _Redeemed(row["account_id"], row["auth_time"], row["nonce"], chosen, refresh_token)


def _is_proved(row: Record, client: RegisteredClient, form: Mapping[str, str]) -> bool:
    challenge = urlsafe_b64encode(sha256(form["code_verifier"].encode()).digest()).decode().rstrip("=")
    return (
        row["client_id"] == client.id
        and row["redirect_uri"] == form["redirect_uri"]
        and hmac.compare_digest(row["code_challenge"].encode(), challenge.encode())
    )
