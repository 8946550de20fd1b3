"""Refresh tokens: each is used once and replaced by the next one of its family (RFC 9700, 4.14.2).

One that was used before shows that two have it, and nobody can tell which of them stole it: the whole family ends. A
program that lost the answer and asks again within seconds is no thief: as long as nobody has used what it got then, it
gets another one, and whichever of those is used first makes the others old.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from secrets import token_bytes
from uuid import UUID

from starlette.requests import Request

from chamberlain.embedded.identity.client_authentication import identify
from chamberlain.embedded.identity.clients import RegisteredClient, find_account_by_id
from chamberlain.embedded.identity.database import Connection, transaction
from chamberlain.embedded.identity.errors import InvalidGrant, InvalidRequest
from chamberlain.embedded.identity.identity_platform import IdentityPlatform
from chamberlain.embedded.identity.random_secrets import digest_of
from chamberlain.embedded.identity.scopes import choose_for_user
from chamberlain.embedded.identity.tokens import SignIn, token_response

# Not used for so long, or so old: the person signs in again.
IDLE_LIFE = timedelta(days=14)
WHOLE_LIFE = timedelta(days=90)
# For programs that repeat themselves, and for two that share a cache.
GRACE = timedelta(seconds=10)
_MOST_IN_GRACE = 8
_FAMILY_BYTES = 16
_SECRET_BYTES = 32

_BEGIN = """
INSERT INTO identity.refresh_tokens
    (tenant_id, family_id, client_id, account_id, scope, auth_time, digests, created_at, ends_at)
VALUES ($1, $2, $3, $4, $5, $6, ARRAY[$7::bytea], $8, $9)
"""

# Compare and swap: of several who use one token at the same moment, one does.
_ROTATE = """
UPDATE identity.refresh_tokens
SET digests = ARRAY[$5::bytea], used_digest = $4, used_at = $6, ends_at = least($7, created_at + $8::interval)
WHERE tenant_id = $1 AND family_id = $2 AND client_id = $3 AND $4 = ANY (digests) AND ends_at > $6
RETURNING account_id, scope, auth_time
"""

_REPEAT = """
UPDATE identity.refresh_tokens SET digests = digests || $5::bytea
WHERE tenant_id = $1 AND family_id = $2 AND client_id = $3 AND used_digest = $4 AND ends_at > $6
    AND used_at > $7 AND cardinality(digests) < $8
RETURNING account_id, scope, auth_time
"""

_END_OF_CLIENT = "DELETE FROM identity.refresh_tokens WHERE tenant_id = $1 AND family_id = $2 AND client_id = $3"

_END = "DELETE FROM identity.refresh_tokens WHERE tenant_id = $1 AND family_id = $2"

# Some at each sign-in: more go than come.
REMOVE_ENDED = """
DELETE FROM identity.refresh_tokens WHERE tenant_id = $1 AND family_id = ANY (ARRAY(
    SELECT family_id FROM identity.refresh_tokens WHERE tenant_id = $1 AND ends_at <= $2
    ORDER BY ends_at LIMIT 100 FOR UPDATE SKIP LOCKED))
"""


@dataclass(frozen=True, slots=True)
class Family:
    """Whose tokens they are, and what was asked for at the sign-in, `auth_time`."""

    account_id: UUID
    scope: str
    auth_time: datetime


def new_family_id() -> UUID:
    """An id that nobody guesses: whoever knows it can end the family."""
    return UUID(bytes=token_bytes(_FAMILY_BYTES), version=4)


async def begin_family(
    connection: Connection, client: RegisteredClient, family: Family, *, family_id: UUID, now: datetime
) -> str:
    """The first token of a new family."""
    token = _new_token(family_id)
    await connection.execute(
        _BEGIN,
        client.tenant_id,
        family_id,
        client.id,
        family.account_id,
        family.scope,
        family.auth_time,
        digest_of(token),
        now,
        now + IDLE_LIFE,
    )
    await connection.execute(REMOVE_ENDED, client.tenant_id, now)
    return token


async def rotate(
    connection: Connection, client: RegisteredClient, token: str, now: datetime
) -> tuple[Family, str] | None:
    """The family of this program that the token is of, and its next token; None when the token is good for nothing.

    A family ends when one of its old tokens comes back, so the transaction has to be committed in that case too.
    """
    family_id = _family_of(token)
    if family_id is None:
        return None
    following = _new_token(family_id)
    known = (client.tenant_id, family_id, client.id, digest_of(token), digest_of(following), now)
    row = await connection.fetchrow(_ROTATE, *known, now + IDLE_LIFE, WHOLE_LIFE)
    if row is None:
        row = await connection.fetchrow(_REPEAT, *known, now - GRACE, _MOST_IN_GRACE)
    if row is None:
        await connection.execute(_END_OF_CLIENT, client.tenant_id, family_id, client.id)
        return None
    return Family(row["account_id"], row["scope"], row["auth_time"]), following


async def end_family(connection: Connection, tenant_id: UUID, family_id: UUID | None) -> None:
    """No token of this family, if there is one, is good for anything any more."""
    await connection.execute(_END, tenant_id, family_id)


def _new_token(family_id: UUID) -> str:
    """It begins with its family, so that an old one is known for what it is without being kept."""
    return urlsafe_b64encode(family_id.bytes + token_bytes(_SECRET_BYTES)).decode()


def _family_of(token: str) -> UUID | None:
    try:
        raw = urlsafe_b64decode(token)
    except ValueError:
        return None
    return UUID(bytes=raw[:_FAMILY_BYTES]) if len(raw) == _FAMILY_BYTES + _SECRET_BYTES else None


_SIGN_IN_AGAIN = "The refresh token has ended, was used before, or is not of this program. Sign in again."


async def grant_for_refresh_token(
    platform: IdentityPlatform, tenant_id: UUID, request: Request, form: Mapping[str, str]
) -> dict[str, object]:
    """Tokens for the person that the refresh token is of, and the next refresh token."""
    client = await identify(platform, tenant_id, request, form)
    if "refresh_token" not in form:
        raise InvalidRequest("Send refresh_token, the one of the last answer.")
    async with transaction(platform.pool, tenant_id) as connection:
        rotated = await rotate(connection, client, form["refresh_token"], platform.now())
        # A scope that is refused leaves the token unused.
        chosen = None if rotated is None else choose_for_user(client, form.get("scope", rotated[0].scope))
    if rotated is None or chosen is None:
        raise InvalidGrant(_SIGN_IN_AGAIN)
    family, following = rotated
    account = await find_account_by_id(platform.pool, tenant_id, family.account_id)
    if account is None:
        raise InvalidGrant(_SIGN_IN_AGAIN)
    sign_in = SignIn(account, family.auth_time)
    return await token_response(platform, client, sign_in, chosen=chosen, refresh_token=following)
