# SPDX-License-Identifier: Apache-2.0
"""Encrypt list positions as cursors, for one caller and list each."""

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
    """Encrypts positions as cursors, and decrypts them.

    `place` names the caller and the list.
    """

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring

    def seal(self, position: Position | NamePosition | FeedPosition, place: str) -> str:
        """Encrypt a position."""
        sealed = self._keyring.seal(_encode(position), f"cursor {place}")
        return base64.urlsafe_b64encode(sealed).decode().rstrip("=")

    def open(self, cursor: str, place: str) -> Position:
        """Decrypt a cursor. Raises Malformed for another place's cursor.

        An invalid cursor raises it as well.
        """
        return self._open(cursor, place, _decode)

    def open_named(self, cursor: str, place: str) -> NamePosition:
        """Decrypt a cursor of a list that is sorted by name."""
        return self._open(cursor, place, _decode_name)

    def open_feed(self, cursor: str, place: str) -> FeedPosition:
        """Decrypt a cursor of a feed."""
        return self._open(cursor, place, _decode_feed)

    def _open(self, cursor: str, place: str, decode: Callable[[bytes], Place]) -> Place:
        try:
            # Validation rejects characters outside of the alphabet, which would be ignored otherwise.
            sealed = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
            return decode(self._keyring.open(sealed, f"cursor {place}"))
        except (binascii.Error, KeysUnusable, msgspec.MsgspecError, UnicodeError, ValueError, IndexError) as error:
            detail = "This cursor does not belong to this list with these filters. Start again without a cursor."
            raise Malformed("invalidCursor", detail) from error
