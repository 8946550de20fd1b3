# SPDX-License-Identifier: Apache-2.0
"""The database of a running service, as measurements look into it."""

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import asyncpg

from chamberlain.embedded.postgres import roles
from chamberlain.embedded.postgres.roles import address, addresses_in
from tests.services import Service

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

Answer = TypeVar("Answer")
# Between two looks, in seconds.
PAUSE = 0.05


@dataclass(frozen=True, slots=True)
class Measured:
    """The addresses of the database by role, including the role that created the server."""

    set_up: str
    owner: str
    application: str
    worker: str

    def execute(self, statements: str) -> None:
        """Run statements as the owner."""
        asyncio.run(_connected(self.owner, lambda connection: connection.execute(statements)))

    def settle(self) -> None:
        """Have statistics, free space and all that is on its way to the disk as a service has them after a while."""
        self.execute("VACUUM ANALYZE")
        # Else what was just written would go to the disk while something is measured.
        asyncio.run(_connected(self.set_up, lambda connection: connection.execute("CHECKPOINT")))

    def count(self, statement: str) -> int:
        """One number, as the worker's role sees it: of all tenants."""
        return int(asyncio.run(_connected(self.worker, lambda connection: connection.fetchval(statement))))

    def wait_for_none(self, statement: str, within: float) -> bool:
        """Look, over one connection, until the number is 0; False when it is not within so many seconds."""
        return asyncio.run(_connected(self.worker, lambda connection: _wait_for_none(connection, statement, within)))

    def texts(self, statement: str) -> list[str]:
        """One array of texts, as the worker's role sees it."""
        return list(asyncio.run(_connected(self.worker, lambda connection: connection.fetchval(statement))) or ())


def database_of(service: Service) -> Measured:
    """The embedded database of a service."""
    folder = service.data_dir / "postgres" / "data"
    own = addresses_in(folder, "chamberlain")
    return Measured(address(folder, roles.SET_UP, "postgres"), own.owner, own.application, own.worker)


async def _connected(address: str, work: "Callable[[asyncpg.Connection[asyncpg.Record]], Awaitable[Answer]]") -> Answer:
    connection = await asyncpg.connect(address)
    try:
        return await work(connection)
    finally:
        await connection.close()


async def _wait_for_none(connection: "asyncpg.Connection[asyncpg.Record]", statement: str, within: float) -> bool:
    end = time.monotonic() + within
    while await connection.fetchval(statement):
        if time.monotonic() > end:
            return False
        await asyncio.sleep(PAUSE)
    return True
