"""Cursors: positions in lists, sealed to tenant, caller, path and filters, so that they mean nothing anywhere else."""

import base64
import binascii
from collections.abc import Callable
from typing import TypeVar

import msgspec

from chamberlain.core.errors import Malformed
from chamberlain.core.paging import FeedPosition, NamePosition, Position
from chamberlain.secrets.keyring import Keyring, KeysUnusable

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Position).decode
_decode_name = msgspec.json.Decoder(NamePosition).decode
_decode_feed = msgspec.json.Decoder(FeedPosition).decode

Place = TypeVar("Place", Position, NamePosition, FeedPosition)


class Cursors:
    """Makes cursors of positions, and positions of cursors. `place` says for whom and for which list a cursor is."""

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring

    def seal(self, position: Position | NamePosition | FeedPosition, place: str) -> str:
        """A text that only we can read."""
        sealed = self._keyring.seal(_encode(position), f"cursor {place}")
        return base64.urlsafe_b64encode(sealed).decode().rstrip("=")

    def open(self, cursor: str, place: str) -> Position:
        """The position. Raises Malformed for a cursor of another place, and for anything that is none."""
        return self._open(cursor, place, _decode)

    def open_named(self, cursor: str, place: str) -> NamePosition:
        """The same for a list that is sorted by name."""
        return self._open(cursor, place, _decode_name)

    def open_feed(self, cursor: str, place: str) -> FeedPosition:
        """The same for a feed."""
        return self._open(cursor, place, _decode_feed)

    def _open(self, cursor: str, place: str, decode: Callable[[bytes], Place]) -> Place:
        try:
            # Signs that are none of the alphabet make it something else, and are not passed over.
            sealed = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
            return decode(self._keyring.open(sealed, f"cursor {place}"))
        except (binascii.Error, KeysUnusable, msgspec.MsgspecError, UnicodeError, ValueError, IndexError) as error:
            detail = "This cursor does not belong to this list with these filters. Begin again without one."
            raise Malformed("invalidCursor", detail) from error
