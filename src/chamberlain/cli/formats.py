# SPDX-License-Identifier: Apache-2.0
"""Output formats of commands: table, JSON, YAML, CSV and names.

A terminal gets tables that fit it. A pipe gets a stable form: one line per row, with tabs between full values.
"""

import csv
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import Self

from chamberlain.cli import terminal
from chamberlain.cli.errors import Misused
from chamberlain.cli.output import Column, Record, escaped, safe_cell, say, show_json, value_at, written
from chamberlain.core.text import CONTROLS, one_line


class Format(StrEnum):
    """Format of standard output."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    CSV = "csv"
    NAME = "name"


@dataclass(frozen=True, slots=True)
class Output:
    """Prints objects as the options say.

    With `in_lines`, JSON is one document per line. `fields` are paths; without any, all members are printed.
    """

    format: Format = Format.TABLE
    in_lines: bool = False
    jq: str | None = None
    fields: tuple[str, ...] = ()

    @classmethod
    def from_options(cls, chosen: Format | None, *, as_json: bool, jq: str | None, fields: str | None) -> Self:
        """Combine the options. Raises Misused if they conflict."""
        if as_json and chosen not in {None, Format.JSON}:
            raise Misused(f"Use either --json or --output {chosen}.")
        if jq is not None and chosen not in {None, Format.JSON}:
            raise Misused(f"--jq needs JSON. Leave out --output {chosen}.")
        names = tuple(name.strip() for name in (fields or "").split(",") if name.strip())
        if fields is not None and not names:
            raise Misused("--fields needs a name, such as --fields id,displayName.")
        if names and chosen is Format.NAME:
            raise Misused("--output name prints only ids. Leave out --fields.")
        default = Format.TABLE if jq is None and not as_json else Format.JSON
        return cls(chosen or default, as_json and chosen is None, jq, names)

    @property
    def is_json(self) -> bool:
        """Whether standard output is JSON."""
        return self.format is Format.JSON

    @property
    def is_table(self) -> bool:
        """Whether people read the output."""
        return self.format is Format.TABLE

    @property
    def is_document(self) -> bool:
        """Whether whole documents are printed, in place of rows."""
        return self.format in {Format.JSON, Format.YAML}

    def show(self, record: Record, summary: Sequence[str] = ()) -> None:
        """Print one object.

        A terminal gets the members of `summary` only, if it names any.
        """
        self._require_fields([record])
        match self.format:
            case Format.TABLE:
                shown = self.fields or (summary if terminal.is_terminal() else ())
                _show_members({path: value_at(record, path) for path in shown} if shown else record)
            case Format.JSON:
                self._show_json(self._part(record))
            case Format.YAML:
                _show_yaml(self._part(record))
            case Format.CSV:
                row = self._chosen(record) if self.fields else dict(_members(record, ""))
                _show_csv([*row], [list(row.values())])
            case Format.NAME:
                print(_id(record))

    def show_records(self, records: Iterable[Record], columns: Sequence[Column], noun: str) -> None:
        """Print a list. An empty one is reported on standard error.

        `noun` is the plural of its objects, such as `mailboxes`.
        """
        rest = iter(records)
        first = next(rest, None)
        found: Iterable[Record] = () if first is None else chain((first,), rest)
        if first is None and (self.in_lines or not self.is_document):
            say(f"There are no {noun}.")
        elif self.format is Format.TABLE and not self.fields and not terminal.is_terminal():
            for record in found:
                _show_row(columns, record)
        elif self.in_lines:
            for record in found:
                self.show_next(record, columns)
        else:
            self._show_whole(list(found), columns)

    def show_next(self, record: Record, columns: Sequence[Column]) -> None:
        """Print the next record of a stream, without titles."""
        self._require_fields([record], columns)
        match self.format:
            case Format.JSON if self.jq is None:
                show_json(self._part(record))
            case Format.JSON:
                self._show_json(self._part(record))
            case Format.YAML:
                print("---")
                _show_yaml(self._part(record))
            case Format.CSV:
                _show_csv([], [[value_at(record, each.path) for each in self._columns(columns)]])
            case Format.NAME:
                print(_id(record), flush=True)
            case Format.TABLE if terminal.is_terminal():
                from chamberlain.cli.tables import draw_row

                print(draw_row(self._columns(columns), record), flush=True)
            case Format.TABLE:
                _show_row(self._columns(columns), record)

    def _show_whole(self, records: Sequence[Record], columns: Sequence[Column]) -> None:
        self._require_fields(records, columns)
        chosen = self._columns(columns)
        match self.format:
            case Format.JSON:
                self._show_json([self._part(each) for each in records])
            case Format.YAML:
                _show_yaml([self._part(each) for each in records])
            case Format.CSV:
                rows = ([value_at(record, each.path) for each in chosen] for record in records)
                _show_csv([each.path for each in chosen], rows)
            case Format.NAME:
                print("\n".join(_id(each) for each in records), flush=True)
            case Format.TABLE if terminal.is_terminal():
                _draw(chosen, records)
            case Format.TABLE:
                for record in records:
                    _show_row(chosen, record)

    def _show_json(self, document: object) -> None:
        if self.jq is not None:
            for each in _filtered(self.jq, document):
                if isinstance(each, str):
                    print(_escaped_lines(each), flush=True)
                else:
                    show_json(each)
        elif self.in_lines:
            show_json(document)
        else:
            print(_escaped_lines(json.dumps(document, ensure_ascii=False, indent=2)), flush=True)

    def _columns(self, columns: Sequence[Column]) -> Sequence[Column]:
        titles = {each.path: each.title for each in columns}
        return [Column(titles.get(path, _title(path)), path) for path in self.fields] or columns

    def _chosen(self, record: Record) -> dict[str, object]:
        return {path: value_at(record, path) for path in self.fields}

    def _part(self, record: Record) -> Record:
        """Return the chosen members of a record, nested as before."""
        if not self.fields:
            return record
        part: dict[str, object] = {}
        for path, value in self._chosen(record).items():
            *outer, last = path.split(".")
            inner = part
            for name in outer:
                inner = inner.setdefault(name, {})  # type: ignore[assignment]  # Its values are these objects.
            inner[last] = value
        return part

    def _require_fields(self, records: Sequence[Record], columns: Sequence[Column] = ()) -> None:
        """Raise Misused for a field that no record has."""
        if not self.fields:
            return
        known = dict.fromkeys(path for record in records for path in _paths(record, ""))
        known |= dict.fromkeys(column.path for column in columns)
        for name in self.fields:
            if name not in known:
                raise Misused(f"--fields {name}: there is no such field. Known fields: {', '.join(known)}.")


def _draw(columns: Sequence[Column], records: Sequence[Record]) -> None:
    """Print a table on the terminal, with bold titles."""
    from chamberlain.cli.tables import draw_table

    title, *rows = draw_table(columns, records, terminal.now(), room=terminal.columns())
    print(title if terminal.is_plain() else f"\x1b[1m{title}\x1b[0m", *rows, sep="\n", flush=True)


# Their sentences are printed by `reason` and `warnings`.
_FOR_PROGRAMS = frozenset({"reasonCode", "reasonValues", "shortfall", "warningReasons"})


def _show_members(record: Record) -> None:
    """Print one line per member that has a value.

    Names of nested members are joined by dots.
    """
    if terminal.is_terminal():
        from chamberlain.cli.tables import draw_members, local_times

        members = [(name, written(value)) for name, value in _members(local_times(record), "")]
        print(*draw_members(members, room=terminal.columns()), sep="\n", flush=True)
        return
    members = [(name, written(value)) for name, value in _members(record, "")]
    width = max((len(name) for name, _ in members), default=0)
    for name, value in members:
        print(f"{name:{width}}  {value}".rstrip())
    sys.stdout.flush()


def _members(record: Record, before: str) -> Iterator[tuple[str, object]]:
    for name, value in record.items():
        if value is None or value in ("", [], {}) or name in _FOR_PROGRAMS:
            continue
        if isinstance(value, Mapping):
            yield from _members(value, f"{before}{one_line(name)}.")
        elif isinstance(value, list) and all(isinstance(each, Mapping) for each in value):
            for number, each in enumerate(value, start=1):
                yield from _members(each, f"{before}{one_line(name)}.{number}.")
        else:
            yield f"{before}{one_line(name)}", value


def _paths(record: Record, before: str) -> Iterator[str]:
    for name, value in record.items():
        yield f"{before}{name}"
        if isinstance(value, Mapping):
            yield from _paths(value, f"{before}{name}.")


def _title(path: str) -> str:
    """Spell a path as a title: `template.displayName` is `TEMPLATE DISPLAY NAME`."""
    return "".join(f" {sign}" if sign.isupper() else sign for sign in path.replace(".", " ")).upper()


def _id(record: Record) -> str:
    # The response to a request for a group that exists has both ids.
    found = record.get("id") or value_at(record, "group.id") or record.get("requestId") or record.get("name")
    if found is None:
        raise Misused("--output name: this has no id.")
    return written(found)


def _show_row(columns: Sequence[Column], record: Record) -> None:
    print("\t".join(written(value_at(record, each.path)) for each in columns), flush=True)


def _show_csv(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    if titles:
        writer.writerow(titles)
    for row in rows:
        writer.writerow([safe_cell(written(value)) for value in row])
    sys.stdout.flush()


def _show_yaml(document: object) -> None:
    import yaml

    class Dumper(yaml.SafeDumper):
        """Quotes texts with control characters, so that they can be escaped."""

    def quoted(dumper: Dumper, text: str) -> yaml.Node:
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"' if CONTROLS.search(text) else None)

    Dumper.add_representer(str, quoted)
    # Records of single objects are of a type derived from dict.
    Dumper.add_multi_representer(dict, Dumper.represent_dict)
    text = yaml.dump(document, Dumper=Dumper, allow_unicode=True, sort_keys=False, width=sys.maxsize)
    print(_escaped_lines(text), end="", flush=True)


def _escaped_lines(document: str) -> str:
    return "\n".join(map(escaped, document.split("\n")))


def _filtered(expression: str, document: object) -> Iterator[object]:
    """Apply a jq expression. Raises Misused if it is invalid or fails."""
    import jq  # type: ignore[import-not-found]  # A compiled module without types.

    try:
        program = jq.compile(expression)
        yield from program.input_text(json.dumps(document))
    except ValueError as error:
        raise Misused(f"--jq {expression}: {str(error).splitlines()[0]}") from error
