"""Clean texts of users and other servers."""

import re
from typing import Final

# C0 and C1 controls, DEL, direction marks (they can make a name show another text), line breaks, and surrogates.
CONTROLS: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
# Control characters of Unicode (category Cc) without tab and line breaks, and surrogates.
_UNREADABLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_BREAKS = re.compile("[\t\n\v\f\r\x85\u2028\u2029]+")
_CONTROL_BREAKS = re.compile("[\t\n\v\f\r\x85]+")


def one_line(text: str) -> str:
    """Convert a text to one line without control characters."""
    return CONTROLS.sub("", _BREAKS.sub(" ", text))


def clean_line(text: str) -> str:
    """Clean a name that another server sent: one line without control characters.

    Direction marks and Unicode line separators stay: a request may contain them, and drift detection compares names.
    """
    return text if text.isprintable() else _UNREADABLE.sub("", _CONTROL_BREAKS.sub(" ", text))


def clean_lines(text: str) -> str:
    """Clean a description of another server.

    Line breaks and tabs stay, other control characters are removed.
    """
    return text if text.isprintable() else _UNREADABLE.sub("", text)


def find_unreadable(text: str) -> str | None:
    """Find the first unreadable character.

    These are surrogates, and control characters other than tab and line breaks.
    """
    found = None if text.isprintable() else _UNREADABLE.search(text)
    return None if found is None else found[0]


def replace_unreadable(text: str) -> str:
    """Replace the characters of `find_unreadable` by U+FFFD."""
    return text if text.isprintable() else _UNREADABLE.sub("\N{REPLACEMENT CHARACTER}", text)
