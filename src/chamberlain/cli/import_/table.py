# SPDX-License-Identifier: Apache-2.0
"""Rows of a CSV file, and how their cells are parsed."""

import csv
import difflib
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto

import msgspec
from msgspec import inspect

from chamberlain.core.errors import BodyInvalid
from chamberlain.core.ids import WRITTEN_ID
from chamberlain.core.text import find_unreadable


class Kind(Enum):
    """How the cells of a column are written."""

    TEXT = auto()
    NUMBER = auto()
    BOOLEAN = auto()
    LIST = auto()


def columns_of(shape: inspect.Type, name: str = "") -> Iterator[tuple[str, Kind]]:
    """Derive columns from the body of the API."""
    match shape:
        case inspect.Metadata(type=inner):
            yield from columns_of(inner, name)
        case inspect.UnionType(types=types):
            for each in types:
                yield from columns_of(each, name)
        case inspect.StructType(fields=fields):
            for member in fields:
                yield from columns_of(member.type, f"{name}.{member.encode_name}".removeprefix("."))
        case inspect.StrType():
            yield name, Kind.TEXT
        case inspect.IntType():
            yield name, Kind.NUMBER
        case inspect.BoolType():
            yield name, Kind.BOOLEAN
        case inspect.VarTupleType():
            yield name, Kind.LIST
        case _:
            # Permissions and metadata have free keys, and columns of their own.
            pass


# A column of ours: a template by its name or its id.
TEMPLATE = "template"
METADATA = "metadata."
_BOOLEAN_WORDS = {"true": True, "false": False}


class CellFault(Exception):
    """A cell is invalid. The message says which value is expected."""


def metadata_fault(column: str) -> str | None:
    """Why a column of metadata is invalid."""
    return None if column != METADATA else "The key is missing: write metadata.<key>."


def unknown_column(noun: str, name: str, known: Iterable[str]) -> str:
    """Describe an unknown column with the nearest known one."""
    # Letter case is the most frequent mistake, and weighs too much in a comparison.
    folded = {each.casefold(): each for each in known}
    nearest = difflib.get_close_matches(name.casefold(), folded, n=1)
    cure = f"Did you mean {folded[nearest[0]]}?" if nearest else "Rename or remove it."
    return f"{noun} has no such property. {cure}"


def put_metadata(body: dict[str, object], column: str, cell: str) -> None:
    """Parse a cell of metadata into a body."""
    object_in(body, "metadata")[column.removeprefix(METADATA)] = _BOOLEAN_WORDS.get(cell, cell)


def put_property(body: dict[str, object], column: str, kind: Kind, cell: str) -> None:
    """Parse a cell of a property into a body. Raises CellFault."""
    outer, _, inner = column.partition(".")
    value = _value(kind, cell)
    if inner:
        object_in(body, outer)[inner] = value
    else:
        body[column] = value


def _value(kind: Kind, cell: str) -> object:
    match kind:
        case Kind.TEXT:
            return cell
        case Kind.NUMBER:
            if re.fullmatch(r"\s*\d{1,12}\s*", cell) is None:
                raise CellFault(f"{cell!r} is no whole number. Write digits alone, such as 12.")
            return int(cell)
        case Kind.BOOLEAN:
            value = _BOOLEAN_WORDS.get(cell.strip().lower())
            if value is None:
                raise CellFault(f"{cell!r} is neither true nor false.")
            return value
        case Kind.LIST:
            return parts_of(cell)


def parts_of(cell: str) -> list[str]:
    """Split the cell of a list."""
    return [part.strip() for part in cell.split(";") if part.strip()]


def object_in(body: dict[str, object], name: str) -> dict[str, object]:
    """Return a nested object of a body, new if it is missing."""
    found = body.setdefault(name, {})
    # Only this module writes there.
    assert isinstance(found, dict)  # noqa: S101 - it tells the type checker so.
    return found


# docs/how-to/import-mailboxes.md and the other imports: more than that is several imports.
MOST_BYTES, MOST_ROWS = 10 * 1024 * 1024, 50_000

_BYTE_ORDER_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class FileFault:
    """An error in a file: line, column and fix.

    Lines are counted from 1. The column is None for an error of a whole row or file.
    """

    line: int
    column: str | None
    detail: str

    def __str__(self) -> str:
        place = f"line {self.line}" if self.column is None else f"line {self.line}, {self.column}"
        return f"{place}: {self.detail}"


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row: its first line, and its non-empty cells by column."""

    line: int
    cells: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Table:
    """The parsed rows, and the faults."""

    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    faults: tuple[FileFault, ...]


def read_table(data: bytes) -> Table:
    """Read the rows of a UTF-8 file with column names.

    The first row names the columns; cells are separated by commas or semicolons.
    """
    if len(data) > MOST_BYTES:
        return _nothing(1, f"The file has more than {MOST_BYTES // 1024 // 1024} MiB. Divide it into several.")
    if data.startswith(_BYTE_ORDER_MARKS):
        return _nothing(1, "The file is in UTF-16. Save it as CSV in UTF-8.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return _nothing(line, "There are characters that are not UTF-8. Save the file as CSV in UTF-8.")
    return _read(text)


def _read(text: str) -> Table:
    lines = _lines(text)
    number, header = next(lines, (1, []))
    if isinstance(header, str):
        return _nothing(number, header)
    if not any(name.strip() for name in header):
        return _nothing(1, "The file is empty. Its first row has to name the columns, such as name,displayName.")
    columns = [name.strip() for name in header]
    faults = list(_header_faults(number, columns))
    rows: list[TableRow] = []
    for line, cells in lines:
        if isinstance(cells, str):
            faults.append(FileFault(line, None, cells))
        elif not any(cells):
            # Spreadsheets leave such rows behind.
            continue
        elif len(cells) > len(columns) and any(cells[len(columns) :]):
            more = f"There are {len(cells)} cells, and {len(columns)} columns."
            faults.append(FileFault(line, None, f"{more} Put a cell with a separator in it between quotation marks."))
        elif len(rows) == MOST_ROWS:
            faults.append(FileFault(line, None, f"There are more than {MOST_ROWS:,} rows. Divide the file."))
            break
        else:
            faults.extend(_cell_faults(line, columns, cells))
            named = zip(columns, cells, strict=False)
            rows.append(TableRow(line, {name: cell for name, cell in named if name and cell}))
    if not rows and not faults:
        faults.append(FileFault(number, None, "There is no row below the one that names the columns."))
    return Table(tuple(columns), tuple(rows), tuple(faults))


def _lines(text: str) -> Iterator[tuple[int, Sequence[str] | str]]:
    """Yield each row with its line number.

    An error is the last item.
    """
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_separator(text), strict=True)
    while True:
        begin = reader.line_num + 1
        try:
            yield begin, next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield begin, f"The row cannot be read ({error}). Look for a quotation mark that is not closed."
            return


def _separator(text: str) -> str:
    """The delimiter of the columns."""
    header = text.lstrip().split("\n", 1)[0]
    return ";" if header.count(";") > header.count(",") else ","


def _header_faults(line: int, columns: Sequence[str]) -> Iterator[FileFault]:
    for place, name in enumerate(columns, start=1):
        if not name:
            yield FileFault(line, None, f"Column {place} has no name. Name it, or remove it.")
        elif name in columns[: place - 1]:
            yield FileFault(line, name, "There are two columns of this name. Remove one.")


def _cell_faults(line: int, columns: Sequence[str], cells: Sequence[str]) -> Iterator[FileFault]:
    for name, cell in zip(columns, cells, strict=False):
        if (found := find_unreadable(cell)) is not None:
            yield FileFault(line, name, f"The character U+{ord(found):04X} is not allowed. Remove it.")


def _nothing(line: int, detail: str) -> Table:
    return Table((), (), (FileFault(line, None, detail),))


def column_of_property(pointer: str, columns: Mapping[str, object]) -> str:
    """The column that a place in the body comes from (RFC 6901)."""
    parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    for count in range(len(parts), 0, -1):
        if (name := ".".join(parts[:count])) in columns:
            return name
    return TEMPLATE if parts[:1] == ["templateId"] and TEMPLATE in columns else ".".join(parts[:1])


def template_name(row: TableRow) -> str | None:
    """Return the name of a template, which is no id."""
    cell = row.cells.get(TEMPLATE)
    return None if cell is None or WRITTEN_ID.fullmatch(cell.strip()) else cell


@dataclass(frozen=True, slots=True)
class BodyRow:
    """A row of the file as the body of a call.

    `line` is its first line. `template` is the name of a template whose id is not in the body yet.
    """

    line: int
    body: Mapping[str, object]
    template: str | None = None

    @property
    def name(self) -> str:
        """The name of the object."""
        return str(self.body["name"] if "name" in self.body else self.body["displayName"])


@dataclass(frozen=True, slots=True)
class BodyColumns:
    """How the cells of one noun become bodies.

    `put_cell` parses a cell into a body. `unique` returns what only one row may have, its column, and the sentence for
    the second row, with a place for the line of the first.
    """

    noun: str
    required: tuple[str, ...]
    read: Callable[[bytes], object]
    column_fault: Callable[[str], str | None]
    put_cell: Callable[[dict[str, object], str, str], None]
    column_of: Callable[[str, Mapping[str, object]], str]
    unique: Callable[[Mapping[str, object]], tuple[object, str, str] | None]


def read_bodies(table: Table, columns: BodyColumns) -> tuple[Sequence[BodyRow], Sequence[FileFault]]:
    """Return the valid rows, and all faults of file and rows."""
    faults = [*table.faults, *_column_faults(table, columns)]
    unknown = {fault.column for fault in faults}
    rows: list[BodyRow] = []
    first: dict[object, int] = {}
    for row in table.rows:
        body, found = _body(row, unknown, columns)
        # A template by name is not in the body yet.
        compared = {**body, TEMPLATE: (template_name(row) or "").strip().casefold()}
        found += _taken(row.line, columns.unique(compared), first)
        if found:
            faults += found
        else:
            rows.append(BodyRow(row.line, body, template_name(row)))
    return rows, sorted(faults, key=lambda fault: fault.line)


def _column_faults(table: Table, columns: BodyColumns) -> Iterator[FileFault]:
    for name in dict.fromkeys(table.columns):
        if name and (detail := columns.column_fault(name)) is not None:
            yield FileFault(1, name, detail)
    if TEMPLATE in table.columns and "templateId" in table.columns:
        yield FileFault(1, TEMPLATE, "There is a column templateId as well. Keep one of them.")
    for name in columns.required:
        if table.columns and name not in table.columns:
            yield FileFault(1, name, f"This column is missing; every {columns.noun} needs it.")


def _body(row: TableRow, unknown: set[str | None], columns: BodyColumns) -> tuple[dict[str, object], list[FileFault]]:
    body: dict[str, object] = {}
    faults: list[FileFault] = []
    for column, cell in row.cells.items():
        if column in unknown:
            continue
        try:
            if column != TEMPLATE:
                columns.put_cell(body, column, cell)
            elif WRITTEN_ID.fullmatch(cell.strip()):
                body["templateId"] = cell.strip()
        except CellFault as error:
            faults.append(FileFault(row.line, column, str(error)))
    reported = {fault.column for fault in faults} | unknown
    return body, faults + [fault for fault in _form_faults(row, body, columns) if fault.column not in reported]


def _form_faults(row: TableRow, body: Mapping[str, object], columns: BodyColumns) -> Iterator[FileFault]:
    """List the faults that the service would report for the body."""
    # A later step sets the id of a template.
    sent = {"templateId": _NO_TEMPLATE, **body}
    try:
        columns.read(msgspec.json.encode(sent))
    except BodyInvalid as error:
        for fault in error.faults:
            yield FileFault(row.line, columns.column_of(fault.pointer, row.cells), fault.detail)


def _taken(line: int, found: tuple[object, str, str] | None, first: dict[object, int]) -> list[FileFault]:
    if found is None:
        return []
    key, column, detail = found
    before = first.setdefault(key, line)
    return [] if before == line else [FileFault(line, column, detail.format(before))]


_NO_TEMPLATE = "00000000-0000-0000-0000-000000000000"


def with_templates(
    rows: Sequence[BodyRow], templates: Mapping[str, Sequence[str]], default: str | None
) -> tuple[Sequence[BodyRow], Sequence[FileFault]]:
    """Return the rows with the ids of their templates.

    `templates` are ids by names in lower case; `default` is the id for rows without a name.
    """
    found: list[BodyRow] = []
    faults: list[FileFault] = []
    for row in rows:
        ids = [default] if row.template is None else templates.get(row.template.strip().casefold(), ())
        if "templateId" in row.body or ids == [None]:
            found.append(BodyRow(row.line, row.body))
        elif len(ids) == 1:
            found.append(BodyRow(row.line, {**row.body, "templateId": ids[0]}))
        else:
            faults.append(FileFault(row.line, TEMPLATE, _template_fault(str(row.template), ids)))
    return found, faults


def _template_fault(name: str, ids: Sequence[str | None]) -> str:
    if ids:
        return f"{name!r} is the name of several templates. Write the id of one: {', '.join(map(str, ids))}."
    return f"There is no template {name!r} that you may use. `chamberlain template list` shows those there are."
