# SPDX-License-Identifier: Apache-2.0
"""Connections to the directory's database. Every temporary database error becomes Unreachable."""

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

# A retry can succeed: down, starting, stopping, overloaded, or a deadlock of two batches.
_TEMPORARY = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # The server closed the connection between two statements.
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.PostgresIOError,
    asyncpg.TransactionRollbackError,
    asyncpg.LockNotAvailableError,
)


@contextmanager
def database_errors() -> Iterator[None]:
    """Raise Unreachable for every temporary error of the block."""
    try:
        yield
    except _TEMPORARY as error:
        raise Unreachable(f"The directory's database cannot be used. {outage_of(error).seen}") from error


@asynccontextmanager
async def one_tenant(pool: Pool, tenant_id: UUID) -> AsyncIterator[Connection]:
    """Open a read-only transaction that sees one tenant.

    Row-level security applies to each statement.
    """
    with database_errors():
        async with pool.acquire() as connection, connection.transaction(readonly=True):
            await connection.execute("SELECT set_config('chamberlain.tenant_id', $1, true)", str(tenant_id))
            yield connection


@asynccontextmanager
async def one_transaction(database: Queryable) -> AsyncIterator[Connection]:
    """Open a transaction, or a savepoint in the current one."""
    with database_errors():
        if isinstance(database, asyncpg.Pool):
            async with database.acquire() as connection, connection.transaction():
                yield connection
        else:
            async with database.transaction():
                yield database
