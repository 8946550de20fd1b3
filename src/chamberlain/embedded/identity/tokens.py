"""Access tokens: what they say, and their signature."""

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from chamberlain.embedded.identity.clients import RegisteredClient
from chamberlain.embedded.identity.estate import Account
from chamberlain.embedded.identity.identity_platform import IdentityPlatform, issuer_of
from chamberlain.embedded.identity.scopes import Chosen
from chamberlain.embedded.identity.signatures import TokenType, sign
from chamberlain.embedded.identity.signing_keys import TOKEN_LIFE


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
    return await _issue(platform, client, account.id, chosen, own)


async def issue_for_application(platform: IdentityPlatform, client: RegisteredClient, chosen: Chosen) -> AccessToken:
    """A token with which the program acts by itself."""
    own: dict[str, object] = {"idtyp": "app", "roles": list(chosen.names)}
    return await _issue(platform, client, client.id, chosen, own)


async def _issue(
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
