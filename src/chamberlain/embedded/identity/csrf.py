"""Telling our own forms from those that another site makes a browser send.

A form has a token that only a page of ours can have: it is worked out from a secret in a cookie, which no other site
can read and, by its name, none can write. Beside that the browser itself says where the form came from.
"""

import hmac
from collections.abc import Mapping
from hashlib import sha256

from starlette.datastructures import Headers

TOKEN_FIELD = "form_token"  # noqa: S105 - the name of a field.


def token_for(key: str, purpose: str) -> str:
    """The token of a form that serves this purpose, for the browser that has the key."""
    return hmac.new(key.encode(), purpose.encode(), sha256).hexdigest()


def is_valid_token(form: Mapping[str, str], key: str | None, purpose: str) -> bool:
    """Whether a form has the token that we gave for this purpose to this browser."""
    if key is None:
        return False
    return hmac.compare_digest(form.get(TOKEN_FIELD, "").encode(), token_for(key, purpose).encode())


def is_same_origin(headers: Headers, origin: str) -> bool:
    """Whether the browser says that what it sends comes from a page of this origin.

    Our pages send no referrer, so browsers write `null` as their origin and the other header has to tell. One of the
    two must: every browser of the last years sends at least one.
    """
    site, told = headers.get("sec-fetch-site"), headers.get("origin")
    if site not in (None, "same-origin"):
        return False
    if told is None or told == "null":
        return site is not None
    return told == origin
