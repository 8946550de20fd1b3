"""Encode columns of texts as one text each, which PostgreSQL splits.

The driver tests whether each element of an array is an array, which takes as long as all other work on a short text.
"""

from collections.abc import Sequence
from typing import Final

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
