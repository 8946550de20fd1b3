"""Output of commands: JSON for programs, tables and sentences for people.

A terminal gets tables by rich. Pipes get one row per line, with tabs between cells. External text is never interpreted
as markup or as terminal escape codes.
"""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from chamberlain.core.text import CONTROLS, one_line


def lines(text: str) -> str:
    """Remove control characters, except line breaks."""
    return "\n".join(one_line(line) for line in text.split("\n"))


def escaped(document: str) -> str:
    """Escape control characters that JSON allows unescaped."""
    return CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", document)


# An object of a JSON document.
Record = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Column:
    """Title and value path of a table column.

    The path has names joined by dots.
    """

    title: str
    path: str


def say(sentence: str) -> None:
    """Print a message to standard error."""
    print(lines(sentence), file=sys.stderr, flush=True)


def show_json(document: object) -> None:
    """Print one JSON document in one line."""
    print(escaped(json.dumps(document, ensure_ascii=False, separators=(", ", ": "))), flush=True)


def show_table(columns: Sequence[Column], records: Iterable[Record]) -> None:
    """Print one row per record."""
    rows = ([written(value_at(record, column.path)) for column in columns] for record in records)
    if sys.stdout.isatty():
        _show_on_terminal([column.title for column in columns], rows)
        return
    for row in rows:
        print("\t".join(row), flush=True)


def show_record(record: Record) -> None:
    """Print one line per non-empty member.

    Names of nested members are joined by dots.
    """
    members = list(_members(record, ""))
    width = max((len(name) for name, _ in members), default=0)
    for name, value in members:
        print(f"{name:{width}}  {value}".rstrip())
    sys.stdout.flush()


def value_at(record: Record, path: str) -> object:
    """Return the value at a dotted path, or None."""
    value: object = record
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


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


def _members(record: Record, before: str) -> Iterable[tuple[str, str]]:
    for name, value in record.items():
        if value is None or value in ("", [], {}):
            continue
        if isinstance(value, Mapping):
            yield from _members(value, f"{before}{one_line(name)}.")
        elif isinstance(value, list) and all(isinstance(each, Mapping) for each in value):
            for number, each in enumerate(value, start=1):
                yield from _members(each, f"{before}{one_line(name)}.{number}.")
        else:
            yield f"{before}{one_line(name)}", written(value)


def _show_on_terminal(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, title in enumerate(titles):
        # Other commands take the id in the first column, so it is never cut.
        table.add_column(title, no_wrap=number == 0, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console(highlight=False, markup=False, emoji=False).print(table)


def written_time(time: datetime) -> str:
    """Format a time for the API. Without a zone it is UTC."""
    zoned = time if time.tzinfo else time.replace(tzinfo=UTC)
    return zoned.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
