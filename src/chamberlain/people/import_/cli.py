# SPDX-License-Identifier: Apache-2.0
"""Import people from a CSV or LDIF file."""

from collections.abc import Sequence
from pathlib import Path

from chamberlain.cli.calls import Area, Call
from chamberlain.cli.errors import Misused
from chamberlain.cli.import_.results import ImportOptions
from chamberlain.cli.import_.run import Import, Note, import_rows, read_file, require_none, require_three_files
from chamberlain.cli.import_.table import MOST_BYTES
from chamberlain.cli.output import Column, say
from chamberlain.people.import_.ldif import read_ldif
from chamberlain.people.import_.rows import PersonRow, read_entries, read_table_rows
from chamberlain.people.import_.sender import PersonSender
from chamberlain_client.asynchronous.transport import AsyncTransport

_COLUMNS = (
    Column("LINE", "line"),
    Column("NAME", "name"),
    Column("ACTION", "action"),
    Column("CHANGES", "changes"),
    Column("REFUSED", "refused"),
)
_LDIF = {".ldif", ".ldf"}


def import_file(call: Call, options: ImportOptions) -> None:
    """Create and change the people that no earlier run has finished."""
    require_three_files(options)
    rows = _read(options.file)
    names = frozenset[str]().union(*(row.keys for row in rows))

    def sender(transport: AsyncTransport, note: Note) -> PersonSender:
        return PersonSender(transport, note, set(names))

    people: Import[PersonRow] = Import("people", "People", Area.REQUESTS, lambda row: row.content, sender, _COLUMNS)
    import_rows(call, options, rows, people)


def _read(path: Path) -> Sequence[PersonRow]:
    if path.suffix.lower() not in _LDIF:
        rows, faults = read_table_rows(read_file(path))
        require_none(path, faults)
        return rows
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise Misused(f"{path} cannot be read ({error.strerror}).") from error
    entries, found = read_ldif(data)
    people, faults = read_entries(entries, found)
    require_none(path, faults)
    if people.others:
        say(f"{people.others} entries are no people and are not sent.")
    return people.rows
