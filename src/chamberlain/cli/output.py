# SPDX-License-Identifier: Apache-2.0
"""Print text, JSON and single values safely.

External text is never interpreted as markup or as terminal escape codes.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from textwrap import fill

from chamberlain.cli import terminal
from chamberlain.core.text import CONTROLS, one_line

# An object of a JSON document.
Record = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Column:
    """Title and value path of a table column.

    The path has names joined by dots. A wide column is shown where the terminal has room for it.
    """

    title: str
    path: str
    wide: bool = False


def lines(text: str) -> str:
    """Remove control characters, except line breaks."""
    return "\n".join(one_line(line) for line in text.split("\n"))


def escaped(document: str) -> str:
    """Escape control characters that JSON allows unescaped."""
    return CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", document)


def say(sentence: str) -> None:
    """Print a message to standard error.

    A terminal gets lines that end between words.
    """
    text = lines(sentence)
    if sys.stderr.isatty():
        text = "\n".join(map(_wrapped, text.split("\n")))
    print(text, file=sys.stderr, flush=True)


def _wrapped(line: str) -> str:
    indent = " " * (len(line) - len(line.lstrip()))
    width = terminal.columns()
    # An address or a command stays whole so that it can be copied.
    return fill(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def show_json(document: object) -> None:
    """Print one JSON document in one line."""
    print(escaped(json.dumps(document, ensure_ascii=False, separators=(", ", ": "))), flush=True)


def value_at(record: Record, path: str) -> object:
    """Return the value at a dotted path, or None."""
    value: object = record
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def on_behalf(name: object, approver: object) -> str:
    """Name a substitute with the approver, or one user alone."""
    return written(name) if approver is None else f"{written(name)} for {written(approver)}"


def written(value: object) -> str:
    """Format a value for people, in one line."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case str():
            return one_line(value)
        case list() if all(isinstance(each, str) for each in value):
            return one_line(", ".join(value))
        case int() | float():
            return str(value)
        case _:
            return escaped(json.dumps(value, ensure_ascii=False))


def safe_cell(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula (OWASP, "CSV Injection")."""
    return f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell


def written_time(time: datetime) -> str:
    """Format a time for the API. Without a zone it is UTC."""
    zoned = time if time.tzinfo else time.replace(tzinfo=UTC)
    return zoned.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
