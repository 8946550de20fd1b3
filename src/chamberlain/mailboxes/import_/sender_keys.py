"""What tells one row from every other, and whether a mailbox that is there is the one that a row asks for."""

import base64
import hashlib
import json
from collections.abc import Mapping

# What a record says in a case of its own, whichever was sent.
_IDS = {"templateId", "primaryOwner", "secondaryOwner"}


def row_key(place: str, body: Mapping[str, object]) -> str:
    """The idempotency key of a row: always the same for the same body at the same place, which names service and
    tenant. Nothing of it can be read in it."""
    written = json.dumps([place, body], ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return f"mailbox-import-{hashlib.sha256(written.encode('utf-8', 'surrogatepass')).hexdigest()}"


def place_of(server: str, token: str) -> str:
    """The service, and whose tenant a token is for. It is not checked: it only tells tenants apart."""
    try:
        payload = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (IndexError, ValueError):
        return server
    return f"{server} {claims.get('iss')} {claims.get('tid')}" if isinstance(claims, dict) else server


def is_as_asked(record: Mapping[str, object], body: Mapping[str, object]) -> bool:
    """Whether a mailbox has all that was asked for; it may have more, by its template."""
    return all(_same(name, record.get(name), wanted) for name, wanted in body.items())


def _same(name: str, found: object, wanted: object) -> bool:
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(_same("", found.get(key), value) for key, value in wanted.items())
    if name in _IDS:
        return str(found).lower() == str(wanted).lower()
    # True equals 1 to Python, and nobody else.
    return found == wanted and isinstance(found, bool) == isinstance(wanted, bool)
