"""Columns of texts, each sent as one text that PostgreSQL takes apart.

The driver asks each element of an array whether it is an array itself, which takes as long as all else about a short
text.
"""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from asyncpg.pgproto import pgproto

# Control characters that no text of ours holds: JSON escapes them, and names are not allowed any.
BETWEEN: Final = "\x1f"
NOTHING: Final = "\x1e"


class NotJoinable(ValueError):
    """A text holds a character that stands between texts, or for one that is not there."""


def apart(parameter: str) -> str:
    """The SQL that makes an array of the text that `joined` has made, which stands in a parameter such as `$3`."""
    return rf"string_to_array({parameter}, E'\x1f', E'\x1e')"


def joined(column: Sequence[str | None]) -> str:
    """A column of texts, none of which is empty, as one. Where nothing stands in it, nothing is sent: the array is
    empty, and what is read of it null. Raises NotJoinable."""
    if not any(column):
        return ""
    together = BETWEEN.join([NOTHING if text is None else text for text in column])
    if together.count(BETWEEN) != len(column) - 1 or together.count(NOTHING) != column.count(None):
        raise NotJoinable
    return together


_LENGTH = 16
# Where an id of version 4 says so, and what that leaves of the random bits (RFC 9562, 5.4).
_VERSION, _VARIANT = 6, 8
_OF_VERSION_4 = bytes(byte & 0x0F | 0x40 for byte in range(256))
_OF_ITS_VARIANT = bytes(byte & 0x3F | 0x80 for byte in range(256))


def random_ids(drawn: bytes) -> Sequence[UUID]:
    """An id of version 4 for every sixteen random bytes."""
    marked = bytearray(drawn)
    marked[_VERSION::_LENGTH] = drawn[_VERSION::_LENGTH].translate(_OF_VERSION_4)
    marked[_VARIANT::_LENGTH] = drawn[_VARIANT::_LENGTH].translate(_OF_ITS_VARIANT)
    return [pgproto.UUID(bytes(marked[start : start + _LENGTH])) for start in range(0, len(marked), _LENGTH)]
