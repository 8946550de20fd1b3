"""What is given out once and recognised later: codes, refresh tokens, cookies. Long and random, so a plain digest of it
tells nobody anything."""

import hmac
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


_FORM = "sha256$"


def hash_client_secret(secret: str) -> str:
    """What is stored of a secret."""
    return f"{_FORM}{digest_of(secret).hex()}"


def is_client_secret_hash(stored: str) -> bool:
    """Whether what is stored is of this form; another one has to be made anew from the secret."""
    return stored.startswith(_FORM)


def verify_client_secret(secret: str, stored: str) -> bool:
    """Whether it is the secret of which this is stored."""
    return hmac.compare_digest(hash_client_secret(secret).encode(), stored.encode())
