"""What is given out once and recognised later: codes, refresh tokens, cookies. Long and random, so a plain digest of it
tells nobody anything."""

from hashlib import sha256
from secrets import token_urlsafe

_BYTES = 32


def new_secret() -> str:
    """A secret that nobody guesses, in letters that need no quoting in an address or a cookie."""
    return token_urlsafe(_BYTES)


def digest_of(secret: str) -> bytes:
    """What is stored of it."""
    # Whatever is sent has a digest, also what could not be stored as text.
    return sha256(secret.encode("utf-8", "surrogatepass")).digest()
