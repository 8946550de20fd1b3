# SPDX-License-Identifier: Apache-2.0
"""The settings of an OpenStep property list as arguments of a GNUstep program."""

import re
from collections.abc import Iterator

# A comment, a quoted text, or one character.
_LEXEME = re.compile(r"/\*.*?\*/|\"(?:[^\"\\]|\\.)*\"|.", re.DOTALL)


def command_line(text: str) -> list[str]:
    """Return each setting of a dictionary as two arguments: its name with a hyphen, and its value.

    GNUstep parses a value as a property list, so a text with special characters keeps its quotes. The options of the
    application server, which begin with WO, are read as they are.
    """
    words = []
    for name, value in settings(text):
        words += [f"-{name}", value.strip('"') if name.startswith("WO") else value]
    return words


def settings(text: str) -> Iterator[tuple[str, str]]:
    """Yield the names and values of a dictionary, without comments and line breaks."""
    lexemes = [each for each in _LEXEME.findall(text) if not each.startswith("/*")]
    content = "".join(lexemes).strip().removeprefix("{").removesuffix("}")
    depth, part = 0, ""
    for each in _LEXEME.findall(content):
        depth += (each in "({") - (each in ")}")
        if each != ";" or depth:
            part += each
            continue
        name, _, value = part.partition("=")
        yield name.strip(), " ".join(value.split())
        part = ""
