# SPDX-License-Identifier: Apache-2.0
"""Access tokens, ID tokens and the token response for a user."""

import json
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from chamberlain.embedded.identity.clients import Account, RegisteredClient, find_account_by_id
from chamberlain.embedded.identity.errors import InvalidGrant
from chamberlain.embedded.identity.identity_platform import IdentityPlatform, issuer_of
from chamberlain.embedded.identity.scopes import OPENID, ResourceScopes, UserScopes
from chamberlain.embedded.identity.signing_keys import TOKEN_LIFE

# The claims of an ID token; `nonce` only if the client sent one.
CLAIMS = (
    "iss",
    "tid",
    "aud",
    "oid",
    "sub",
    "idtyp",
    "preferred_username",
    "name",
    "email",
    "auth_time",
    "ver",
    "iat",
    "exp",
    "nonce",
)


class TokenType(StrEnum):
    """Header `typ` (RFC 9068, 2.1).

    It keeps a token from being accepted as one of the other type.
    """

    ACCESS = "at+jwt"
    ID = "JWT"


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A signed access token and its expiry."""

    text: str = field(repr=False)
    expires_in: int
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class UserGrant:
    """Redeemed code or refresh token: user, sign-in and scopes."""

    account_id: UUID
    auth_time: datetime
    scopes: UserScopes
    refresh_token: str | None = field(repr=False)
    nonce: str | None = None


@dataclass(frozen=True, slots=True)
class IdTokenHint:
    """The user and the client of an ID token."""

    account_id: UUID
    client_id: str


async def user_token_response(
    platform: IdentityPlatform, client: RegisteredClient, grant: UserGrant
) -> dict[str, object]:
    """Return a token response (RFC 6749, 5.1; OpenID Connect Core, 3.1.3.3)."""
    account = await find_account_by_id(platform.pool, client.tenant_id, grant.account_id)
    if account is None:
        raise InvalidGrant("The user no longer exists. Sign in again.")
    # Libraries require an access token, even without permissions. Its audience is the platform; no resource accepts it.
    permissions = grant.scopes.permissions or ResourceScopes(
        f"{platform.base_url}/{client.tenant_id}", grant.scopes.full_names
    )
    token = await issue_for_user(platform, account, client, permissions)
    response: dict[str, object] = {
        "token_type": "Bearer",
        "scope": " ".join(grant.scopes.full_names),
        "expires_in": token.expires_in,
        "access_token": token.text,
        "client_info": _client_info(account),
    }
    if OPENID in grant.scopes.openid:
        response["id_token"] = await _issue_id_token(platform, client, account, grant)
    if grant.refresh_token is not None:
        response["refresh_token"] = grant.refresh_token
    return response


async def issue_for_user(
    platform: IdentityPlatform, account: Account, client: RegisteredClient, scopes: ResourceScopes
) -> AccessToken:
    """Issue an access token for the user."""
    own: dict[str, object] = {"idtyp": "user", "scp": " ".join(scopes.names)}
    return await _issue_access_token(platform, client, account.id, audience=scopes.resource, own=own)


async def issue_for_application(
    platform: IdentityPlatform, client: RegisteredClient, scopes: ResourceScopes
) -> AccessToken:
    """Issue an access token for the client itself."""
    own: dict[str, object] = {"idtyp": "app", "roles": list(scopes.names)}
    return await _issue_access_token(platform, client, client.id, audience=scopes.resource, own=own)


async def read_id_token_hint(platform: IdentityPlatform, tenant_id: UUID, token: str) -> IdTokenHint | None:
    """Verify an id_token_hint (OpenID Connect Core, 3.1.2.1).

    It may be expired. None if it is invalid.
    """
    keys = KeySet.import_key_set({"keys": await platform.keys.published()})
    try:
        decoded = jwt.decode(token, keys, algorithms=["RS256"])
    except (JoseError, ValueError):
        return None
    claims = decoded.claims
    # The same keys sign access tokens, which are no hints.
    if decoded.header.get("typ") != TokenType.ID.value or claims.get("iss") != issuer_of(platform.base_url, tenant_id):
        return None
    return IdTokenHint(UUID(claims["oid"]), str(claims["aud"]))


async def _issue_access_token(
    platform: IdentityPlatform, client: RegisteredClient, object_id: UUID, *, audience: str, own: dict[str, object]
) -> AccessToken:
    now = platform.token_now().replace(microsecond=0)
    expires_at = now + TOKEN_LIFE
    claims: dict[str, object] = {
        "iss": issuer_of(platform.base_url, client.tenant_id),
        "tid": str(client.tenant_id),
        "aud": audience,
        "oid": str(object_id),
        "sub": str(object_id),
        "azp": str(client.id),
        **own,
        "ver": "2.0",
        "iat": int(now.timestamp()),
        "nbf": int(now.timestamp()),
        "exp": int(expires_at.timestamp()),
    }
    return AccessToken(await _sign(platform, TokenType.ACCESS, claims), int(TOKEN_LIFE.total_seconds()), expires_at)


async def _issue_id_token(
    platform: IdentityPlatform, client: RegisteredClient, account: Account, grant: UserGrant
) -> str:
    """Issue an ID token (OpenID Connect Core, 2)."""
    now = platform.token_now()
    claims: dict[str, object] = {
        "iss": issuer_of(platform.base_url, client.tenant_id),
        "tid": str(client.tenant_id),
        "aud": str(client.id),
        "oid": str(account.id),
        "sub": str(account.id),
        # A resource that accepts this token by its audience must not treat it as one of the application itself.
        "idtyp": "user",
        "preferred_username": account.address,
        "name": account.display_name,
        "email": account.address,
        "auth_time": int(grant.auth_time.timestamp()),
        "ver": "2.0",
        "iat": int(now.timestamp()),
        "exp": int((now + TOKEN_LIFE).timestamp()),
    }
    if grant.nonce is not None:
        claims["nonce"] = grant.nonce
    return await _sign(platform, TokenType.ID, claims)


async def _sign(platform: IdentityPlatform, token_type: TokenType, claims: dict[str, object]) -> str:
    key = await platform.keys.current()
    header = {"alg": "RS256", "typ": token_type.value, "kid": key.id}
    return jwt.encode(header, claims, key.pair, algorithms=["RS256"])


def _client_info(account: Account) -> str:
    """Return the account id of MSAL's token cache.

    Without it, MSAL finds no cached token.
    """
    text = json.dumps({"uid": str(account.id), "utid": str(account.tenant)})
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")
