# SPDX-License-Identifier: Apache-2.0
"""The embedded identity platform, as the service knows it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from chamberlain.app.databases import DatabaseAddresses, Databases
from chamberlain.app.identity import client_names
from chamberlain.core.errors import Unavailable
from chamberlain.core.ids import ClientId, TenantId
from chamberlain.database.transactions import open_database
from tests import databases as made
from tests.embedded.identity.estate import AUTOMATION, CLI, TENANT, load_estate


@asynccontextmanager
async def on(address: str) -> AsyncIterator[Databases]:
    """The database there, as a process has it."""
    database = await open_database(address, most=1, name="test")
    yield Databases(DatabaseAddresses(address, address, address), database, database, is_embedded=False)
    await database.close()


async def test_it_works(databases: made.Databases) -> None:
    await load_estate(databases)

    async with on(databases.addresses.application) as there:
        names = await client_names(there)(TenantId(TENANT))

    assert names == {ClientId(str(CLI)): "chamberlain-cli", ClientId(str(AUTOMATION)): "automation"}


async def test_a_database_that_is_away_is_reported_as_everywhere() -> None:
    async with on("postgresql://nobody@127.0.0.1:1/nowhere") as away:
        with pytest.raises(Unavailable) as caught:
            await client_names(away)(TenantId(TENANT))

    assert caught.value.code == "databaseUnavailable"
