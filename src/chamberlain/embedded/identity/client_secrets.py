"""Secrets of programs: made by the service, long and random, so a plain digest of one tells nobody anything.

Anybody may send as many wrong ones as he likes: to look at one takes neither the processor nor the place of another.
"""

import hmac

from chamberlain.embedded.identity.random_secrets import digest_of

_FORM = "sha256$"


def kept(secret: str) -> str:
    """What is stored of a secret."""
    return f"{_FORM}{digest_of(secret).hex()}"


def is_kept_well(stored: str) -> bool:
    """Whether what is stored is of this form; another one has to be made anew from the secret."""
    return stored.startswith(_FORM)


def is_right(secret: str, stored: str) -> bool:
    """Whether it is the secret of which this is stored."""
    return hmac.compare_digest(kept(secret).encode(), stored.encode())
