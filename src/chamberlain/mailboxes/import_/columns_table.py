"""A CSV file as rows of cells, or everything that is wrong with it as a file."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from chamberlain.core.text import find_unreadable

# docs/how-to/import-mailboxes.md: more than that is several imports.
MOST_BYTES, MOST_ROWS = 10 * 1024 * 1024, 50_000

_BYTE_ORDER_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class FileFault:
    """One thing wrong with a file: the line, counted from 1, the name of the column where it is about one, and how to
    mend it."""

    line: int
    column: str | None
    detail: str

    def __str__(self) -> str:
        place = f"line {self.line}" if self.column is None else f"line {self.line}, {self.column}"
        return f"{place}: {self.detail}"


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row: the line that it begins on, and its cells that are not empty by the names of their columns."""

    line: int
    cells: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Table:
    """What could be read, and what is wrong."""

    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    faults: tuple[FileFault, ...]


def read_table(data: bytes) -> Table:
    """The rows of a file in UTF-8 whose first row names the columns; commas or semicolons stand between cells."""
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
    """Each row with the line that it begins on; a sentence in the place of what cannot be read, which is the end."""
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
    """What stands between the names of the columns."""
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
