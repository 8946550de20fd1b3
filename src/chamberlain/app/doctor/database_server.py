"""The database server: version, clock, connections, roles, row-level security and migrations."""

from collections.abc import Sequence

from chamberlain.app.clock_and_ids import local_now
from chamberlain.app.databases import MOST_APPLICATION_CONNECTIONS, MOST_WORKER_CONNECTIONS, migration_sets
from chamberlain.app.doctor import store
from chamberlain.app.doctor.checks import (
    judge_clock,
    judge_connections,
    judge_process_clock,
    judge_retention,
    judge_version,
)
from chamberlain.app.doctor.checks_looks import look
from chamberlain.app.doctor.database import Opened
from chamberlain.app.doctor.store_role_rights import APPLICATION, WORKER, judge_role, judge_row_security
from chamberlain.core.checkups import Checkup
from chamberlain.database import clock
from chamberlain.database.migrate import migration_state
from chamberlain.database.migrate_migrations import judge_migrations
from chamberlain.database.transactions import Transaction

# Beside the pools: the batchers of submissions and assignments, and one that listens.
_OF_ITS_OWN = 4
_NEEDED = MOST_APPLICATION_CONNECTIONS + MOST_WORKER_CONNECTIONS + _OF_ITS_OWN


async def look_at_server(opened: Opened) -> Sequence[Checkup]:
    """The server and what is in it, by whichever role can sign in."""
    anybody = opened.worker or opened.application

    async def migrations(tx: Transaction) -> Sequence[Checkup]:
        state = await migration_state(tx.connection, migration_sets())
        return judge_migrations(state, is_embedded=opened.is_embedded)

    return [
        *await look("database", anybody, _server),
        *await look("clock", opened.worker, _clocks),
        *await look("migrations", anybody, migrations),
        *await look("roles", opened.application, _application),
        *await look("roles", opened.worker, _worker),
        *await look("row-level security", anybody, _row_security),
    ]


async def _server(tx: Transaction) -> Sequence[Checkup]:
    state = await store.server_state(tx)
    return [
        judge_version(state.version),
        judge_clock(state.now - local_now()),
        judge_connections(state.used_connections, state.most_connections, needed=_NEEDED),
    ]


async def _clocks(tx: Transaction) -> Sequence[Checkup]:
    reports = [judge_process_clock(each) for each in await clock.reports(tx)]
    return [*reports, judge_retention(await clock.read(tx))]


async def _application(tx: Transaction) -> Sequence[Checkup]:
    return judge_role(APPLICATION, await store.role_rights(tx))


async def _worker(tx: Transaction) -> Sequence[Checkup]:
    return judge_role(WORKER, await store.role_rights(tx))


async def _row_security(tx: Transaction) -> Sequence[Checkup]:
    return [judge_row_security(await store.open_tables(tx))]
