"""What commands show: JSON for programs on standard output, tables and sentences for people.

On a terminal tables are set by rich; elsewhere a row is a line, and a tab stands between its cells. Nothing that came
from elsewhere is taken as markup or as a command to the terminal.
"""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from chamberlain.core.text import CONTROLS, one_line


def lines(text: str) -> str:
    """The text with its line breaks, without other control characters."""
    return "\n".join(one_line(line) for line in text.split("\n"))


def escaped(document: str) -> str:
    """A JSON document with control characters as escapes, where JSON would let them stand as they are."""
    return CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", document)


# An object of a JSON document, as it came.
Record = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its title, and where its value stands in a record, as names joined by dots."""

    title: str
    path: str


def say(sentence: str) -> None:
    """Tell a person something that is no result."""
    print(lines(sentence), file=sys.stderr, flush=True)


def show_json(document: object) -> None:
    """Print one JSON document in one line."""
    print(escaped(json.dumps(document, ensure_ascii=False, separators=(", ", ": "))), flush=True)


def show_table(columns: Sequence[Column], records: Iterable[Record]) -> None:
    """Print records, one row each."""
    rows = ([written(value_at(record, column.path)) for column in columns] for record in records)
    if sys.stdout.isatty():
        _show_on_terminal([column.title for column in columns], rows)
        return
    for row in rows:
        print("\t".join(row), flush=True)


def show_record(record: Record) -> None:
    """Print an object, a line for each member that has a value; those of objects in it stand behind its name."""
    members = list(_members(record, ""))
    width = max((len(name) for name, _ in members), default=0)
    for name, value in members:
        print(f"{name:{width}}  {value}".rstrip())
    sys.stdout.flush()


def value_at(record: Record, path: str) -> object:
    """What stands in a record below names joined by dots; `None` when nothing does."""
    value: object = record
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def written(value: object) -> str:
    """A value as a person reads it, in one line."""
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
        # The first is what other commands take, and is never cut.
        table.add_column(title, no_wrap=number == 0, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console(highlight=False, markup=False, emoji=False).print(table)


def written_time(time: datetime) -> str:
    """A time as the API takes it; one without a zone is UTC."""
    zoned = time if time.tzinfo else time.replace(tzinfo=UTC)
    return zoned.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
