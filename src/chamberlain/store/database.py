"""Connections and transactions, and how the database's troubles are told.

Session state is set for one transaction only, so that a pooler may stand between us and PostgreSQL.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import asyncpg
import asyncpg.pool

from chamberlain.rules.errors import Unavailable
from chamberlain.rules.ids import TenantId

if TYPE_CHECKING:
    from collections.abc import Iterator

Record: TypeAlias = "asyncpg.Record"
Pool: TypeAlias = "asyncpg.Pool[asyncpg.Record]"
Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record] | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"
Answer = TypeVar("Answer")

# The driver's class takes a parameter for the type checker only.
if TYPE_CHECKING:
    _Connection = asyncpg.Connection[asyncpg.Record]
else:
    _Connection = asyncpg.Connection

# The connection is gone, cannot be had, or the server is on its way down or up: all of it passes.
UNREACHABLE: tuple[type[Exception], ...] = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.TooManyConnectionsError,
    asyncpg.IdleInTransactionSessionTimeoutError,
)
COMMAND_TIMEOUT = timedelta(seconds=30)


class LeanConnection(_Connection):
    """A connection that is not reset at every release: nothing of ours outlives a transaction, and the reset costs a
    round trip."""

    def get_reset_query(self) -> str:
        return ""


@dataclass(frozen=True, slots=True)
class Transaction:
    """An open transaction, for one tenant, or for the whole of the worker's view when `tenant_id` is None."""

    connection: "Connection"
    tenant_id: TenantId | None

    async def fetch(self, statement: str, *values: object) -> Sequence["Record"]:
        """All rows."""
        return await self.connection.fetch(statement, *values)

    async def fetch_row(self, statement: str, *values: object) -> "Record | None":
        """The first row, or None."""
        return await self.connection.fetchrow(statement, *values)

    async def execute(self, statement: str, *values: object) -> None:
        """Run it for what it does."""
        await self.connection.execute(statement, *values)


class Database:
    """A pool of connections that all hold one role."""

    def __init__(self, pool: "Pool") -> None:
        self.pool = pool

    @asynccontextmanager
    async def transaction(self, tenant_id: TenantId) -> AsyncIterator[Transaction]:
        """A transaction that sees this tenant and nothing else. Raises Unavailable when there is no database."""
        with unavailable():
            async with self.pool.acquire() as connection, connection.transaction():
                await connection.fetchval("SELECT set_config('chamberlain.tenant_id', $1, true)", str(tenant_id))
                yield Transaction(connection, tenant_id)

    @asynccontextmanager
    async def across_tenants(self) -> AsyncIterator[Transaction]:
        """A transaction that sees what the role itself may see: for the worker's role, every tenant."""
        with unavailable():
            async with self.pool.acquire() as connection, connection.transaction():
                yield Transaction(connection, None)

    @asynccontextmanager
    async def statement(self) -> AsyncIterator["Connection"]:
        """A connection for one statement that is a transaction of its own. For functions that set the tenant
        themselves."""
        with unavailable():
            async with self.pool.acquire() as connection:
                yield connection

    async def close(self) -> None:
        """End all connections, at once if they do not end by themselves soon."""
        try:
            await asyncio.wait_for(self.pool.close(), timeout=2)
        except TimeoutError:
            self.pool.terminate()


@contextmanager
def unavailable() -> "Iterator[None]":
    """Tell every kind of unreachable database in one way."""
    try:
        yield
    except UNREACHABLE as error:
        raise Unavailable("databaseUnavailable", "The database cannot be reached. Send the request again.") from error


async def open_database(address: str, *, most: int, name: str) -> Database:
    """A pool of at most `most` connections; `name` is what PostgreSQL shows of them. Connections are made when
    needed."""
    pool = await asyncpg.create_pool(
        address,
        min_size=0,
        max_size=most,
        connection_class=LeanConnection,
        command_timeout=COMMAND_TIMEOUT.total_seconds(),
        timeout=5,
        # Our statements are short: compiling them costs more than it saves.
        server_settings={"application_name": name, "jit": "off"},
    )
    return Database(pool)


async def repeat_if_stale(work: Callable[[], Awaitable[Answer]]) -> Answer:
    """Do it once more when a migration has changed what a prepared statement gives: the driver has then forgotten
    it."""
    try:
        return await work()
    except asyncpg.InvalidCachedStatementError:
        return await work()


async def listen(
    address: str, channel: str, heard: Callable[[str], None], *, pause: timedelta = timedelta(seconds=1)
) -> None:
    """Call `heard` with every notification of a channel, for ever. A connection that dies is made anew after a pause,
    and `heard` is then called with '', since something may have been missed."""
    while True:
        try:
            connection: Connection = await asyncpg.connect(address, timeout=5)
        except UNREACHABLE:
            await asyncio.sleep(pause.total_seconds())
            continue
        gone = asyncio.Event()
        connection.add_termination_listener(lambda _connection, gone=gone: gone.set())
        try:
            await connection.add_listener(channel, lambda _connection, _pid, _channel, payload: heard(str(payload)))
            heard("")
            await gone.wait()
        except UNREACHABLE:
            await asyncio.sleep(pause.total_seconds())
        finally:
            connection.terminate()
