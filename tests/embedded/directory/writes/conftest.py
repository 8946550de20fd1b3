# SPDX-License-Identifier: Apache-2.0
"""A writable server for the tests of one file, which create their own objects."""

from collections.abc import AsyncIterator

import pytest

from chamberlain.embedded import postgres
from chamberlain.embedded.directory.database import Connection
from tests.databases import Databases
from tests.embedded.directory.conftest import OwnServer, open_server
from tests.embedded.directory.writes.graph import Graph


@pytest.fixture(scope="module")
async def writable(postgres_server: postgres.Server) -> AsyncIterator[OwnServer]:
    async with open_server(postgres_server, is_writable=True) as own_server:
        yield own_server


@pytest.fixture
def graph(writable: OwnServer) -> Graph:
    return Graph(writable.served)


@pytest.fixture
def stored(writable: OwnServer) -> Databases:
    return writable.databases


@pytest.fixture
async def connection(stored: Databases) -> AsyncIterator[Connection]:
    """Open a transaction of the worker's role that is rolled back at the end of the test."""
    async with stored.worker.pool.acquire() as connection:
        transaction = connection.transaction()
        await transaction.start()
        try:
            yield connection
        finally:
            await transaction.rollback()
