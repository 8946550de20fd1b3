"""A process that stops between two statements of a transaction until it is let on, so that another one runs just then:
where both wait for each other, PostgreSQL ends one of them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import cast

from chamberlain.core.ids import TenantId
from chamberlain.database.transactions import Connection, Database, Record, Transaction
from tests.estates import Estate, until

# Locks of rows are seen where somebody waits for the transaction, or for their turn to do so; both of this database.
WAITING = """
SELECT count(*) FROM pg_locks w WHERE NOT w.granted AND w.pid IN (
    SELECT pid FROM pg_locks WHERE database = (SELECT oid FROM pg_database WHERE datname = current_database())
)
"""


@dataclass
class Gate:
    """Stops whoever has got past so many statements, once."""

    left: int
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    opened: asyncio.Event = field(default_factory=asyncio.Event)

    async def pass_by(self) -> None:
        if self.left == 0:
            self.reached.set()
            await self.opened.wait()
        self.left -= 1


@dataclass
class GatedConnection:
    """A connection with the gate before each statement. It has what transactions of use cases use of one."""

    connection: Connection
    gate: Gate

    async def fetch(self, statement: str, *values: object, timeout: float | None = None) -> Sequence[Record]:  # noqa: ASYNC109 (the driver's)
        await self.gate.pass_by()
        return await self.connection.fetch(statement, *values, timeout=timeout)

    async def fetchrow(self, statement: str, *values: object) -> Record | None:
        await self.gate.pass_by()
        return await self.connection.fetchrow(statement, *values)

    async def execute(self, statement: str, *values: object) -> str:
        await self.gate.pass_by()
        return await self.connection.execute(statement, *values)


class GatedDatabase(Database):
    """A database with a gate before each statement of a transaction, and before each commit."""

    def __init__(self, database: Database, gate: Gate) -> None:
        super().__init__(database.pool, notices=database.notices)
        self._gate = gate

    @asynccontextmanager
    async def transaction(self, tenant_id: TenantId) -> AsyncIterator[Transaction]:
        async with super().transaction(tenant_id) as tx:
            yield self._gated(tx)
            await self._gate.pass_by()

    @asynccontextmanager
    async def across_tenants(self, *, before_disk: bool = False) -> AsyncIterator[Transaction]:
        async with super().across_tenants(before_disk=before_disk) as tx:
            yield self._gated(tx)
            await self._gate.pass_by()

    @asynccontextmanager
    async def statement(self) -> AsyncIterator[Connection]:
        # It is committed when the gate is open.
        async with super().statement() as connection, connection.transaction():
            yield cast("Connection", GatedConnection(connection, self._gate))
            await self._gate.pass_by()

    def _gated(self, tx: Transaction) -> Transaction:
        return Transaction(cast("Connection", GatedConnection(tx.connection, self._gate)), tx.tenant_id)


async def meet(
    estate: Estate, gate: Gate, first: Callable[[], Awaitable[object]], second: Callable[[], Awaitable[object]]
) -> list[object]:
    """What came of both, errors too: the first stops at the gate, the second runs until it has ended or has to wait,
    and then both go on."""
    one = asyncio.ensure_future(first())
    stops = asyncio.ensure_future(gate.reached.wait())
    await asyncio.wait((one, stops), return_when=asyncio.FIRST_COMPLETED)
    stops.cancel()
    other = asyncio.ensure_future(second())

    async def ended_or_waits() -> bool:
        return other.done() or await estate.rows(WAITING) != [(0,)]

    await until(ended_or_waits)
    gate.opened.set()
    return list(await asyncio.gather(one, other, return_exceptions=True))
