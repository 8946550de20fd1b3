"""Commands that work on this machine, with the database or beside the service: what they are given in common, and the
settings that they run by."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from chamberlain.cli.errors_exit_codes import ExitCode

if TYPE_CHECKING:
    from chamberlain.settings import Settings

DataDir = Annotated[Path | None, typer.Option(help="Folder for the embedded database, keys and secrets.")]


def settings_of(**options: object) -> "Settings":
    """The settings, with what the command line says before what the environment says; a bad one ends the command."""
    from chamberlain.settings import SettingsInvalid, read_settings

    try:
        return read_settings(**{name: value for name, value in options.items() if value is not None})
    except SettingsInvalid as error:
        print(error, file=sys.stderr)
        raise typer.Exit(ExitCode.SETTINGS) from None
