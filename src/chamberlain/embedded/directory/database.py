"""The way to the database: whatever it does when it is away becomes one error."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, TypeAlias
from uuid import UUID

import asyncpg

from chamberlain.core.outages import outage_of
from chamberlain.embedded.directory.errors import Unreachable

if TYPE_CHECKING:
    from asyncpg.pool import PoolConnectionProxy

Pool: TypeAlias = "asyncpg.Pool[asyncpg.Record]"
Connection: TypeAlias = "PoolConnectionProxy[asyncpg.Record]"
Queryable: TypeAlias = "asyncpg.Pool[asyncpg.Record] | PoolConnectionProxy[asyncpg.Record]"

# Away, starting, stopping, full, or two batches in each other's way: all of them pass by themselves.
_PASSING = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # The server's farewell came between two statements.
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.PostgresIOError,
    asyncpg.TransactionRollbackError,
    asyncpg.LockNotAvailableError,
)


@contextmanager
def answering() -> Iterator[None]:
    """Turn everything that says "not now" into Unreachable."""
    try:
        yield
    except _PASSING as error:
        raise Unreachable(f"The directory's database cannot be used. {outage_of(error).seen}") from error


@asynccontextmanager
async def one_tenant(pool: Pool, tenant_id: UUID) -> AsyncIterator[Connection]:
    """A transaction that sees one tenant only, whatever its statements ask for."""
    with answering():
        async with pool.acquire() as connection, connection.transaction(readonly=True):
            await connection.execute("SELECT set_config('chamberlain.tenant_id', $1, true)", str(tenant_id))
            yield connection


@asynccontextmanager
async def one_transaction(database: Queryable) -> AsyncIterator[Connection]:
    """A transaction, or a part of the one that there is."""
    if isinstance(database, asyncpg.Pool):
        async with database.acquire() as connection, connection.transaction():
            yield connection
    else:
        async with database.transaction():
            yield database
