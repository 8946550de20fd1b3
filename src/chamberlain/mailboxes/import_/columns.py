"""Columns of the CSV file, and how their cells are parsed."""

import csv
import difflib
import io
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from types import MappingProxyType

import msgspec
from msgspec import inspect

from chamberlain.core.errors import BodyInvalid
from chamberlain.core.ids import WRITTEN_ID
from chamberlain.core.text import find_unreadable
from chamberlain.directory.mailboxes import PermissionLevel
from chamberlain.mailboxes.wire import MAILBOX, MailboxBody


class Kind(Enum):
    """How the cells of a column are written."""

    TEXT = auto()
    NUMBER = auto()
    BOOLEAN = auto()
    LIST = auto()


def _columns(shape: inspect.Type, name: str = "") -> Iterator[tuple[str, Kind]]:
    """Derive columns from the body of the API."""
    match shape:
        case inspect.Metadata(type=inner):
            yield from _columns(inner, name)
        case inspect.UnionType(types=types):
            for each in types:
                yield from _columns(each, name)
        case inspect.StructType(fields=fields):
            for member in fields:
                yield from _columns(member.type, f"{name}.{member.encode_name}".removeprefix("."))
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


PROPERTIES: Mapping[str, Kind] = MappingProxyType(dict(_columns(inspect.type_info(MailboxBody))))
# A column of ours: a template by its name or its id.
TEMPLATE = "template"
_PERMISSIONS, _METADATA = "permissions", "metadata."
_LEVELS = tuple(PermissionLevel)
_BOOLEAN_WORDS = {"true": True, "false": False}


class CellFault(Exception):
    """A cell is invalid. The message says which value is expected."""


def column_fault(name: str) -> str | None:
    """Why there is no such column."""
    if name in PROPERTIES or name in {TEMPLATE, _PERMISSIONS}:
        return None
    if name.startswith(_METADATA):
        return None if name != _METADATA else "The key is missing: write metadata.<key>."
    if name.startswith(f"{_PERMISSIONS}."):
        _, _, rest = name.partition(".")
        if rest in _LEVELS or WRITTEN_ID.fullmatch(rest):
            return None
        return f"Write permissions.<id of a user>, or permissions. and one of {', '.join(_LEVELS)}."
    known = [*PROPERTIES, TEMPLATE, _PERMISSIONS]
    # Letter case is the most frequent mistake, and weighs too much in a comparison.
    folded = {each.casefold(): each for each in known}
    nearest = difflib.get_close_matches(name.casefold(), folded, n=1)
    cure = f"Did you mean {folded[nearest[0]]}?" if nearest else "Rename or remove it."
    return f"A mailbox has no such property. {cure}"


def put_cell(body: dict[str, object], column: str, cell: str) -> None:
    """Parse a cell into a body. Raises CellFault."""
    if column == _PERMISSIONS or column.startswith(f"{_PERMISSIONS}."):
        _put_permissions(body, column, cell)
        return
    if column.startswith(_METADATA):
        _object(body, "metadata")[column.removeprefix(_METADATA)] = _BOOLEAN_WORDS.get(cell, cell)
        return
    outer, _, inner = column.partition(".")
    value = _value(PROPERTIES[column], cell)
    if inner:
        _object(body, outer)[inner] = value
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
            return _parts(cell)


def _put_permissions(body: dict[str, object], column: str, cell: str) -> None:
    permissions = _object(body, _PERMISSIONS)
    for user, level in _granted(column.removeprefix(_PERMISSIONS).removeprefix("."), cell):
        if WRITTEN_ID.fullmatch(user) is None:
            raise CellFault(f"{user!r} is no id of a user. The directory shows it; it is a UUID.")
        if level not in _LEVELS:
            raise CellFault(f"{level!r} is no permission. Write one of {', '.join(_LEVELS)}.")
        if user.lower() in permissions:
            raise CellFault(f"User {user} has a permission already. Name each user once in a row.")
        permissions[user.lower()] = str(level)


def _granted(rest: str, cell: str) -> Iterator[tuple[str, str]]:
    """Yield users and their levels from a cell of `permissions`.

    `rest` is the rest of the column's name.
    """
    if not rest:
        for pair in _parts(cell):
            user, sign, level = pair.partition("=")
            if not sign:
                raise CellFault(f"{pair!r} is not understood. Write <id of a user>=FullAccess, with ; between them.")
            yield user.strip(), level.strip()
    elif rest in _LEVELS:
        for user in _parts(cell):
            yield user, rest
    else:
        yield rest, cell.strip()


def _parts(cell: str) -> list[str]:
    return [part.strip() for part in cell.split(";") if part.strip()]


def _object(body: dict[str, object], name: str) -> dict[str, object]:
    found = body.setdefault(name, {})
    # Only this module writes there.
    assert isinstance(found, dict)  # noqa: S101 - it tells the type checker so.
    return found


# docs/how-to/import-mailboxes.md: more than that is several imports.
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


@dataclass(frozen=True, slots=True)
class MailboxRow:
    """A row of the file as the body of a call.

    `line` is its first line. `template` is the name of a template whose id is not in the body yet.
    """

    line: int
    body: Mapping[str, object]
    template: str | None = None

    @property
    def name(self) -> str:
        """The name of the mailbox."""
        return str(self.body["name"])


def read_rows(table: Table) -> tuple[Sequence[MailboxRow], Sequence[FileFault]]:
    """Return the valid rows, and all faults of file and rows."""
    faults = [*table.faults, *_column_faults(table)]
    unknown = {fault.column for fault in faults}
    rows: list[MailboxRow] = []
    first: dict[str, int] = {}
    for row in table.rows:
        body, found = _body(row, unknown)
        if "name" in body:
            found += _taken(row.line, str(body["name"]), first)
        if found:
            faults += found
        else:
            rows.append(MailboxRow(row.line, body, _template_name(row)))
    return rows, sorted(faults, key=lambda fault: fault.line)


def with_templates(
    rows: Sequence[MailboxRow], templates: Mapping[str, Sequence[str]], default: str | None
) -> tuple[Sequence[MailboxRow], Sequence[FileFault]]:
    """Return the rows with the ids of their templates.

    `templates` are ids by names in lower case; `default` is the id for rows without a name.
    """
    found: list[MailboxRow] = []
    faults: list[FileFault] = []
    for row in rows:
        ids = [default] if row.template is None else templates.get(row.template.strip().casefold(), ())
        if "templateId" in row.body or ids == [None]:
            found.append(MailboxRow(row.line, row.body))
        elif len(ids) == 1:
            found.append(MailboxRow(row.line, {**row.body, "templateId": ids[0]}))
        else:
            faults.append(FileFault(row.line, TEMPLATE, _template_fault(str(row.template), ids)))
    return found, faults


def _template_fault(name: str, ids: Sequence[str | None]) -> str:
    if ids:
        return f"{name!r} is the name of several templates. Write the id of one: {', '.join(map(str, ids))}."
    return f"There is no template {name!r} that you may use. `chamberlain template list` shows those there are."


def _column_faults(table: Table) -> Iterator[FileFault]:
    for name in dict.fromkeys(table.columns):
        if name and (detail := column_fault(name)) is not None:
            yield FileFault(1, name, detail)
    if TEMPLATE in table.columns and "templateId" in table.columns:
        yield FileFault(1, TEMPLATE, "There is a column templateId as well. Keep one of them.")
    for name in ("name", "displayName"):
        if table.columns and name not in table.columns:
            yield FileFault(1, name, "This column is missing; every mailbox needs it.")


def _body(row: TableRow, unknown: set[str | None]) -> tuple[dict[str, object], list[FileFault]]:
    body: dict[str, object] = {}
    faults: list[FileFault] = []
    for column, cell in row.cells.items():
        if column in unknown:
            continue
        try:
            if column != TEMPLATE:
                put_cell(body, column, cell)
            elif WRITTEN_ID.fullmatch(cell.strip()):
                body["templateId"] = cell.strip()
        except CellFault as error:
            faults.append(FileFault(row.line, column, str(error)))
    reported = {fault.column for fault in faults} | unknown
    return body, faults + [fault for fault in _form_faults(row, body) if fault.column not in reported]


def _form_faults(row: TableRow, body: Mapping[str, object]) -> Iterator[FileFault]:
    """List the faults that the service would report for the body."""
    try:
        MAILBOX.read(msgspec.json.encode(body))
    except BodyInvalid as error:
        for fault in error.faults:
            yield FileFault(row.line, column_of(fault.pointer, row.cells), fault.detail)


def column_of(pointer: str, columns: Mapping[str, object]) -> str:
    """The column that a place in the body comes from (RFC 6901)."""
    parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    for count in range(len(parts), 0, -1):
        if (name := ".".join(parts[:count])) in columns:
            return name
    if parts[:1] == ["permissions"]:
        return next((name for name in columns if name.startswith("permissions")), "permissions")
    return TEMPLATE if parts[:1] == ["templateId"] and TEMPLATE in columns else ".".join(parts[:1])


def _template_name(row: TableRow) -> str | None:
    cell = row.cells.get(TEMPLATE)
    return None if cell is None or WRITTEN_ID.fullmatch(cell.strip()) else cell


def _taken(line: int, name: str, first: dict[str, int]) -> list[FileFault]:
    # As the service compares names.
    key = unicodedata.normalize("NFKC", name).casefold()
    if (before := first.setdefault(key, line)) == line:
        return []
    return [FileFault(line, "name", f"The mailbox of line {before} has this name too. Names are given once.")]
