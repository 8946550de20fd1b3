"""Access tokens: what they say, and their signature."""

import json
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from chamberlain.embedded.identity.clients import Account, RegisteredClient
from chamberlain.embedded.identity.identity_platform import IdentityPlatform, issuer_of
from chamberlain.embedded.identity.scopes import OPENID, Chosen, ChosenForUser
from chamberlain.embedded.identity.signing_keys import TOKEN_LIFE


class TokenType(StrEnum):
    """The type of access tokens is RFC 9068's (2.1); tokens that tell a program who signed in have the plain one."""

    ACCESS = "at+jwt"
    ID = "JWT"


async def sign(platform: IdentityPlatform, token_type: TokenType, claims: dict[str, object]) -> str:
    """The claims as a token that the platform's public keys prove."""
    key = await platform.keys.current()
    header = {"alg": "RS256", "typ": token_type.value, "kid": key.id}
    return jwt.encode(header, claims, key.pair, algorithms=["RS256"])


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A signed token, and for how long it is good."""

    text: str = field(repr=False)
    expires_in: int
    expires_at: datetime


async def issue_for_user(
    platform: IdentityPlatform, account: Account, client: RegisteredClient, chosen: Chosen
) -> AccessToken:
    """A token with which the program acts in the user's name."""
    own: dict[str, object] = {"idtyp": "user", "scp": " ".join(chosen.names)}
    return await _issue_access_token(platform, client, account.id, chosen, own)


async def issue_for_application(platform: IdentityPlatform, client: RegisteredClient, chosen: Chosen) -> AccessToken:
    """A token with which the program acts by itself."""
    own: dict[str, object] = {"idtyp": "app", "roles": list(chosen.names)}
    return await _issue_access_token(platform, client, client.id, chosen, own)


async def _issue_access_token(
    platform: IdentityPlatform, client: RegisteredClient, object_id: UUID, chosen: Chosen, own: dict[str, object]
) -> AccessToken:
    now = platform.token_now().replace(microsecond=0)
    expires_at = now + TOKEN_LIFE
    claims: dict[str, object] = {
        "iss": issuer_of(platform.base_url, client.tenant_id),
        "tid": str(client.tenant_id),
        "aud": chosen.resource,
        "oid": str(object_id),
        "sub": str(object_id),
        "azp": str(client.id),
        **own,
        "ver": "2.0",
        "iat": int(now.timestamp()),
        "nbf": int(now.timestamp()),
        "exp": int(expires_at.timestamp()),
    }
    return AccessToken(await sign(platform, TokenType.ACCESS, claims), int(TOKEN_LIFE.total_seconds()), expires_at)


# What such a token says; `nonce` where the program has sent one.
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


@dataclass(frozen=True, slots=True)
class SignIn:
    """Who signed in, when, and the word that the program gave along so that it knows its own answer."""

    account: Account
    auth_time: datetime
    nonce: str | None = None


async def issue_id_token(platform: IdentityPlatform, client: RegisteredClient, sign_in: SignIn) -> str:
    """A token for the program itself."""
    now, account = platform.token_now(), sign_in.account
    claims: dict[str, object] = {
        "iss": issuer_of(platform.base_url, client.tenant_id),
        "tid": str(client.tenant_id),
        "aud": str(client.id),
        "oid": str(account.id),
        "sub": str(account.id),
        # Whoever takes a token for an access token, by its audience, shall not take it for a program's own.
        "idtyp": "user",
        "preferred_username": account.address,
        "name": account.display_name,
        "email": account.address,
        "auth_time": int(sign_in.auth_time.timestamp()),
        "ver": "2.0",
        "iat": int(now.timestamp()),
        "exp": int((now + TOKEN_LIFE).timestamp()),
    }
    if sign_in.nonce is not None:
        claims["nonce"] = sign_in.nonce
    return await sign(platform, TokenType.ID, claims)


@dataclass(frozen=True, slots=True)
class Hint:
    """Whom the program means, and which program the token was made for."""

    account_id: UUID
    client_id: str


async def read_hint(platform: IdentityPlatform, tenant_id: UUID, token: str) -> Hint | None:
    """What the token says, also when it has ended; None when it is none of ours for this organisation."""
    keys = KeySet.import_key_set({"keys": await platform.keys.published()})
    try:
        found = jwt.decode(token, keys, algorithms=["RS256"])
    except (JoseError, ValueError):
        return None
    claims = found.claims
    # The same keys sign access tokens, which say nothing of the kind.
    if found.header.get("typ") != TokenType.ID.value or claims.get("iss") != issuer_of(platform.base_url, tenant_id):
        return None
    return Hint(UUID(claims["oid"]), str(claims["aud"]))


async def token_response(
    platform: IdentityPlatform,
    client: RegisteredClient,
    sign_in: SignIn,
    *,
    chosen: ChosenForUser,
    refresh_token: str | None,
) -> dict[str, object]:
    """The body of the answer: tokens, and what they are good for."""
    permissions = chosen.permissions or _of_the_platform(platform, client, chosen)
    token = await issue_for_user(platform, sign_in.account, client, permissions)
    answer: dict[str, object] = {
        "token_type": "Bearer",
        "scope": " ".join(chosen.full_names),
        "expires_in": token.expires_in,
        "access_token": token.text,
        "client_info": _client_info(sign_in.account),
    }
    if OPENID in chosen.openid:
        answer["id_token"] = await issue_id_token(platform, client, sign_in)
    if refresh_token is not None:
        answer["refresh_token"] = refresh_token
    return answer


def _of_the_platform(platform: IdentityPlatform, client: RegisteredClient, chosen: ChosenForUser) -> Chosen:
    """Who asks for no permission gets an access token all the same, as libraries insist; no resource takes it."""
    return Chosen(f"{platform.base_url}/{client.tenant_id}", chosen.full_names)


def _client_info(account: Account) -> str:
    """By which MSAL keeps apart whose tokens it holds; without it nobody is found again in its cache."""
    text = json.dumps({"uid": str(account.id), "utid": str(account.tenant)})
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")
