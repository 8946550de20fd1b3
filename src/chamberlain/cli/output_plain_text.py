"""Text from elsewhere, made harmless to a terminal: what it shows is text, and never a command."""

from chamberlain.core.text import CONTROLS, one_line


def lines(text: str) -> str:
    """The text with its line breaks, without other control characters."""
    return "\n".join(one_line(line) for line in text.split("\n"))


def escaped(document: str) -> str:
    """A JSON document with control characters as escapes, where JSON would let them stand as they are."""
    return CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", document)
