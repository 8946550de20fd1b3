"""What `$skiptoken` holds: the last entry of the page before, by its id and what it was sorted by.

Nobody can be kept from making one up, and nobody gains by it: it names a place in a list of the caller's own tenant,
and reaches the database as a parameter. The digest tells a token that was cut, changed or taken from another query from
one that was made for this query; otherwise entries would be left out without a word.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from uuid import UUID

import msgspec

from chamberlain.embedded.directory.errors import BadQuery
from chamberlain.embedded.directory.graph.orders import KeyValue

_DIGEST_BYTES = 12


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a list: behind the entry of this id. `key` is what the entry is sorted by, where that is not the id;
    None is an entry that has no such value."""

    id: UUID
    key: KeyValue | None = None


class _Written(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    id: UUID
    key: str | None


_decoder = msgspec.json.Decoder(_Written)


def write_skip_token(place: Place, query: Sequence[str | None]) -> str:
    """The place as a token that is good for this query only."""
    key = place.key.isoformat() if isinstance(place.key, datetime) else place.key
    content = msgspec.json.encode(_Written(place.id, key))
    return _encoded(_digest(content, query) + content)


def read_skip_token(token: str, query: Sequence[str | None], *, key_is_time: bool) -> Place:
    """The place. Raises BadQuery for a token that was not made for this query."""
    try:
        raw = urlsafe_b64decode(token + "=" * (-len(token) % 4))
        content = raw[_DIGEST_BYTES:]
        written = _decoder.decode(content)
        key = _time(written.key) if key_is_time else written.key
    except ValueError:
        raise _unknown() from None
    # The decoder overlooks what is no letter of it.
    is_ours = _encoded(raw) == token and raw[:_DIGEST_BYTES] == _digest(content, query)
    # No text of the database holds a NUL, and it takes none.
    if not is_ours or "\x00" in (written.key or ""):
        raise _unknown()
    return Place(written.id, key)


def _encoded(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")


def _digest(content: bytes, query: Sequence[str | None]) -> bytes:
    return blake2b(msgspec.json.encode((query, content)), digest_size=_DIGEST_BYTES).digest()


def _time(written: str | None) -> datetime | None:
    if written is None:
        return None
    time = datetime.fromisoformat(written)
    # The database would take one without an offset for its own.
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


def _unknown() -> BadQuery:
    return BadQuery("BadRequest", "The query parameter '$skiptoken' was not made by this service for this query.")
