# SPDX-License-Identifier: Apache-2.0
"""Start and migrate the embedded database, or connect to an outside one.

An outside database must be up to date already.
"""

import asyncio
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path

import structlog

from chamberlain import database, embedded
from chamberlain.app.clock_and_ids import now
from chamberlain.app.data_folder import DataFolder, open_data_folder
from chamberlain.app.processes import unless_stopped
from chamberlain.core.errors import DatabaseUnavailable
from chamberlain.core.outages import Outage
from chamberlain.database.clock import MOST_CLOCK_DIFFERENCE, read_time
from chamberlain.database.connection import are_several, log_outage
from chamberlain.database.migrate import MigrationSet, migrate, missing_files
from chamberlain.database.transactions import COMMAND_TIMEOUT, PREPARED_STATEMENTS, Database, connect, open_database
from chamberlain.embedded import postgres
from chamberlain.fastpath.warm_pool import connection_pool
from chamberlain.settings import Settings

# asyncpg needs one connection for the batcher, one for the directory's questions, and some for everything that reads.
MOST_APPLICATION_CONNECTIONS = 20
MOST_WORKER_CONNECTIONS = 8
# Where another host may take over, one that hangs in the middle of an answer is given up sooner. Work takes its time.
ANSWERED_WITHIN = timedelta(seconds=5)


# Seconds between two attempts of a start that waits: a database in recovery takes seconds, not milliseconds.
_BETWEEN_ATTEMPTS = 0.5
# With less than one segment of its write-ahead log left (16 MiB, the default of initdb), PostgreSQL cannot go on.
_LOG_SEGMENT = 16 * 2**20
_NOT_ACCEPTED = frozenset({Outage.REFUSED, Outage.LOST, Outage.STARTING, Outage.STOPPED, Outage.NO_ANSWER})

logger = structlog.stdlib.get_logger(__name__)


class DatabaseNotReady(Exception):
    """The database cannot be used. The message explains the fix."""


class _NotReachable(DatabaseNotReady):
    """The database does not accept connections, or refuses ours."""

    def __init__(self, name: str, outage: Outage) -> None:
        super().__init__(f"{outage.seen} {outage.cure} The address is that of {name}.")
        self.outage = outage


@dataclass(frozen=True, slots=True)
class DatabaseAddresses:
    """The database addresses of the roles, with passwords. `direct` bypasses any pooler."""

    application: str = field(repr=False)
    worker: str = field(repr=False)
    direct: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Databases:
    """The database as each role sees it."""

    addresses: DatabaseAddresses
    application: Database
    worker: Database
    is_embedded: bool


def migration_sets() -> tuple[MigrationSet, ...]:
    """Return the migrations of all schemas, in the order of execution."""
    (ours,), (theirs,) = database.__path__, embedded.__path__
    folders = {
        "chamberlain": Path(ours),
        "directory": Path(theirs) / "directory",
        "identity": Path(theirs) / "identity",
    }
    return tuple(MigrationSet(name, path / "migrations", path / "sql") for name, path in folders.items())


@asynccontextmanager
async def opened_databases(
    settings: Settings, folder: DataFolder, *, stop: asyncio.Event | None = None
) -> AsyncIterator[Databases]:
    """Open the database for as long as the block runs.

    A process that ends by `stop` waits for an outside database that does not accept connections yet; a command does
    not. Raises DatabaseNotReady, StoppedEarly, and the errors of the embedded PostgreSQL.
    """
    async with AsyncExitStack() as stack:
        if settings.database_url is None:
            if settings.database_owner_url is not None:
                raise DatabaseNotReady(
                    "Only the owner's address of an outside database is set, which is for migrations. Set those "
                    "of the application's and the worker's role as well, or none for the embedded database."
                )
            addresses = await _start_embedded(stack, settings, folder)
        else:
            addresses = _outside(settings)
        notices = settings.smtp_url is not None
        application = await open_database(
            addresses.application,
            most=MOST_APPLICATION_CONNECTIONS,
            name="chamberlain application",
            notices=notices,
            patience=ANSWERED_WITHIN if are_several(addresses.application) else COMMAND_TIMEOUT,
            most_statements=_most_statements(settings),
            report=log_outage,
            pool_class=connection_pool(),
        )
        stack.push_async_callback(application.close)
        worker = await open_database(
            addresses.worker,
            most=MOST_WORKER_CONNECTIONS,
            name="chamberlain worker",
            notices=notices,
            most_statements=_most_statements(settings),
            report=log_outage,
            pool_class=connection_pool(),
        )
        stack.push_async_callback(worker.close)
        if settings.database_url is None:
            await _require_up_to_date(application)
            _refine_outages(folder, application, worker)
        elif stop is None:
            await _require_usable(application, worker)
        else:
            patience = settings.database_start_timeout
            await unless_stopped(_wait_until_usable(application, worker, patience), stop)
        yield Databases(addresses, application, worker, is_embedded=settings.database_url is None)


@asynccontextmanager
async def opened_beside(settings: Settings) -> AsyncIterator[Database]:
    """Open the database as the worker's role, for a command. Raises DatabaseNotReady.

    The service may run at the same time.
    """
    outside = settings.database_worker_url
    address = (
        postgres.addresses_of(DataFolder(settings.data_dir).postgres).worker
        if outside is None
        else outside.get_secret_value()
    )
    database = await open_database(
        address, most=1, name="chamberlain command", most_statements=_most_statements(settings)
    )
    try:
        try:
            async with database.statement() as connection:
                now.set(await read_time(connection))
        except DatabaseUnavailable as error:
            raise DatabaseNotReady(f"{error.outage.seen} {_cure(settings)}") from error
        if abs(now.difference) > MOST_CLOCK_DIFFERENCE:
            # A command has no log of its own: the line goes to standard error.
            seconds = round(now.difference.total_seconds())
            sys.stderr.write(f"This machine's clock differs from the database's by {seconds} seconds.\n")
        yield database
    finally:
        await database.close()


@asynccontextmanager
async def opened_at_hand(settings: Settings) -> AsyncIterator[Database]:
    """Open the database with the worker's role for a command.

    The embedded database is started while the block runs, if it does not run. Raises DatabaseNotReady if the database
    is not ready or does not exist.
    """
    if settings.database_worker_url is None and not postgres.has_data(DataFolder(settings.data_dir).postgres):
        raise DatabaseNotReady(
            f"There is no database in {settings.data_dir} yet. Name the --data-dir of the service, or start it once."
        )
    async with opened_or_made(settings) as database:
        yield database


@asynccontextmanager
async def opened_or_made(settings: Settings) -> AsyncIterator[Database]:
    """The same; an embedded one is made when there is none yet."""
    if settings.database_worker_url is None and not await _is_running(settings):
        async with opened_databases(settings, open_data_folder(settings.data_dir)) as databases:
            yield databases.worker
    else:
        async with opened_beside(settings) as database:
            await _require_up_to_date(database)
            yield database


def _cure(settings: Settings) -> str:
    if settings.database_worker_url is not None:
        return "Start the database, or correct CHAMBERLAIN_DATABASE_WORKER_URL."
    return "The embedded one runs as long as the service does: start it, or name its --data-dir."


def _most_statements(settings: Settings) -> int:
    return PREPARED_STATEMENTS if settings.database_prepared_statements else 0


async def _is_running(settings: Settings) -> bool:
    try:
        connection = await connect(postgres.addresses_of(DataFolder(settings.data_dir).postgres).worker)
    except DatabaseUnavailable:
        return False
    await connection.close()
    return True


def _refine_outages(folder: DataFolder, *databases: Database) -> None:
    for each in databases:
        each.pool.outages.refine = partial(embedded_outage, folder.postgres)


def embedded_outage(folder: Path, outage: Outage) -> Outage:
    """Find out why the embedded PostgreSQL accepts no connections.

    A PostgreSQL that cannot write its log ends, and cannot start again before there is room.
    """
    if outage not in _NOT_ACCEPTED:
        return outage
    try:
        if shutil.disk_usage(folder).free < _LOG_SEGMENT:
            return Outage.DISK_FULL
        return Outage.DATABASE_DESCRIPTORS if postgres.lacks_descriptors(folder) else outage
    except OSError:
        # The folder cannot be looked at: this process may be the one without descriptors.
        return outage


async def _start_embedded(stack: AsyncExitStack, settings: Settings, folder: DataFolder) -> DatabaseAddresses:
    server = await postgres.start(folder.postgres, programs=settings.postgres_bin, run_as=settings.postgres_user)
    stack.push_async_callback(server.stop)
    await migrate(server.addresses.owner, migration_sets())
    own = server.addresses
    return DatabaseAddresses(application=own.application, worker=own.worker, direct=own.application)


def _outside(settings: Settings) -> DatabaseAddresses:
    application, worker = settings.database_url, settings.database_worker_url
    direct = settings.database_direct_url or application
    if application is None or worker is None or direct is None:
        raise DatabaseNotReady("An outside database needs the addresses of the application's and the worker's role.")
    return DatabaseAddresses(
        application=application.get_secret_value(),
        worker=worker.get_secret_value(),
        direct=direct.get_secret_value(),
    )


async def _wait_until_usable(application: Database, worker: Database, patience: float) -> None:
    """Retry for `patience` seconds. Raises DatabaseNotReady.

    It raises at once for every error that a retry does not fix.
    """
    clock = asyncio.get_running_loop().time
    end = clock() + patience
    reported: Outage | None = None
    while True:
        try:
            await _require_usable(application, worker)
        except _NotReachable as error:
            left = end - clock()
            if not error.outage.passes_by_itself or left <= 0:
                raise
            if error.outage is not reported:
                reported = error.outage
                logger.warning(
                    "The start waits for the database.", reasonCode=reported.value, secondsLeft=round(left, 1)
                )
            await asyncio.sleep(min(_BETWEEN_ATTEMPTS, left))
        else:
            return


async def _require_usable(application: Database, worker: Database) -> None:
    await _require_up_to_date(application)
    try:
        async with worker.statement() as connection:
            await connection.execute("SELECT")
    except DatabaseUnavailable as error:
        raise _NotReachable("CHAMBERLAIN_DATABASE_WORKER_URL", error.outage) from error


async def _require_up_to_date(database: Database) -> None:
    try:
        async with database.statement() as connection:
            missing = await missing_files(connection, migration_sets())
    except DatabaseUnavailable as error:
        raise _NotReachable("CHAMBERLAIN_DATABASE_URL", error.outage) from error
    if missing:
        raise DatabaseNotReady(
            f"The database lacks {len(missing)} migration files ({missing[0]} is the first). Run `chamberlain migrate`."
        )
