# SPDX-License-Identifier: Apache-2.0
"""Pause a transaction between two statements while another one runs.

In a deadlock, PostgreSQL aborts one of them.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import cast

from chamberlain.core.ids import TenantId
from chamberlain.database.transactions import Connection, Database, Record, Transaction
from tests.estates import Estate, until

# Row locks appear as waits for a transaction or for a tuple of this database.
WAITING = """
SELECT count(*) FROM pg_locks w WHERE NOT w.granted AND w.pid IN (
    SELECT pid FROM pg_locks WHERE database = (SELECT oid FROM pg_database WHERE datname = current_database())
)
"""


@dataclass
class PausePoint:
    """Pauses once, after `left` statements."""

    left: int
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    opened: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait(self) -> None:
        if self.left == 0:
            self.reached.set()
            await self.opened.wait()
        self.left -= 1


@dataclass
class PausingConnection:
    """A connection that may pause before each statement."""

    connection: Connection
    pause_point: PausePoint

    async def fetch(self, statement: str, *values: object, timeout: float | None = None) -> Sequence[Record]:  # noqa: ASYNC109 (the driver's)
        await self.pause_point.wait()
        return await self.connection.fetch(statement, *values, timeout=timeout)

    async def fetchrow(self, statement: str, *values: object) -> Record | None:
        await self.pause_point.wait()
        return await self.connection.fetchrow(statement, *values)

    async def execute(self, statement: str, *values: object) -> str:
        await self.pause_point.wait()
        return await self.connection.execute(statement, *values)


class PausingDatabase(Database):
    """A database that may pause before each statement and each commit."""

    def __init__(self, database: Database, pause_point: PausePoint) -> None:
        super().__init__(database.pool, notices=database.notices)
        self._pause_point = pause_point

    @asynccontextmanager
    async def transaction(self, tenant_id: TenantId, *, first: str = "") -> AsyncIterator[Transaction]:
        async with super().transaction(tenant_id, first=first) as tx:
            yield self._pausing(tx)
            await self._pause_point.wait()

    @asynccontextmanager
    async def across_tenants(self, *, before_disk: bool = False) -> AsyncIterator[Transaction]:
        async with super().across_tenants(before_disk=before_disk) as tx:
            yield self._pausing(tx)
            await self._pause_point.wait()

    @asynccontextmanager
    async def statement(self) -> AsyncIterator[Connection]:
        # The commit waits for the end of the pause.
        async with super().statement() as connection, connection.transaction():
            yield cast("Connection", PausingConnection(connection, self._pause_point))
            await self._pause_point.wait()

    def _pausing(self, tx: Transaction) -> Transaction:
        return Transaction(cast("Connection", PausingConnection(tx.connection, self._pause_point)), tx.tenant_id)


async def run_concurrently(
    estate: Estate,
    pause_point: PausePoint,
    first: Callable[[], Awaitable[object]],
    second: Callable[[], Awaitable[object]],
) -> list[object]:
    """Run both concurrently and return their results or errors.

    The first pauses. The second runs until it ends or waits for a lock; then both continue.
    """
    one = asyncio.ensure_future(first())
    stops = asyncio.ensure_future(pause_point.reached.wait())
    await asyncio.wait((one, stops), return_when=asyncio.FIRST_COMPLETED)
    stops.cancel()
    other = asyncio.ensure_future(second())

    async def ended_or_waits() -> bool:
        return other.done() or await estate.rows(WAITING) != [(0,)]

    await until(ended_or_waits)
    pause_point.opened.set()
    return list(await asyncio.gather(one, other, return_exceptions=True))
