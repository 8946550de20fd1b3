"""Text from elsewhere, made harmless to a terminal: what it shows is text, and never a command."""

import re

# C0 and C1 controls, DEL, what turns the direction of writing, and what breaks a line.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def one_line(text: str) -> str:
    """The text in one line, without control characters; what breaks a line or moves in it is a space."""
    return _CONTROLS.sub("", re.sub("[\t\n\v\f\r\x85\u2028\u2029]+", " ", text))


def lines(text: str) -> str:
    """The text with its line breaks, without other control characters."""
    return "\n".join(one_line(line) for line in text.split("\n"))


def escaped(document: str) -> str:
    """A JSON document with control characters as escapes, where JSON would let them stand as they are."""
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", document)
