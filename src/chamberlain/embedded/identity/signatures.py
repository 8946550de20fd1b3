"""Tokens get their signature here, with their type in the header: one kind can never be taken for another."""

from enum import StrEnum

from joserfc import jwt

from chamberlain.embedded.identity.identity_platform import IdentityPlatform


class TokenType(StrEnum):
    """The type of access tokens is RFC 9068's (2.1); tokens that tell a program who signed in have the plain one."""

    ACCESS = "at+jwt"
    ID = "JWT"


async def sign(platform: IdentityPlatform, token_type: TokenType, claims: dict[str, object]) -> str:
    """The claims as a token that the platform's public keys prove."""
    key = await platform.keys.current()
    header = {"alg": "RS256", "typ": token_type.value, "kid": key.id}
    return jwt.encode(header, claims, key.pair, algorithms=["RS256"])
