# SPDX-License-Identifier: Apache-2.0
"""Tables that fit a terminal, with short ids and ages."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import zip_longest
from textwrap import wrap

from rich.cells import cell_len

from chamberlain.cli.output import Column, Record, value_at, written

_GAP = "  "
_SHORT_ID = 8
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")
# A word that is longer than its column is divided behind one of these.
_BREAKS = frozenset("@./-_:,=")
_AGES = ((86_400, "d"), (3_600, "h"), (60, "m"))
# Older times are shown as a date.
_OLDEST_AGE = 100 * 86_400


def draw_table(columns: Sequence[Column], records: Sequence[Record], now: datetime, *, room: int) -> list[str]:
    """Return the lines of a table of at most this width."""
    drawn = [_DrawnColumn(column, records, now) for column in columns]
    chosen = _chosen(drawn, room)
    widths = _widths(chosen, room)
    rows = [[each.title for each in chosen], *zip(*(each.cells for each in chosen), strict=True)]
    return [line for row in rows for line in _lines(row, chosen, widths)]


def draw_row(columns: Sequence[Column], record: Record) -> str:
    """Return one row of a stream, with the local time of day."""
    cells = []
    for column in columns:
        value = value_at(record, column.path)
        is_time = isinstance(value, str) and _TIME.fullmatch(value)
        cells.append(
            f"{datetime.fromisoformat(str(value)).astimezone():%H:%M:%S}" if is_time else _text(column.path, value)
        )
    return _GAP.join(cell for cell in cells if cell)


def draw_members(members: Sequence[tuple[str, str]], *, room: int) -> list[str]:
    """Return the lines of an object.

    A longer word, such as an address, stays whole so that it can be copied.
    """
    width = max((len(name) for name, _ in members), default=0)
    found = []
    for name, value in members:
        parts = wrap(value, max(room - width - len(_GAP), 30), break_long_words=False, break_on_hyphens=False)
        found += [f"{title:{width}}{_GAP}{part}" for title, part in zip_longest([name], parts or [""], fillvalue="")]
    return found


def short_id(value: str) -> str:
    """Shorten an id to its last eight digits."""
    return value[-_SHORT_ID:] if _ID.fullmatch(value) else value


def age(written_time: str, now: datetime) -> str:
    """Format a time as an age, such as `3 m`, or a date."""
    time = datetime.fromisoformat(written_time)
    seconds = int(abs((now - time).total_seconds()))
    if seconds >= _OLDEST_AGE:
        return time.astimezone().strftime("%Y-%m-%d")
    size, unit = next((each for each in _AGES if seconds >= each[0]), (1, "s"))
    return f"in {seconds // size} {unit}" if time > now and seconds else f"{seconds // size} {unit}"


def local_times(record: Record) -> dict[str, object]:
    """Replace the times of the API by local times, at all levels."""
    return {name: _local(value) for name, value in record.items()}


def _local(value: object) -> object:
    match value:
        case str() if _TIME.fullmatch(value):
            return datetime.fromisoformat(value).astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")
        case Mapping():
            return local_times(value)
        case list():
            return [_local(each) for each in value]
        case _:
            return value


class _DrawnColumn:
    """The cells of a column, and the widths that it can have."""

    def __init__(self, column: Column, records: Sequence[Record], now: datetime) -> None:
        values = [value_at(record, column.path) for record in records]
        present = [each for each in values if each is not None]
        self.title, self.wide = column.title, column.wide
        self.is_number = bool(present) and all(type(each) in {int, float} for each in present)
        self.cells = [_cell(column.path, each, now) for each in values]
        self.natural = max(map(cell_len, (self.title, *self.cells)))
        words = [word for cell in self.cells for word in cell.split(" ")] if self._wraps(present) else self.cells
        self.least = max(map(cell_len, (*self.title.split(" "), *words)))

    def _wraps(self, present: Sequence[object]) -> bool:
        return not self.is_number and not any(isinstance(each, str) and _TIME.fullmatch(each) for each in present)


def _cell(path: str, value: object, now: datetime) -> str:
    return age(value, now) if isinstance(value, str) and _TIME.fullmatch(value) else _text(path, value)


def _text(path: str, value: object) -> str:
    is_id = isinstance(value, str) and (path.rpartition(".")[2] == "id" or path.endswith("Id"))
    return short_id(str(value)) if is_id else written(value)


def _chosen(columns: Sequence[_DrawnColumn], room: int) -> list[_DrawnColumn]:
    """Choose narrow columns, and wide ones that fit in one line."""
    chosen = {number for number, each in enumerate(columns) if not each.wide}
    for number, each in enumerate(columns):
        taken = chosen | {number}
        if each.wide and sum(columns[other].natural for other in taken) + len(_GAP) * (len(taken) - 1) <= room:
            chosen = taken
    return [columns[number] for number in sorted(chosen)]


def _widths(columns: Sequence[_DrawnColumn], room: int) -> list[int]:
    """Narrow the widest columns until the table fits.

    Words are divided only if there is no other way.
    """
    widths = [each.natural for each in columns]
    excess = sum(widths) + len(_GAP) * (len(columns) - 1) - room
    for _ in range(excess):
        wrappable = [number for number, each in enumerate(columns) if widths[number] > each.least]
        widest = max(wrappable or range(len(columns)), key=lambda number: widths[number])
        if not wrappable and widths[widest] <= _SHORT_ID:
            break
        widths[widest] -= 1
    # Lines that break early leave room behind them.
    return [
        max(cell_len(line) for cell in (each.title, *each.cells) for line in _wrapped(cell, width))
        for each, width in zip(columns, widths, strict=True)
    ]


def _lines(row: Sequence[str], columns: Sequence[_DrawnColumn], widths: Sequence[int]) -> list[str]:
    """Wrap and align the cells of one row."""
    wrapped = [_wrapped(cell, width) for cell, width in zip(row, widths, strict=True)]
    found = []
    for parts in zip_longest(*wrapped, fillvalue=""):
        padded = []
        for part, column, width in zip(parts, columns, widths, strict=True):
            space = " " * (width - cell_len(part))
            padded.append(space + part if column.is_number else part + space)
        found.append(_GAP.join(padded).rstrip())
    return found


def _wrapped(cell: str, width: int) -> list[str]:
    """Break a cell between words, and a longer word behind a sign."""
    if cell_len(cell) <= width:
        return [cell]
    found, line = [], ""
    for word in cell.split(" "):
        joined = f"{line} {word}" if line else word
        if cell_len(joined) <= width:
            line = joined
            continue
        if line:
            found.append(line)
        line = word
        while cell_len(line) > width:
            part = _fitting(line, width)
            found.append(part)
            line = line[len(part) :]
    return [*found, line]


def _fitting(word: str, width: int) -> str:
    """Return the longest beginning that fits, up to a sign."""
    end = 1
    while end < len(word) and cell_len(word[: end + 1]) <= width:
        end += 1
    sign = max((place for place in range(end // 2, end) if word[place] in _BREAKS), default=end - 1)
    return word[: sign + 1]
