"""Clean texts that come from users and other servers, before they are shown or stored."""

import re
from typing import Final

# C0 and C1 controls, DEL, what turns the direction of writing (a name could show a sentence that nobody has written),
# what breaks a line, and halves of surrogate pairs, which are no text.
CONTROLS: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
# The control characters of Unicode (category Cc) without tab and line breaks, and halves of surrogate pairs.
_UNREADABLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_BREAKS = re.compile("[\t\n\v\f\r\x85\u2028\u2029]+")
_CONTROL_BREAKS = re.compile("[\t\n\v\f\r\x85]+")


def one_line(text: str) -> str:
    """The text in one line, without control characters; what breaks a line or moves in it is a space."""
    return CONTROLS.sub("", _BREAKS.sub(" ", text))


def clean_line(text: str) -> str:
    """Clean a name that another server sent: one line without control characters.

    Direction marks and Unicode line separators stay: a request may contain them, and drift detection compares names.
    """
    return text if text.isprintable() else _UNREADABLE.sub("", _CONTROL_BREAKS.sub(" ", text))


def clean_lines(text: str) -> str:
    """Clean a description that another server sent: line breaks and tabs stay, other control characters do not."""
    return text if text.isprintable() else _UNREADABLE.sub("", text)


def find_unreadable(text: str) -> str | None:
    """Find the first control character other than tab and line breaks, or half of a surrogate pair."""
    found = None if text.isprintable() else _UNREADABLE.search(text)
    return None if found is None else found[0]


def replace_unreadable(text: str) -> str:
    """Replace what `find_unreadable` finds by U+FFFD, so that a reader sees that something was there."""
    return text if text.isprintable() else _UNREADABLE.sub("\N{REPLACEMENT CHARACTER}", text)
