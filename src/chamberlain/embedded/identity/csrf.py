"""CSRF protection: a form token and the reported origin.

The token is derived from a secret cookie. Other sites cannot read the cookie. Its name prefix `__Host-` keeps them from
setting it.
"""

import hmac
from collections.abc import Mapping
from hashlib import sha256

from starlette.datastructures import Headers

TOKEN_FIELD = "form_token"  # noqa: S105 - the name of a field.


def token_for(key: str, purpose: str) -> str:
    """Return the token of a form, by browser key and purpose."""
    return hmac.new(key.encode(), purpose.encode(), sha256).hexdigest()


def is_valid_token(form: Mapping[str, str], key: str | None, purpose: str) -> bool:
    """Verify the token of a form.

    Without a key no token is valid.
    """
    if key is None:
        return False
    return hmac.compare_digest(form.get(TOKEN_FIELD, "").encode(), token_for(key, purpose).encode())


def is_same_origin(headers: Headers, origin: str) -> bool:
    """Check that the browser reports our own origin.

    Our pages send no referrer, so browsers send the origin `null`, and Sec-Fetch-Site decides. At least one of the two
    headers is required: all current browsers send one.
    """
    site, sent_origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site not in (None, "same-origin"):
        return False
    if sent_origin is None or sent_origin == "null":
        return site is not None
    return sent_origin == origin
