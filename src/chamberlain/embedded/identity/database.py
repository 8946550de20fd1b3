# SPDX-License-Identifier: Apache-2.0
"""Database transactions, with one error for an unreachable database."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeAlias
from uuid import UUID

import asyncpg

from chamberlain.core.outages import outage_of
from chamberlain.embedded.identity.errors import IdentityUnreachable

if TYPE_CHECKING:
    from asyncpg.pool import PoolConnectionProxy

Pool: TypeAlias = "asyncpg.Pool[asyncpg.Record]"
Connection: TypeAlias = "PoolConnectionProxy[asyncpg.Record]"

# The server is unreachable, starting, stopping or overloaded. All of these are temporary.
_TEMPORARY = (
    OSError,
    TimeoutError,
    # InternalClientError: the connection closed between two statements.
    asyncpg.InternalClientError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.PostgresIOError,
    # InterfaceError: a lost connection, or, as a ValueError too, an invalid argument.
    asyncpg.InterfaceError,
)


@asynccontextmanager
async def transaction(pool: Pool, tenant_id: UUID | None = None) -> AsyncIterator[Connection]:
    """Open a transaction limited to one tenant, or to none.

    The worker's role sees all tenants. Raises IdentityUnreachable.
    """
    try:
        async with pool.acquire() as connection, connection.transaction():
            if tenant_id is not None:
                await connection.execute("SELECT set_config('chamberlain.tenant_id', $1, true)", str(tenant_id))
            yield connection
    except _TEMPORARY as error:
        if isinstance(error, asyncpg.InterfaceError) and isinstance(error, ValueError):
            raise
        raise IdentityUnreachable(
            f"The database of the identity platform is unavailable. {outage_of(error).seen}"
        ) from error
