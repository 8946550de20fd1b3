# SPDX-License-Identifier: Apache-2.0
"""A real PostgreSQL for tests: one server for a test session, and as many databases in it as there are tests.

With CHAMBERLAIN_TEST_POSTGRES_BIN, a folder of programs such as /usr/lib/postgresql/15/bin, the same tests run on
another PostgreSQL.
"""

import asyncio
import os
import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TypeAlias

import asyncpg

from chamberlain.embedded import postgres

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

# Files that are kept in memory cost a third of what those on a disk do, and nothing of a test outlives it.
MEMORY = Path("/dev/shm")
# More memory than all servers of a session use; a machine with less takes its disk.
MEMORY_NEEDED = 4 << 30


@contextmanager
def running_postgres() -> Iterator[postgres.Server]:
    """Run a server in a short-lived folder. It belongs to no event loop: a fixture of the session can hold it."""
    with short_folder() as folder:
        # No power fails during a test, so no write has to wait for the disk. Old segments of the log would only take
        # memory.
        settings = {"fsync": "off", "full_page_writes": "off", "min_wal_size": "64MB"}
        server = asyncio.run(postgres.start(folder, programs=named_programs(), run_as=None, extra_settings=settings))
        try:
            yield server
        finally:
            asyncio.run(server.stop())


@asynccontextmanager
async def started(
    folder: Path, *, programs: Path | None = None, run_as: str | None = None
) -> AsyncIterator[postgres.Server]:
    """Run a server as the service does, in a folder that the test keeps."""
    server = await postgres.start(folder, programs=programs or named_programs(), run_as=run_as)
    try:
        yield server
    finally:
        await server.stop()


@asynccontextmanager
async def connected(address: str) -> AsyncIterator[Connection]:
    connection = await asyncpg.connect(address)
    try:
        yield connection
    finally:
        await connection.close()


@asynccontextmanager
async def new_database(server: postgres.Server, *, like: str = "template1") -> AsyncIterator[postgres.Addresses]:
    """Make a database for one test, as a first start of the service makes it, and remove it afterwards. It is empty, or
    a copy of the one that is named. Raises asyncpg.InvalidCatalogNameError where that is missing."""
    name = f"test_{secrets.token_hex(6)}"
    await make_database(server, name, like=like)
    try:
        yield server.addresses_of(name)
    finally:
        await _run(server, [f"DROP DATABASE {name} WITH (FORCE)"])


async def make_database(server: postgres.Server, name: str, *, like: str = "template1") -> None:
    """Make a database that stays as long as its server, with the content of `like`."""
    first, *others = postgres.database_statements(name)
    # Copied as files: what a crash would lose of that, no test misses.
    await _run(server, [f"{first} TEMPLATE {like} STRATEGY FILE_COPY", *others])


@contextmanager
def short_folder() -> Iterator[Path]:
    """Make a folder whose path leaves room for a socket, and which the server's user can pass when root runs tests."""
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir=place_of_folders()))
    if os.geteuid() == 0:
        folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def place_of_folders() -> Path:
    """Answer where folders of servers are made: in memory where there is room for them."""
    if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= MEMORY_NEEDED:
        return MEMORY
    return Path(tempfile.gettempdir())


def named_programs() -> Path | None:
    """Answer the folder of programs that the tests shall run on, or None for those of the installed package."""
    named = os.environ.get("CHAMBERLAIN_TEST_POSTGRES_BIN")
    return Path(named) if named else None


async def _run(server: postgres.Server, statements: list[str]) -> None:
    async with connected(server.set_up_address) as connection:
        for statement in statements:
            await connection.execute(statement)
