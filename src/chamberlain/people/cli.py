# SPDX-License-Identifier: Apache-2.0
"""Commands for people: `people`."""

from pathlib import Path
from typing import Annotated

import typer

from chamberlain.cli.calls import Call
from chamberlain.cli.help import CommandTable
from chamberlain.cli.options import DryRun, JournalFile, Report, calls

PeopleFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="CSV file in UTF-8, or LDIF file whose name ends with .ldif.")
]

people = CommandTable()


@people.callback()
def people_group() -> None:
    """Provision people of the embedded directory."""


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
