# SPDX-License-Identifier: Apache-2.0
"""Authorization codes (RFC 6749, 4.1).

The sign-in page issues a code. The client that requested it redeems it once.
PKCE (RFC 7636) proves that it is the same client. A wrong proof invalidates the code, because another party has it.
"""

import hmac
import re
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import sha256
from uuid import UUID

from asyncpg import Record
from starlette.requests import Request

from chamberlain.embedded.identity import refresh_tokens
from chamberlain.embedded.identity.client_authentication import identify
from chamberlain.embedded.identity.clients import Account, RegisteredClient
from chamberlain.embedded.identity.database import Connection, transaction
from chamberlain.embedded.identity.errors import InvalidGrant, InvalidRequest
from chamberlain.embedded.identity.hashing import digest_of, new_secret
from chamberlain.embedded.identity.identity_platform import IdentityPlatform
from chamberlain.embedded.identity.tokens import UserGrant, user_token_response
from chamberlain.queries import load_queries

SQL = load_queries(__name__)

# RFC 6749, 4.1.2 allows ten minutes; a client on the same machine needs a moment.
LIFE = timedelta(seconds=60)

# Used codes are kept to detect their reuse.
_KEPT_FOR = timedelta(hours=24)

# RFC 7636, 4.1.
_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")


REMOVE_ENDED = SQL["remove_ended_codes"]


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
    """Issue a code for one use within a minute.

    `redirect_uri` is exactly as requested, `code_challenge` has the method S256 (RFC 7636, 4.2), `scope` is validated
    by `scopes.user_scopes`, and `auth_time` is the time of the sign-in. None of them may contain NUL.
    """
    code, now = new_secret(), platform.now()
    async with transaction(platform.pool, client.tenant_id) as connection:
        await connection.execute(
            SQL["issue_code"],
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
        await connection.execute(REMOVE_ENDED, client.tenant_id, now - _KEPT_FOR)
    return code


async def grant_for_code(
    platform: IdentityPlatform, tenant_id: UUID, request: Request, form: Mapping[str, str]
) -> dict[str, object]:
    """Redeem a code for tokens (RFC 6749, 4.1.3).

    Reuse revokes the refresh tokens of the first use.
    """
    client = await identify(platform, tenant_id, request, form)
    if "code" not in form or "redirect_uri" not in form:
        raise InvalidRequest("Send code and redirect_uri, the same as in the authorization request.")
    # Every code has a challenge (RFC 9700, 2.1.1).
    if not _VERIFIER.fullmatch(form.get("code_verifier", "")):
        raise InvalidRequest("Send code_verifier: 43 to 128 letters, digits and .-_~, for the code_challenge.")
    async with transaction(platform.pool, tenant_id) as connection:
        grant = await _redeem(connection, client, form, platform.now())
    if grant is None:
        raise InvalidGrant(
            "The code expired, was used before, or does not match the application, redirect_uri and code_verifier."
        )
    return await user_token_response(platform, client, grant)


async def _redeem(
    connection: Connection, client: RegisteredClient, form: Mapping[str, str], now: datetime
) -> UserGrant | None:
    digest, family_id = digest_of(form["code"]), refresh_tokens.new_family_id()
    row = await connection.fetchrow(SQL["use_code"], client.tenant_id, digest, now, family_id)
    if row is None:
        family_id = await connection.fetchval(SQL["family"], client.tenant_id, digest)
        await refresh_tokens.revoke_family(connection, client.tenant_id, family_id)
        return None
    if not _is_proved(row, client, form):
        return None
    grant = await refresh_tokens.redeem(connection, client, row, family_id=family_id, now=now)
    return replace(grant, nonce=row["nonce"])


def _is_proved(row: Record, client: RegisteredClient, form: Mapping[str, str]) -> bool:
    challenge = urlsafe_b64encode(sha256(form["code_verifier"].encode()).digest()).decode().rstrip("=")
    return (
        row["client_id"] == client.id
        and row["redirect_uri"] == form["redirect_uri"]
        and hmac.compare_digest(row["code_challenge"].encode(), challenge.encode())
    )
