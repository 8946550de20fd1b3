"""Bringing an outside database up to date."""

import asyncio
import sys

import typer

from chamberlain.bootstrap.errands import bring_up_to_date, load_example, migration_script
from chamberlain.bootstrap.faults import CannotStart
from chamberlain.settings import Settings


def print_migrations() -> None:
    """Print everything that would be run on an empty database."""
    print(migration_script())


def run_migrations(settings: Settings, *, example: bool) -> None:
    """Run what is missing, and say what that was."""
    try:
        for name in asyncio.run(bring_up_to_date(settings)):
            print(name)
        if example:
            asyncio.run(load_example(settings))
    except CannotStart as error:
        print(error, file=sys.stderr)
        raise typer.Exit(1) from error
