# SPDX-License-Identifier: Apache-2.0
"""Refresh tokens with rotation (RFC 9700, 4.14.2).

Each token is used once and replaced by the next one of its family. Reuse of an old token shows that two parties have
it, and not which of them stole it, so the family is revoked. A client that lost the response may repeat the request
within seconds. As long as the new token is unused, it gets another one. The first use of either invalidates the others.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from datetime import datetime, timedelta
from secrets import token_bytes
from uuid import UUID

from asyncpg import Record
from starlette.requests import Request

from chamberlain.embedded.identity.client_authentication import identify
from chamberlain.embedded.identity.clients import RegisteredClient
from chamberlain.embedded.identity.database import Connection, transaction
from chamberlain.embedded.identity.errors import InvalidGrant, InvalidRequest
from chamberlain.embedded.identity.hashing import digest_of
from chamberlain.embedded.identity.identity_platform import IdentityPlatform
from chamberlain.embedded.identity.scopes import OFFLINE_ACCESS, user_scopes
from chamberlain.embedded.identity.tokens import UserGrant, user_token_response
from chamberlain.queries import load_queries

SQL = load_queries(__name__)

# After this time without use, or in all, the user has to sign in again.
IDLE_LIFE = timedelta(days=14)
WHOLE_LIFE = timedelta(days=90)
# For clients that repeat a request, and for two processes that share a token cache.
GRACE = timedelta(seconds=10)
_MOST_IN_GRACE = 8
_FAMILY_BYTES = 16
_SECRET_BYTES = 32


REMOVE_ENDED = SQL["remove_ended_refresh_tokens"]


async def grant_for_refresh_token(
    platform: IdentityPlatform, tenant_id: UUID, request: Request, form: Mapping[str, str]
) -> dict[str, object]:
    """Issue new tokens without the user (RFC 6749, 6).

    The scope is any that the client may request.
    """
    client = await identify(platform, tenant_id, request, form)
    if "refresh_token" not in form:
        raise InvalidRequest("Send refresh_token of the last response.")
    async with transaction(platform.pool, tenant_id) as connection:
        grant = await _rotate(connection, client, form, platform.now())
    if grant is None:
        raise InvalidGrant("The refresh token expired, was used before, or is of another application. Sign in again.")
    return await user_token_response(platform, client, grant)


def new_family_id() -> UUID:
    """Generate an unguessable id: knowing it is enough to revoke the family."""
    return UUID(bytes=token_bytes(_FAMILY_BYTES), version=4)


async def redeem(
    connection: Connection, client: RegisteredClient, code: Record, *, family_id: UUID, now: datetime
) -> UserGrant:
    """Turn a stored code into a grant.

    With offline_access it starts a family of refresh tokens. `code` has `account_id`, `scope` and `auth_time`.
    """
    scopes, token = user_scopes(client, code["scope"]), None
    if OFFLINE_ACCESS in scopes.openid:
        token = _new_token(family_id)
        await connection.execute(
            SQL["begin"],
            client.tenant_id,
            family_id,
            client.id,
            code["account_id"],
            code["scope"],
            code["auth_time"],
            digest_of(token),
            now,
            now + IDLE_LIFE,
        )
        await connection.execute(REMOVE_ENDED, client.tenant_id, now)
    return UserGrant(code["account_id"], code["auth_time"], scopes, token)


async def revoke_family(connection: Connection, tenant_id: UUID, family_id: UUID | None) -> None:
    """Revoke all tokens of a family, if there is one."""
    await connection.execute(SQL["revoke"], tenant_id, family_id)


async def _rotate(
    connection: Connection, client: RegisteredClient, form: Mapping[str, str], now: datetime
) -> UserGrant | None:
    """Replace the token by the next one. None if it is invalid.

    Reuse revokes the family, so the transaction must be committed then too. A refused scope raises, and the rollback
    leaves the token unused.
    """
    token = form["refresh_token"]
    family_id = _family_of(token)
    if family_id is None:
        return None
    next_token = _new_token(family_id)
    known = (client.tenant_id, family_id, client.id, digest_of(token), digest_of(next_token), now)
    row = await connection.fetchrow(SQL["rotate"], *known, now + IDLE_LIFE, WHOLE_LIFE)
    if row is None:
        row = await connection.fetchrow(SQL["repeat"], *known, now - GRACE, _MOST_IN_GRACE)
    if row is None:
        await connection.execute(SQL["revoke_of_client"], client.tenant_id, family_id, client.id)
        return None
    scopes = user_scopes(client, form.get("scope", row["scope"]))
    return UserGrant(row["account_id"], row["auth_time"], scopes, next_token)


def _new_token(family_id: UUID) -> str:
    """Generate a token that starts with its family id.

    So reuse is detected without storing old tokens.
    """
    return urlsafe_b64encode(family_id.bytes + token_bytes(_SECRET_BYTES)).decode()


def _family_of(token: str) -> UUID | None:
    try:
        raw = urlsafe_b64decode(token)
    except ValueError:
        return None
    return UUID(bytes=raw[:_FAMILY_BYTES]) if len(raw) == _FAMILY_BYTES + _SECRET_BYTES else None
