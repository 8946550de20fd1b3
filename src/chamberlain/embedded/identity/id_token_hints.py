"""A token of ours that a program shows to say whom it means (OpenID Connect Core, 3.1.2.1: id_token_hint)."""

from dataclasses import dataclass
from uuid import UUID

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from chamberlain.embedded.identity.identity_platform import IdentityPlatform, issuer_of
from chamberlain.embedded.identity.signatures import TokenType


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
