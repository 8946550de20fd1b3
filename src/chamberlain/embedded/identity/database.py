"""The way to the database: whatever it does when it is away becomes one error."""

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

# Away, starting, stopping or full: all of them pass by themselves.
_PASSING = (
    OSError,
    TimeoutError,
    asyncpg.InternalClientError,  # The server's farewell came between two statements.
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.PostgresIOError,
)


@asynccontextmanager
async def transaction(pool: Pool, tenant_id: UUID | None = None) -> AsyncIterator[Connection]:
    """A transaction that sees this tenant only, or none at all, unless the role of the pool sees all of them."""
    try:
        async with pool.acquire() as connection, connection.transaction():
            if tenant_id is not None:
                await connection.execute("SELECT set_config('chamberlain.tenant_id', $1, true)", str(tenant_id))
            yield connection
    except _PASSING as error:
        raise IdentityUnreachable(
            f"The identity platform's database cannot be used. {outage_of(error).seen}"
        ) from error
    except asyncpg.InterfaceError as error:
        # The driver has one class for a lost connection and for a wrong argument; the second is a ValueError too.
        if isinstance(error, ValueError):
            raise
        raise IdentityUnreachable(
            f"The identity platform's database cannot be used. {outage_of(error).seen}"
        ) from error
