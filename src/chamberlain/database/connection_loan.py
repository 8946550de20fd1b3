"""The loan of a connection, for as long as a block runs."""

import asyncio

import asyncpg

from chamberlain.core.errors import DatabaseUnavailable
from chamberlain.core.outages import Outage
from chamberlain.database.errors import connecting, raise_if_unreachable, unavailable
from chamberlain.database.pool import LentConnection, WatchfulPool


class Loan:
    """A connection for as long as a block runs, with the database's troubles told in one way. Most calls need nothing
    else of the database, and a generator for each part of this would take a sixth of what a statement takes here."""

    __slots__ = ("_connection", "_pool", "_within")

    _connection: LentConnection

    def __init__(self, pool: WatchfulPool, within: float) -> None:
        self._pool = pool
        self._within = within

    async def __aenter__(self) -> LentConnection:
        ready = self._pool.lend_at_hand()
        self._connection = await self._wait_for_one() if ready is None else ready
        return self._connection

    async def _wait_for_one(self) -> LentConnection:
        outages = self._pool.outages
        with connecting(outages):
            try:
                # The pool's own limit would make a task of each.
                async with asyncio.timeout(self._within):
                    return await self._pool.lend()
            except TimeoutError as error:
                if self._pool.is_used_up():
                    raise DatabaseUnavailable(outages.failed(Outage.POOL)) from error
                raise

    async def __aexit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is not None or not self._pool.keep(self._connection):
            with unavailable(self._pool.outages):
                await self._give_back(error)
        if error is not None:
            raise_if_unreachable(error, self._pool.outages)
        elif self._pool.outages.current is not None:
            self._pool.outages.worked()

    async def _give_back(self, error: BaseException | None) -> None:
        try:
            if isinstance(error, TimeoutError | asyncpg.ReadOnlySQLTransactionError):
                # The server may hang, or follows another one by now: new connections find who leads.
                await self._pool.expire_connections()
        finally:
            await self._pool.release(self._connection)
