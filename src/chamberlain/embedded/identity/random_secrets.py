"""Random secrets, stored as SHA-256 digests.

These are codes, refresh tokens, cookies and client secrets. They are long and random, so a plain digest is safe and
fast.
"""

import hmac
from hashlib import sha256
from secrets import token_urlsafe

_BYTES = 32
_PREFIX = "sha256$"


def new_secret() -> str:
    """Generate a secret that needs no quoting in addresses and cookies."""
    return token_urlsafe(_BYTES)


def digest_of(secret: str) -> bytes:
    """Return the digest that is stored."""
    # Callers may send surrogates, which are not valid UTF-8.
    return sha256(secret.encode("utf-8", "surrogatepass")).digest()


def hash_client_secret(secret: str) -> str:
    """Return the stored form of a client secret."""
    return f"{_PREFIX}{digest_of(secret).hex()}"


def is_client_secret_hash(stored: str) -> bool:
    """Check the format of a stored client secret.

    Earlier versions stored slow hashes, which have to be created again from the secret.
    """
    return stored.startswith(_PREFIX)


def verify_client_secret(secret: str, stored: str) -> bool:
    """Compare a secret with its stored form in constant time."""
    return hmac.compare_digest(hash_client_secret(secret).encode(), stored.encode())
