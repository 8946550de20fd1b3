"""What a program learns of the person who signed in (OpenID Connect Core, 2). It opens nothing: that is what access
tokens are for."""

from dataclasses import dataclass
from datetime import datetime

from chamberlain.embedded.identity.clients import RegisteredClient
from chamberlain.embedded.identity.estate import Account
from chamberlain.embedded.identity.identity_platform import IdentityPlatform, issuer_of
from chamberlain.embedded.identity.signatures import TokenType, sign
from chamberlain.embedded.identity.signing_keys import TOKEN_LIFE

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
