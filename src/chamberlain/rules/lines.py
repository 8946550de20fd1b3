"""Text from somebody, or from another server, as one line that does nothing where it is shown or kept."""

import re
from typing import Final

# C0 and C1 controls, DEL, what turns the direction of writing (a name could show a sentence that nobody has written),
# what breaks a line, and halves of surrogate pairs, which are no text.
CONTROLS: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_BREAKS = re.compile("[\t\n\v\f\r\x85\u2028\u2029]+")


def one_line(text: str) -> str:
    """The text in one line, without control characters; what breaks a line or moves in it is a space."""
    return CONTROLS.sub("", _BREAKS.sub(" ", text))
