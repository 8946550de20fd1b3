"""Rows of a file as mailboxes to be asked for, or every fault that can be seen before anything is sent."""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from chamberlain.core.errors import BodyInvalid
from chamberlain.core.ids import WRITTEN_ID
from chamberlain.mailboxes.import_.columns import TEMPLATE, CellFault, column_fault, put_cell
from chamberlain.mailboxes.import_.columns_table import FileFault, Table, TableRow
from chamberlain.mailboxes.schema import MAILBOX


@dataclass(frozen=True, slots=True)
class MailboxRow:
    """A mailbox to be asked for: the line of the file that it begins on, and the body of the call. `template` is the
    name of one whose id is not in the body yet."""

    line: int
    body: Mapping[str, object]
    template: str | None = None

    @property
    def name(self) -> str:
        """The name of the mailbox."""
        return str(self.body["name"])


def read_rows(table: Table) -> tuple[Sequence[MailboxRow], Sequence[FileFault]]:
    """The rows that are well, and the faults of all others and of the file, in their order."""
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
    """The rows with the ids of their templates. `templates` are ids by names in lower case; `default` is the id for
    rows that name none."""
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
    told = {fault.column for fault in faults} | unknown
    return body, faults + [fault for fault in _form_faults(row, body) if fault.column not in told]


def _form_faults(row: TableRow, body: Mapping[str, object]) -> Iterator[FileFault]:
    """What the service would say of the form of the body."""
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
