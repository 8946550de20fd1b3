"""Databases of tests: with all tables and functions, and with the example estate where one is wanted."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import chamberlain
from chamberlain.embedded import postgres
from chamberlain.store.database import Database, open_database
from chamberlain.store.migrate import MigrationSet, migrate
from tests.postgres import has_database, make_database, new_database

PACKAGE = Path(chamberlain.__file__).parent

SETS = (
    MigrationSet("chamberlain", PACKAGE / "store" / "migrations", PACKAGE / "store" / "sql"),
    MigrationSet("directory", PACKAGE / "embedded/directory/migrations", PACKAGE / "embedded/directory/sql"),
    MigrationSet("identity", PACKAGE / "embedded/identity/migrations", PACKAGE / "embedded/identity/sql"),
)


@dataclass(frozen=True, slots=True)
class Databases:
    """One database as the two roles see it."""

    addresses: postgres.Addresses
    application: Database
    worker: Database


@asynccontextmanager
async def migrated_database(server: postgres.Server) -> AsyncIterator[Databases]:
    """A database of its own for one test, with everything in it but rows."""
    async with new_database(server, like=await _migrated(server)) as addresses:
        application = await open_database(addresses.application, most=10, name="test application")
        worker = await open_database(addresses.worker, most=10, name="test worker")
        try:
            yield Databases(addresses, application, worker)
        finally:
            await application.close()
            await worker.close()


async def _migrated(server: postgres.Server) -> str:
    """The database that those of tests are copied from, made for the first of them: to migrate takes much longer."""
    name = "migrated"
    if not await has_database(server, name):
        await make_database(server, name)
        await migrate(server.addresses_of(name).owner, SETS)
    return name
