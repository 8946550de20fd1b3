# SPDX-License-Identifier: Apache-2.0
"""Open the database as each role.

Roles that cannot sign in are reported and left out.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from chamberlain.app.clock_and_ids import local_now
from chamberlain.app.data_folder import DataFolder
from chamberlain.app.databases import (
    MOST_APPLICATION_CONNECTIONS,
    MOST_WORKER_CONNECTIONS,
    embedded_outage,
    migration_sets,
)
from chamberlain.app.doctor import checks, store
from chamberlain.app.doctor.store import APPLICATION, WORKER, BadText, bad_texts, judge_role, judge_row_security
from chamberlain.core.errors import DatabaseUnavailable
from chamberlain.core.health import HealthCheck, fault, healthy, warning
from chamberlain.core.outages import Outage
from chamberlain.database import clock
from chamberlain.database.connection import AddressUnusable
from chamberlain.database.migrate import judge_migrations, migration_state
from chamberlain.database.transactions import Database, Transaction, connect, open_database
from chamberlain.embedded import postgres
from chamberlain.embedded.postgres import AlreadyRunning, EmbeddedPostgresError
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import counted
from chamberlain.settings import Settings, variable

# One connection for each role is enough for a look.
_APPLICATION, _WORKER = "database_url", "database_worker_url"


@dataclass(slots=True)
class Opened:
    """The settings, and the database as each role; None if unreachable.

    One that `was_stopped` was started for the checks.
    """

    settings: Settings
    application: Database | None = None
    worker: Database | None = None
    checkups: list[HealthCheck] = field(default_factory=list)
    was_stopped: bool = False

    @property
    def is_embedded(self) -> bool:
        """Whether it is the embedded one."""
        return self.settings.database_url is None


@asynccontextmanager
async def opened_to_look(settings: Settings) -> AsyncIterator[Opened]:
    """Open the database for the duration of the block.

    An embedded one that does not run is started.
    """
    opened = Opened(settings)
    async with AsyncExitStack() as stack:
        addresses = await _addresses(stack, opened)
        for name, address in addresses.items():
            database = await _opened(stack, opened, name, address)
            if name == _APPLICATION:
                opened.application = database
            elif name == _WORKER:
                opened.worker = database
        yield opened


async def _addresses(stack: AsyncExitStack, opened: Opened) -> Mapping[str, str]:
    """The addresses by the names of their settings."""
    settings = opened.settings
    if opened.is_embedded:
        return await _embedded(stack, opened)
    named = {
        _APPLICATION: settings.database_url,
        _WORKER: settings.database_worker_url,
        "database_direct_url": None
        if settings.database_direct_url == settings.database_url
        else settings.database_direct_url,
        "database_owner_url": settings.database_owner_url,
    }
    return {name: address.get_secret_value() for name, address in named.items() if address is not None}


async def _embedded(stack: AsyncExitStack, opened: Opened) -> Mapping[str, str]:
    settings, folder = opened.settings, DataFolder(opened.settings.data_dir).postgres
    found = postgres.addresses_of(folder)
    addresses = {_APPLICATION: found.application, _WORKER: found.worker}
    if (outage := await _outage_of(found.worker)) is None:
        return addresses
    try:
        if not postgres.has_data(folder):
            seen = f"There is no embedded database in {settings.data_dir} yet."
            opened.checkups.append(warning("database", seen, "Start `chamberlain serve`, or name its --data-dir."))
            return {}
        server = await postgres.start(folder, programs=settings.postgres_bin, run_as=settings.postgres_user)
    except AlreadyRunning:
        outage = embedded_outage(folder, outage)
        seen = f"The service runs, and its embedded database does not. {outage.seen}"
        opened.checkups.append(fault("database", seen, outage.cure))
        return {}
    except EmbeddedPostgresError as error:
        opened.checkups.append(fault("database", "The embedded database cannot be started.", str(error)))
        return {}
    except OSError as error:
        seen = f"The folder of the embedded database cannot be looked at ({error.strerror})."
        opened.checkups.append(fault("database", seen, "Run this as who runs the service, with its --data-dir."))
        return {}
    stack.push_async_callback(server.stop)
    opened.was_stopped = True
    opened.checkups.append(healthy("database", "The service is stopped: its database was started for this look."))
    return addresses


async def _outage_of(address: str) -> Outage | None:
    """Answer why no connection can be made; None when one can."""
    try:
        connection = await connect(address)
    except DatabaseUnavailable as error:
        return error.outage
    await connection.close()
    return None


async def _opened(stack: AsyncExitStack, opened: Opened, name: str, address: str) -> Database | None:
    try:
        # A check ends before a pooler reuses its connection.
        database = await open_database(address, most=1, name="chamberlain doctor", most_statements=0)
        stack.push_async_callback(database.close)
        async with database.statement() as connection:
            await connection.execute("SELECT")
    except DatabaseUnavailable as error:
        seen = f"{error.outage.seen} Seen through {variable(name)}: {_reason(error)}."
        opened.checkups.append(fault("database", seen, _cure(error.outage, opened, name)))
        return None
    except AddressUnusable as error:
        seen = f"The database cannot be reached by {variable(name)}: {error.reason}."
        opened.checkups.append(fault("database", seen, f"Correct {variable(name)}."))
        return None
    return database


def _cure(outage: Outage, opened: Opened, name: str) -> str:
    where = "" if opened.is_embedded else f" The address is that of {variable(name)}."
    return outage.cure + where


def _reason(error: DatabaseUnavailable) -> str:
    """Quote the server or the system. Neither of them quotes a password."""
    cause = error.__cause__
    said = str(cause).rstrip(".").splitlines()
    return said[0] if said else type(cause).__name__


# Beside the pools: the batchers of submissions and assignments, and one that listens.
_OF_ITS_OWN = 4
_NEEDED = MOST_APPLICATION_CONNECTIONS + MOST_WORKER_CONNECTIONS + _OF_ITS_OWN


async def look_at_server(opened: Opened) -> Sequence[HealthCheck]:
    """Check the server and its contents, as any usable role."""
    anybody = opened.worker or opened.application

    async def migrations(tx: Transaction) -> Sequence[HealthCheck]:
        state = await migration_state(tx.connection, migration_sets())
        return judge_migrations(state, is_embedded=opened.is_embedded)

    return [
        *await checks.look("database", anybody, _server),
        *await checks.look("clock", opened.worker, _clocks),
        *await checks.look("migrations", anybody, migrations),
        *await checks.look("roles", opened.application, _application),
        *await checks.look("roles", opened.worker, _worker),
        *await checks.look("row-level security", anybody, _row_security),
    ]


async def _server(tx: Transaction) -> Sequence[HealthCheck]:
    state = await store.server_state(tx)
    return [
        checks.judge_version(state.version),
        checks.judge_clock(state.now - local_now()),
        checks.judge_connections(state.used_connections, state.most_connections, needed=_NEEDED),
    ]


async def _clocks(tx: Transaction) -> Sequence[HealthCheck]:
    reports = [checks.judge_process_clock(each) for each in await clock.reports(tx)]
    return [*reports, checks.judge_retention(await clock.read(tx))]


async def _application(tx: Transaction) -> Sequence[HealthCheck]:
    return judge_role(APPLICATION, await store.role_rights(tx))


async def _worker(tx: Transaction) -> Sequence[HealthCheck]:
    return judge_role(WORKER, await store.role_rights(tx))


async def _row_security(tx: Transaction) -> Sequence[HealthCheck]:
    return [judge_row_security(await store.open_tables(tx))]


async def look_at_queue(opened: Opened) -> Sequence[HealthCheck]:
    """Of all tenants."""

    async def read(tx: Transaction) -> Sequence[HealthCheck]:
        depth = await queue_jobs.measure(tx)
        queue = checks.judge_queue(depth.due, depth.oldest, is_stopped=opened.was_stopped)
        return [queue, *_held(depth.held), *_parked(depth.parked)]

    return await checks.look("queue", opened.worker, read)


def _held(count: int) -> Sequence[HealthCheck]:
    if not count:
        return ()
    held = f"{counted(count, 'job')} {'waits' if count == 1 else 'wait'}"
    cure = "See `chamberlain jobs list`, fix the cause, then run `chamberlain jobs release`."
    return [warning("queue", f"{held} for a person.", cure)]


def _parked(count: int) -> Sequence[HealthCheck]:
    if not count:
        return ()
    parked = f"{counted(count, 'job')} {'waits' if count == 1 else 'wait'}"
    cure = "Fix the connection of the tenant's directory. The jobs then run without further action."
    return [warning("queue", f"{parked} for the directory of a tenant.", cure)]


async def look_at_texts(opened: Opened) -> Sequence[HealthCheck]:
    """Check the texts of all tenants.

    Requests, events and the audit trail are too large to be searched.
    """

    async def read(tx: Transaction) -> Sequence[HealthCheck]:
        return judge_texts(await bad_texts(tx))

    return await checks.look("texts", opened.worker, read)


def judge_texts(found: Sequence[BadText]) -> Sequence[HealthCheck]:
    """Name each row that an administrator has to write again."""
    if not found:
        return [healthy("texts", "No template or policy holds a control character.")]
    return [fault("texts", _seen(each), _CURE) for each in found]


_CURE = (
    "It is shown with U+FFFD in place of each such character. Correct it in the configuration file and run "
    "`chamberlain apply`, or PUT it again."
)


def _seen(bad: BadText) -> str:
    return f"The {bad.noun} {bad.id} of tenant {bad.tenant_id} holds a control character of an earlier version."
