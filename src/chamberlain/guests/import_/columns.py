# SPDX-License-Identifier: Apache-2.0
"""Columns of assignments in a CSV file, and their cells."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from chamberlain.cli.import_.table import FileFault, Table, TableRow, unknown_column
from chamberlain.core.ids import WRITTEN_ID

# This UUID clears a field (docs/reference/groups-and-sites.md).
NONE = "00000000-0000-0000-0000-000000000000"
CLEAR = "clear"
SUBJECTS = ("group", "site")
# The spellings of a column for the property that it sets.
FIELDS: Mapping[str, str] = {
    "template": "templateId",
    "templateId": "templateId",
    "policy": "policyId",
    "policyId": "policyId",
}

# The ids of a name, by the column that it is in.
FindIds = Callable[[str, str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class AssignmentRow:
    """A row of the file.

    It has the id of a group or site, and the body of the call.
    """

    line: int
    column: str
    id: str
    name: str
    body: Mapping[str, str]

    @property
    def content(self) -> object:
        """Return what makes the row different from others."""
        return [self.column, self.id, self.body]


def read_rows(table: Table, find_ids: FindIds) -> tuple[Sequence[AssignmentRow], Sequence[FileFault]]:
    """Return the valid rows, and all faults of file and rows.

    Names are looked up only if the columns have no faults.
    """
    faults = [*table.faults, *_column_faults(table)]
    if faults:
        return (), sorted(faults, key=lambda fault: fault.line)
    rows: list[AssignmentRow] = []
    first: dict[tuple[str, str], int] = {}
    for each in table.rows:
        row, found = _row(each, find_ids)
        if row is not None:
            found += _taken(row, first)
            rows.append(row)
        faults += found
    return rows, faults


def _column_faults(table: Table) -> Iterator[FileFault]:
    for name in table.columns:
        if name and name not in (*SUBJECTS, *FIELDS):
            yield FileFault(1, name, unknown_column("An assignment", name, (*SUBJECTS, *FIELDS)))
    for name, twin in (("template", "templateId"), ("policy", "policyId")):
        if {name, twin} <= set(table.columns):
            yield FileFault(1, name, f"There is a column {twin} as well. Keep one of them.")
    if table.columns and not set(SUBJECTS) & set(table.columns):
        yield FileFault(1, "group", "There is neither a column group nor a column site. Add one of them.")
    if table.columns and not set(FIELDS) & set(table.columns):
        yield FileFault(1, "template", "There is neither a column template nor a column policy. Add one of them.")


def _row(row: TableRow, find_ids: FindIds) -> tuple[AssignmentRow | None, list[FileFault]]:
    named = [name for name in SUBJECTS if row.cells.get(name, "").strip()]
    if len(named) != 1:
        return None, [FileFault(row.line, None, "A row needs either a group or a site. Fill one of the two cells.")]
    faults: list[FileFault] = []
    body = {FIELDS[column]: _id(row, column, find_ids, faults) for column in row.cells if column in FIELDS}
    subject = _id(row, named[0], find_ids, faults)
    if not body:
        detail = f"A row needs a template, a policy or both. Write `{CLEAR}` to clear one."
        faults.append(FileFault(row.line, None, detail))
    return AssignmentRow(row.line, named[0], subject, row.cells[named[0]].strip(), body), faults


def _id(row: TableRow, column: str, find_ids: FindIds, faults: list[FileFault]) -> str:
    """Return the id of a cell, an empty text with a fault."""
    written = row.cells[column].strip()
    if column in FIELDS and written.lower() == CLEAR:
        return NONE
    if WRITTEN_ID.fullmatch(written):
        return written.lower()
    ids = find_ids(column.removesuffix("Id"), written)
    if len(ids) == 1:
        return ids[0]
    if ids:
        detail = f"{written!r} is the name of several: {', '.join(ids)}. Write the id of one."
    else:
        noun = column.removesuffix("Id")
        detail = f"There is no {noun} {written!r}. `chamberlain {noun} list` shows those there are."
    faults.append(FileFault(row.line, column, detail))
    return ""


def _taken(row: AssignmentRow, first: dict[tuple[str, str], int]) -> list[FileFault]:
    if not row.id or (before := first.setdefault((row.column, row.id), row.line)) == row.line:
        return []
    return [FileFault(row.line, row.column, f"This {row.column} is in line {before} already. Keep one of the rows.")]
