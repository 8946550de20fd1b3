"""The loan of a connection, for as long as a block runs."""

import asyncio

import asyncpg

from chamberlain.store.pool import LentConnection, WatchfulPool
from chamberlain.store.unreachable import connecting, tell_if_unreachable, unavailable


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
        with connecting():
            # The pool's own limit would make a task of each.
            async with asyncio.timeout(self._within):
                return await self._pool.lend()

    async def __aexit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is not None or not self._pool.keep(self._connection):
            with unavailable():
                await self._give_back(error)
        if error is not None:
            tell_if_unreachable(error)

    async def _give_back(self, error: BaseException | None) -> None:
        try:
            if isinstance(error, TimeoutError | asyncpg.ReadOnlySQLTransactionError):
                # The server may hang, or follows another one by now: new connections find who leads.
                await self._pool.expire_connections()
        finally:
            await self._pool.release(self._connection)
