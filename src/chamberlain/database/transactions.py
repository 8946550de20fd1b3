"""Connections and transactions.

Session state is set for one transaction only, so that a pooler may stand between us and PostgreSQL.
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
from chamberlain.database.connection import Hosts, LeanConnection
from chamberlain.database.errors import UNREACHABLE, OutageRecord, Report, connecting, raise_if_unreachable, unavailable
from chamberlain.database.pool import RELEASED_WITHIN, LentConnection, WatchfulPool

Answer = TypeVar("Answer")
Record: TypeAlias = asyncpg.Record

# The driver's classes take a parameter for the type checker only.
if TYPE_CHECKING:
    Connection: TypeAlias = asyncpg.Connection[Record] | PoolConnectionProxy[Record]
else:
    Connection = asyncpg.Connection | PoolConnectionProxy

COMMAND_TIMEOUT = timedelta(seconds=30)
# Where all connections of a pool are held by those who wait for somebody else, further callers are told to come again.
ACQUIRED_WITHIN = timedelta(seconds=10)
# What takes no time at all, unless the server hangs.
AT_ONCE = timedelta(seconds=5)
# What the driver keeps by itself; ours are about as many.
PREPARED_STATEMENTS = 100
# Each costs the second that PostgreSQL takes to notice (deadlock_timeout).
_DEADLOCKS = 5


class Overtaken(Unavailable):
    """PostgreSQL has ended a transaction because it and another one waited for each other, or would have for long."""

    def __init__(self) -> None:
        super().__init__("overloaded", "Two writes were in each other's way. Send the request again.")


@dataclass(slots=True, eq=False)
class Transaction:
    """An open transaction, for one tenant, or for the whole of the worker's view when `tenant_id` is None. Behind its
    end it has no connection any more."""

    connection: Connection
    tenant_id: TenantId | None

    async def fetch(self, statement: str, *values: object) -> Sequence[Record]:
        """All rows."""
        return await self.connection.fetch(statement, *values)

    async def fetch_row(self, statement: str, *values: object) -> Record | None:
        """The first row, or None."""
        return await self.connection.fetchrow(statement, *values)

    async def execute(self, statement: str, *values: object) -> None:
        """Run it for what it does."""
        await self.connection.execute(statement, *values)


# What a transaction says by which people are told by mail of what it writes (sql/notices.sql), and one that does not
# wait for the disk.
_WITH_NOTICES = "; SET LOCAL chamberlain.notices = 'on'"
_BEFORE_DISK = "; SET LOCAL synchronous_commit = off"


class Database:
    """A pool of connections that all hold one role. `notices` is whether people are told by mail of what is written,
    `acquired_within` how long a connection is waited for."""

    def __init__(
        self, pool: WatchfulPool, *, notices: bool = False, acquired_within: timedelta = ACQUIRED_WITHIN
    ) -> None:
        self.pool = pool
        self._acquired_within = acquired_within.total_seconds()
        self.notices = notices
        self._also = _WITH_NOTICES if notices else ""

    @asynccontextmanager
    async def transaction(self, tenant_id: TenantId) -> AsyncIterator[Transaction]:
        """A transaction that sees this tenant and nothing else. Raises Unavailable when there is no database, and when
        another transaction and this one have waited for each other."""
        begin = f"BEGIN; SELECT set_config('chamberlain.tenant_id', '{tenant_id}', true){self._also}"
        with _overtaken():
            async with self.statement() as connection, _begun(connection, begin):
                with _ending(Transaction(connection, tenant_id)) as tx:
                    yield tx

    @asynccontextmanager
    async def across_tenants(self, *, before_disk: bool = False) -> AsyncIterator[Transaction]:
        """A transaction that sees what the role itself may see: for the worker's role, every tenant. Raises as
        `transaction` does. With `before_disk` nobody waits until it is on the disk: where PostgreSQL is killed, it may
        be lost, and whatever was committed after it with it."""
        # The queue is empty at times, and a plan made then would read all of a full one: rows are reached by keys here.
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
        """The same, for one by which people are told by mail of what it writes."""
        async with self.statement() as connection, _begun(connection, f"BEGIN{_WITH_NOTICES}"):
            yield connection

    async def close(self) -> None:
        """End all connections, at once if they do not end by themselves soon."""
        try:
            await asyncio.wait_for(self.pool.close(), timeout=2)
        except TimeoutError:
            self.pool.terminate()


@asynccontextmanager
async def _begun(connection: Connection, begin: str) -> AsyncIterator[None]:
    # The driver's own transaction would send what is set for it in a message of its own.
    async with AsyncExitStack() as undo:
        undo.push_async_callback(_roll_back, connection)
        await connection.execute(begin)
        yield
        undo.pop_all()
    await connection.execute("COMMIT")


@contextmanager
def _ending(transaction: Transaction) -> Iterator[Transaction]:
    # The next one gets the same connection, for another tenant: nothing may be done with it from here then.
    try:
        yield transaction
    finally:
        del transaction.connection


async def _roll_back(connection: Connection) -> None:
    # A connection that is gone has taken its transaction with it, and so will one whose server hangs.
    with suppress(*UNREACHABLE):
        async with asyncio.timeout(RELEASED_WITHIN.total_seconds()):
            await connection.execute("ROLLBACK")


@contextmanager
def _overtaken() -> Iterator[None]:
    """PostgreSQL ends one of two transactions that wait for each other; to do the same again is all that it takes."""
    try:
        yield
    except asyncpg.DeadlockDetectedError as error:
        raise Overtaken from error


async def connect(address: str, settings: dict[str, str] | None = None) -> Connection:
    """A connection of one's own, for what a pooler does not carry and what is over at once. Raises Unavailable."""
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
    """A pool of at most `most` connections; `name` is what PostgreSQL shows of them, `patience` how long one statement
    may take, `most_statements` how many a connection keeps prepared: none behind a pooler that does not carry them,
    `acquired_within` how long one of the connections is waited for. `report` is called when an outage begins, lasts and
    ends. Connections are made when needed."""
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
        # Our statements are short: compiling them costs more than it saves.
        server_settings={"application_name": name, "jit": "off"},
    )
    # The driver takes as long over a cancellation as over a statement.
    pool.released_within = min(RELEASED_WITHIN, patience / 2)
    return Database(await pool, notices=notices, acquired_within=acquired_within)


async def repeat_if_stale(work: Callable[[], Awaitable[Answer]]) -> Answer:
    """Do it once more when a migration has changed what a prepared statement gives: the driver has then forgotten
    it."""
    try:
        return await work()
    except asyncpg.InvalidCachedStatementError:
        return await work()


async def repeat_if_deadlocked(work: Callable[[], Awaitable[Answer]]) -> Answer:
    """Do it again when PostgreSQL has ended it because it and another transaction waited for each other. Raises
    Unavailable when that happens time and again."""
    for _ in range(_DEADLOCKS):
        with suppress(Overtaken, asyncpg.DeadlockDetectedError):
            return await work()
    raise Overtaken


# Whatever the planner believes of a table, it shall walk an index in its order and stop when the page is full.
PLANNING: Final = """
SELECT set_config('plan_cache_mode', 'force_custom_plan', true), set_config('enable_sort', 'off', true),
    set_config('enable_bitmapscan', 'off', true), set_config('enable_seqscan', 'off', true)
"""
