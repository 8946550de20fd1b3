# SPDX-License-Identifier: Apache-2.0
"""The application role sees at most one tenant, and cannot write."""

import asyncpg
import pytest

from chamberlain.embedded.directory.load import load
from tests.databases import Databases
from tests.embedded.directory.sample_data import ADA, HOUSE, OTHER_HOUSE, SECTION

TABLES_OF_SCHEMA = """
SELECT c.relname, c.relrowsecurity FROM pg_class c WHERE c.relnamespace = 'directory'::regnamespace AND c.relkind = 'r'
"""


async def test_it_works(databases: Databases) -> None:
    await load(databases.worker.pool, SECTION)
    tables = await databases.worker.pool.fetch(TABLES_OF_SCHEMA)
    assert len(tables) >= 11

    for table, is_protected in tables:
        assert is_protected, table
        async with databases.application.pool.acquire() as connection, connection.transaction():
            await connection.execute("SELECT set_config('chamberlain.tenant_id', $1, true)", str(OTHER_HOUSE))
            seen = await connection.fetch(f"SELECT DISTINCT tenant_id FROM directory.{table}")  # noqa: S608 - from the catalogue.
        assert {row[0] for row in seen} <= {OTHER_HOUSE}, table


async def test_it_shows_nothing_without_a_tenant(databases: Databases) -> None:
    await load(databases.worker.pool, SECTION)

    for table, _ in await databases.worker.pool.fetch(TABLES_OF_SCHEMA):
        count = await databases.application.pool.fetchval(f"SELECT count(*) FROM directory.{table}")  # noqa: S608 - from the catalogue.
        assert count == 0, table


async def test_it_shows_nothing_of_another_tenant_by_id(databases: Databases) -> None:
    await load(databases.worker.pool, SECTION)

    async with databases.application.pool.acquire() as connection, connection.transaction():
        await connection.execute("SELECT set_config('chamberlain.tenant_id', $1, true)", str(OTHER_HOUSE))
        by_id = await connection.fetch("SELECT FROM directory.users WHERE tenant_id = $1 AND id = $2", HOUSE, ADA)

    assert by_id == []


async def test_the_application_role_cannot_write(databases: Databases) -> None:
    await load(databases.worker.pool, SECTION)

    for table, _ in await databases.worker.pool.fetch(TABLES_OF_SCHEMA):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await databases.application.pool.execute(f"DELETE FROM directory.{table}")  # noqa: S608 - from the catalogue.
