"""The database: the embedded one, started and brought up to date, or an outside one that must be so already."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from chamberlain import embedded, store
from chamberlain.bootstrap.data_folder import DataFolder, open_data_folder
from chamberlain.embedded import postgres
from chamberlain.rules.errors import Unavailable
from chamberlain.settings import Settings
from chamberlain.store.database import COMMAND_TIMEOUT, PREPARED_STATEMENTS, Database, connect, open_database
from chamberlain.store.hosts import are_several
from chamberlain.store.migrate import MigrationSet, migrate, missing_files

# asyncpg needs one connection for the batcher, one for the directory's questions, and some for everything that reads.
MOST_APPLICATION_CONNECTIONS = 20
MOST_WORKER_CONNECTIONS = 8
# Where another host may take over, one that hangs in the middle of an answer is given up sooner. Work takes its time.
ANSWERED_WITHIN = timedelta(seconds=5)


class DatabaseNotReady(Exception):
    """The database cannot be used as it is; the sentence says what to do."""


@dataclass(frozen=True, slots=True)
class DatabaseAddresses:
    """Where the roles find the database, with passwords, so they are not shown. `direct` passes by any pooler."""

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
    """The files of all schemas, in the order in which they are run."""
    (ours,), (theirs,) = store.__path__, embedded.__path__
    folders = {
        "chamberlain": Path(ours),
        "directory": Path(theirs) / "directory",
        "identity": Path(theirs) / "identity",
    }
    return tuple(MigrationSet(name, path / "migrations", path / "sql") for name, path in folders.items())


@asynccontextmanager
async def opened_databases(settings: Settings, folder: DataFolder) -> AsyncIterator[Databases]:
    """The database for as long as the block runs. Raises DatabaseNotReady, or what the embedded one has to say."""
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
        )
        stack.push_async_callback(application.close)
        worker = await open_database(
            addresses.worker,
            most=MOST_WORKER_CONNECTIONS,
            name="chamberlain worker",
            notices=notices,
            most_statements=_most_statements(settings),
        )
        stack.push_async_callback(worker.close)
        await _require_up_to_date(application)
        yield Databases(addresses, application, worker, is_embedded=settings.database_url is None)


@asynccontextmanager
async def opened_beside(settings: Settings) -> AsyncIterator[Database]:
    """The database as the worker's role, for a command beside the running service. Raises DatabaseNotReady."""
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
                await connection.execute("SELECT")
        except Unavailable as error:
            raise DatabaseNotReady(f"The database does not answer. {_cure(settings)}") from error
        yield database
    finally:
        await database.close()


@asynccontextmanager
async def opened_at_hand(settings: Settings) -> AsyncIterator[Database]:
    """The database as the worker's role, for a command, whether the service runs or not: the embedded one is started
    for as long as the block runs when nobody has started it. Raises DatabaseNotReady, and when there is none yet."""
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
        return "Start it, or mend CHAMBERLAIN_DATABASE_WORKER_URL."
    return "The embedded one runs as long as the service does: start it, or name its --data-dir."


def _most_statements(settings: Settings) -> int:
    return PREPARED_STATEMENTS if settings.database_prepared_statements else 0


async def _is_running(settings: Settings) -> bool:
    try:
        connection = await connect(postgres.addresses_of(DataFolder(settings.data_dir).postgres).worker)
    except Unavailable:
        return False
    await connection.close()
    return True


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


async def _require_up_to_date(database: Database) -> None:
    try:
        async with database.statement() as connection:
            missing = await missing_files(connection, migration_sets())
    except Unavailable as error:
        cause = type(error.__cause__).__name__
        raise DatabaseNotReady(
            f"The database cannot be reached ({cause}). Start it, or mend CHAMBERLAIN_DATABASE_URL."
        ) from error
    if missing:
        raise DatabaseNotReady(
            f"The database lacks {len(missing)} migration files ({missing[0]} is the first). Run `chamberlain migrate`."
        )
