# SPDX-License-Identifier: Apache-2.0
"""Commands for people: `people`."""

from pathlib import Path
from typing import Annotated, Final

import typer

from chamberlain.cli.calls import Area, Call
from chamberlain.cli.help import CommandTable
from chamberlain.cli.options import DryRun, JournalFile, Report, calls
from chamberlain.cli.output import Column
from chamberlain_client import operations

PeopleFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="CSV file in UTF-8, or LDIF file whose name ends with .ldif.")
]

_COLUMNS: Final = (
    Column("ID", "id"),
    Column("NAME", "displayName"),
    Column("MAIL", "mail"),
    Column("DEPARTMENT", "department"),
    Column("GUEST", "isGuest"),
)

people = CommandTable()


@people.callback()
def people_group() -> None:
    """Find people, and provision those of the embedded directory."""


@people.command("find")
@calls
def find_people(call: Call, text: Annotated[str, typer.Argument(metavar="TEXT", help="Beginnings of names.")]) -> None:
    """Find people of the directory by the beginnings of their names."""
    with call.service(Area.REQUESTS) as service:
        found = service.read(operations.FIND_PEOPLE, query={"q": text})["items"]
    people_found = [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
    call.output.show_records(people_found, _COLUMNS, "people")


@people.command("import")
@calls
def import_people(
    call: Call, file: PeopleFile, *, dry_run: DryRun = False, report: Report = None, journal: JournalFile = None
) -> None:
    """Create and change the people of a CSV or LDIF file.

    For applications. Repeat the command to resume.
    """
    from chamberlain.cli.import_.results import ImportOptions
    from chamberlain.people.import_.cli import import_file

    options = ImportOptions(file, None, dry_run=dry_run, wait=False, timeout=0, report=report, journal=journal)
    import_file(call, options)
