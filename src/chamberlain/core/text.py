# SPDX-License-Identifier: Apache-2.0
"""Clean texts of users and other servers."""

import re
from typing import Final

# C0 and C1 controls, DEL, direction marks (they can make a name show another text), line breaks, and surrogates.
CONTROLS: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
# Control characters of Unicode (category Cc) without tab and line breaks, and surrogates.
_UNREADABLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
# Bidirectional embeddings, overrides and isolates: a name with one can show another text than it has. The inside of a
# character class, as are the next two.
DIRECTIONS: Final = r"\u202a-\u202e\u2066-\u2069"
# Characters that show nothing: Default_Ignorable_Code_Point of Unicode 16, annotation marks, the empty Braille pattern.
INVISIBLE: Final = (
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    r"\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_VISIBLE = re.compile(rf"[^\s{INVISIBLE}]")
_HIDDEN = re.compile(rf"[{INVISIBLE}]")
_REFUSED = re.compile(f"{_UNREADABLE.pattern[:-1]}{DIRECTIONS}]")
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
    """Find the first character that no text may have.

    These are surrogates, bidirectional controls, and control characters other than tab and line breaks.
    """
    found = None if text.isprintable() else _REFUSED.search(text)
    return None if found is None else found[0]


def is_blank(text: str) -> bool:
    """Return whether a text has only white space and invisible characters."""
    return not text.strip() or (not text.isascii() and _VISIBLE.search(text) is None)


def has_hidden(text: str) -> bool:
    """Return whether a text has invisible characters, such as bidirectional controls."""
    return not text.isascii() and _HIDDEN.search(text) is not None


def replace_unreadable(text: str) -> str:
    """Replace unreadable characters by U+FFFD.

    These are surrogates, and control characters other than tab and line breaks.
    """
    return text if text.isprintable() else _UNREADABLE.sub("\N{REPLACEMENT CHARACTER}", text)
