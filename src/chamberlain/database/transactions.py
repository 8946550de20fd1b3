# SPDX-License-Identifier: Apache-2.0
"""Connections and transactions.

Session state is set for one transaction only, so that a pooler works between the service and PostgreSQL.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from chamberlain.core.errors import DatabaseUnavailable, Unavailable
from chamberlain.core.ids import TenantId
from chamberlain.core.outages import Outage
from chamberlain.database.connection import (
    RELEASED_WITHIN,
    UNREACHABLE,
    Hosts,
    LeanConnection,
    LentConnection,
    OutageRecord,
    Report,
    WatchfulPool,
    connecting,
    raise_if_unreachable,
    unavailable,
)
from chamberlain.queries import load_queries

SQL = load_queries(__name__)

Answer = TypeVar("Answer")
Record: TypeAlias = asyncpg.Record

# The driver's classes take a parameter for the type checker only.
if TYPE_CHECKING:
    Connection: TypeAlias = asyncpg.Connection[Record] | PoolConnectionProxy[Record]
else:
    Connection = asyncpg.Connection | PoolConnectionProxy

COMMAND_TIMEOUT = timedelta(seconds=30)
# Timeout of the wait for a connection while all are in use.
ACQUIRED_WITHIN = timedelta(seconds=10)
# Timeout of statements that only a hanging server delays.
AT_ONCE = timedelta(seconds=5)
# The driver's default; the service has about as many statements.
PREPARED_STATEMENTS = 100
# Retries. Each deadlock costs the second that PostgreSQL takes to detect it (deadlock_timeout).
_DEADLOCKS = 5


class Overtaken(Unavailable):
    """PostgreSQL ended a transaction because of a deadlock."""

    def __init__(self) -> None:
        super().__init__("overloaded", "Two writes were in each other's way. Send the request again.")


@dataclass(slots=True, eq=False)
class Transaction:
    """An open transaction, of one tenant unless `tenant_id` is None.

    After its end it has no connection.
    """

    connection: Connection
    tenant_id: TenantId | None

    async def fetch(self, statement: str, *values: object) -> Sequence[Record]:
        """Fetch all rows."""
        return await self.connection.fetch(statement, *values)

    async def fetch_row(self, statement: str, *values: object) -> Record | None:
        """Fetch the first row, or None."""
        return await self.connection.fetchrow(statement, *values)

    async def execute(self, statement: str, *values: object) -> None:
        """Execute a statement without a result."""
        await self.connection.execute(statement, *values)


# Statements that enable e-mail notices for the rows of a transaction (sql/notices.sql), and that make its commit
# asynchronous.
_WITH_NOTICES = "; SET LOCAL chamberlain.notices = 'on'"
_BEFORE_DISK = "; SET LOCAL synchronous_commit = off"


class Database:
    """A pool of connections with one role.

    `notices` enables e-mail notices, `acquired_within` is the timeout of the wait for a connection.
    """

    def __init__(
        self, pool: WatchfulPool, *, notices: bool = False, acquired_within: timedelta = ACQUIRED_WITHIN
    ) -> None:
        self.pool = pool
        self._acquired_within = acquired_within.total_seconds()
        self.notices = notices
        self._also = _WITH_NOTICES if notices else ""

    @asynccontextmanager
    async def transaction(self, tenant_id: TenantId, *, first: str = "") -> AsyncIterator[Transaction]:
        """Open a transaction that sees only this tenant.

        The statement `first` has no values, and costs no call of its own. Raises Unavailable.
        """
        begin = f"BEGIN; SELECT set_config('chamberlain.tenant_id', '{tenant_id}', true){self._also}"
        begin = f"{begin}; {first}" if first else begin
        with _overtaken():
            async with self.statement() as connection, _begun(connection, begin):
                with _ending(Transaction(connection, tenant_id)) as tx:
                    yield tx

    @asynccontextmanager
    async def across_tenants(self, *, before_disk: bool = False) -> AsyncIterator[Transaction]:
        """Open a transaction that sees all that the role may see.

        The worker's role sees every tenant. Raises Unavailable. With `before_disk` the commit is asynchronous: a crash
        of PostgreSQL may lose it, and all later commits with it.
        """
        # A plan of an empty queue would scan a full one: rows are found by keys here.
        begin = f"BEGIN; SET LOCAL enable_seqscan = off{_BEFORE_DISK if before_disk else ''}{self._also}"
        with _overtaken():
            async with self.statement() as connection, _begun(connection, begin):
                with _ending(Transaction(connection, None)) as tx:
                    yield tx

    @asynccontextmanager
    async def statement(self) -> AsyncIterator[Connection]:
        """Lend a connection for one statement that is its own transaction.

        For functions that set the tenant themselves. Raises Unavailable.
        """
        pool = self.pool
        connection = pool.lend_at_once() or await self._lend()
        try:
            yield connection
        except BaseException as error:
            with unavailable(pool.outages):
                await self._give_back_failed(connection, error)
            raise_if_unreachable(error, pool.outages)
            raise
        with unavailable(pool.outages):
            await pool.give_back(connection)
        pool.outages.worked()

    async def _lend(self) -> LentConnection:
        outages = self.pool.outages
        with connecting(outages):
            try:
                # The timeout of the driver would start a task for each connection.
                async with asyncio.timeout(self._acquired_within):
                    return await self.pool.lend()
            except TimeoutError as error:
                if self.pool.is_used_up():
                    raise DatabaseUnavailable(outages.failed(Outage.POOL)) from error
                raise

    async def _give_back_failed(self, connection: LentConnection, error: BaseException) -> None:
        try:
            if isinstance(error, TimeoutError | asyncpg.ReadOnlySQLTransactionError):
                # The server may hang or be a standby now. New connections find the host that leads.
                await self.pool.expire_connections()
        finally:
            await self.pool.release(connection)

    @asynccontextmanager
    async def noticed_statement(self) -> AsyncIterator[Connection]:
        """Lend a connection for one statement that creates e-mail notices."""
        async with self.statement() as connection, _begun(connection, f"BEGIN{_WITH_NOTICES}"):
            yield connection

    async def close(self) -> None:
        """Close all connections, and terminate those that do not close soon."""
        try:
            await asyncio.wait_for(self.pool.close(), timeout=2)
        except TimeoutError:
            self.pool.terminate()


@asynccontextmanager
async def _begun(connection: Connection, begin: str) -> AsyncIterator[None]:
    # The driver's own transaction would send its settings in another message.
    async with AsyncExitStack() as undo:
        undo.push_async_callback(_roll_back, connection)
        await connection.execute(begin)
        yield
        undo.pop_all()
    await connection.execute("COMMIT")


@contextmanager
def _ending(transaction: Transaction) -> Iterator[Transaction]:
    # The next transaction gets this connection, for another tenant. So this one must not use it any more.
    try:
        yield transaction
    finally:
        del transaction.connection


async def _roll_back(connection: Connection) -> None:
    # A lost connection rolls back by itself, and so does one whose server hangs.
    with suppress(*UNREACHABLE):
        async with asyncio.timeout(RELEASED_WITHIN.total_seconds()):
            await connection.execute("ROLLBACK")


@contextmanager
def _overtaken() -> Iterator[None]:
    """Translate a deadlock. A retry of the transaction resolves it."""
    try:
        yield
    except asyncpg.DeadlockDetectedError as error:
        raise Overtaken from error


async def connect(address: str, settings: dict[str, str] | None = None) -> Connection:
    """Open a single connection that no pooler supports. Raises Unavailable."""
    with connecting():
        connection: Connection = await Hosts(address).connect(
            server_settings=settings, command_timeout=AT_ONCE.total_seconds()
        )
    return connection


async def open_database(
    address: str,
    *,
    most: int,
    name: str,
    notices: bool = False,
    patience: timedelta = COMMAND_TIMEOUT,
    most_statements: int = PREPARED_STATEMENTS,
    acquired_within: timedelta = ACQUIRED_WITHIN,
    report: Report | None = None,
    pool_class: type[WatchfulPool] = WatchfulPool,
) -> Database:
    """Open a pool of at most `most` connections.

    PostgreSQL shows `name`. `patience` is the timeout of a statement, `acquired_within` that of the wait for a
    connection. `most_statements` are kept prepared for each connection: none behind a pooler that does not support
    them. `report` is called when an outage begins, lasts and ends. Connections are opened when needed.
    """
    pool = pool_class(
        OutageRecord(name) if report is None else OutageRecord(name, report=report),
        connect=Hosts(address).connect,
        min_size=0,
        max_size=most,
        max_queries=50_000,
        max_inactive_connection_lifetime=300,
        loop=None,
        record_class=asyncpg.Record,
        connection_class=LeanConnection,
        command_timeout=patience.total_seconds(),
        statement_cache_size=most_statements,
        # The statements are short: compiling them costs more than it saves.
        server_settings={"application_name": name, "jit": "off"},
    )
    # The driver uses the timeout of the statement for its cancellation, too.
    pool.released_within = min(RELEASED_WITHIN, patience / 2)
    return Database(await pool, notices=notices, acquired_within=acquired_within)


async def repeat_if_stale(work: Callable[[], Awaitable[Answer]]) -> Answer:
    """Retry once when a migration has invalidated a prepared statement."""
    try:
        return await work()
    except asyncpg.InvalidCachedStatementError:
        return await work()


async def repeat_if_deadlocked(work: Callable[[], Awaitable[Answer]]) -> Answer:
    """Retry after a deadlock. Raises Unavailable after several."""
    for _ in range(_DEADLOCKS):
        with suppress(Overtaken, asyncpg.DeadlockDetectedError):
            return await work()
    raise Overtaken


PLANNING: Final = SQL["planning"]
