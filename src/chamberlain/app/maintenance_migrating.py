"""Bringing an outside database up to date."""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from chamberlain.app.maintenance import (
    bring_up_to_date,
    bring_up_to_date_beside_old_processes,
    load_example,
    migration_script,
)
from chamberlain.core.errors import CannotStart
from chamberlain.settings import Settings


def print_migrations() -> None:
    """Print everything that would be run on an empty database."""
    print(migration_script())


def run_migrations(settings: Settings, *, example: bool) -> None:
    """Run what is missing, and say what that was."""
    with _told():
        for name in asyncio.run(bring_up_to_date(settings)):
            print(name)
        if example:
            asyncio.run(load_example(settings))


def run_migrations_before(settings: Settings) -> None:
    """The same, but for what may only come when the processes of the version before are gone."""
    with _told():
        for name in asyncio.run(bring_up_to_date_beside_old_processes(settings)):
            print(name)


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except CannotStart as error:
        print(error, file=sys.stderr)
        raise typer.Exit(1) from error
