# SPDX-License-Identifier: Apache-2.0
"""Databases of tests: with all tables and functions, and with rows where they are wanted."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit

import asyncpg

import chamberlain
from chamberlain.database.migrate import MigrationSet, migrate
from chamberlain.database.transactions import Database, open_database
from chamberlain.embedded import postgres
from chamberlain.fastpath.warm_pool import connection_pool
from tests.postgres import connected, make_database, new_database

PACKAGE = Path(chamberlain.__file__).parent

SETS = (
    MigrationSet("chamberlain", PACKAGE / "database" / "migrations", PACKAGE / "database" / "sql"),
    MigrationSet("directory", PACKAGE / "embedded/directory/migrations", PACKAGE / "embedded/directory/sql"),
    MigrationSet("identity", PACKAGE / "embedded/identity/migrations", PACKAGE / "embedded/identity/sql"),
)


@dataclass(frozen=True, slots=True)
class Databases:
    """One database as the two roles see it."""

    addresses: postgres.Addresses
    application: Database
    worker: Database


# Fills a database with rows.
Fill: TypeAlias = Callable[[Databases], Awaitable[object]]


@asynccontextmanager
async def migrated_database(server: postgres.Server) -> AsyncIterator[Databases]:
    """A database of its own for one test, with everything in it but rows."""
    async with _copied(server, "migrated", _make_migrated) as addresses, _opened(addresses) as databases:
        yield databases


@asynccontextmanager
async def filled_database(server: postgres.Server, name: str, fill: Fill) -> AsyncIterator[Databases]:
    """The same with the rows that `fill` puts into it: that runs once for each server and name, since it takes longer
    than to copy what it has made."""

    async def make(server: postgres.Server, name: str) -> None:
        async with _copied(server, "migrated", _make_migrated) as addresses:
            async with _opened(addresses) as databases:
                await fill(databases)
            # Under its name there is only what is complete.
            await make_database(server, name, like=urlsplit(addresses.owner).path.removeprefix("/"))

    async with _copied(server, name, make) as addresses, _opened(addresses) as databases:
        yield databases


@asynccontextmanager
async def _copied(
    server: postgres.Server, like: str, make: Callable[[postgres.Server, str], Awaitable[None]]
) -> AsyncIterator[postgres.Addresses]:
    """A copy of the database that is named, which is made for the first who wants a copy."""
    async with AsyncExitStack() as stack:
        try:
            addresses = await stack.enter_async_context(new_database(server, like=like))
        except asyncpg.InvalidCatalogNameError:
            await make(server, like)
            addresses = await stack.enter_async_context(new_database(server, like=like))
        yield addresses


async def _make_migrated(server: postgres.Server, name: str) -> None:
    await make_database(server, name)
    await migrate(server.addresses_of(name).owner, SETS)


@asynccontextmanager
async def _opened(addresses: postgres.Addresses) -> AsyncIterator[Databases]:
    application = await open_database(
        addresses.application, most=10, name="test application", pool_class=connection_pool()
    )
    worker = await open_database(addresses.worker, most=10, name="test worker", pool_class=connection_pool())
    try:
        yield Databases(addresses, application, worker)
    finally:
        await application.close()
        await worker.close()


async def accept_unreadable(databases: Databases, table: str) -> None:
    """Let a table take JSON that PostgreSQL cannot query, as an earlier version did."""
    async with connected(databases.addresses.owner) as connection:
        await connection.execute(f"ALTER TABLE chamberlain.{table} DISABLE TRIGGER refuse_unreadable")
