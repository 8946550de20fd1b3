"""What an operator asks for once: migrations of an outside database, and the example estate in it."""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from chamberlain.app.data_folder import open_data_folder
from chamberlain.app.databases import DatabaseNotReady, migration_sets, opened_databases
from chamberlain.app.errors import expected_faults
from chamberlain.app.example import complete_example_estate, load_example_estate
from chamberlain.core.errors import CannotStart
from chamberlain.database.migrate import migrate, migrate_before, script
from chamberlain.settings import Settings


async def bring_up_to_date(settings: Settings) -> list[str]:
    """Run the migrations on an outside database, as its owner; the names of the files that were run."""
    with expected_faults():
        return await migrate(_owner_address(settings), migration_sets())


async def bring_up_to_date_beside_old_processes(settings: Settings) -> list[str]:
    """The same, but for what may only come when the processes of the version before are gone."""
    with expected_faults():
        return await migrate_before(_owner_address(settings), migration_sets())


async def load_example(settings: Settings) -> bool:
    """Load the example estate into an outside database that has no tenant; says whether it did."""
    with expected_faults():
        folder = open_data_folder(settings.data_dir)
        async with opened_databases(settings, folder) as databases:
            loaded = await load_example_estate(databases, folder)
            await complete_example_estate(databases, folder)
            return loaded


def _owner_address(settings: Settings) -> str:
    if settings.database_owner_url is None:
        raise DatabaseNotReady("Set CHAMBERLAIN_DATABASE_OWNER_URL to the address of the owner's role.")
    return settings.database_owner_url.get_secret_value()


def migration_script() -> str:
    """All that an empty server needs, for psql."""
    return script(migration_sets())


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
