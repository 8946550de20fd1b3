# SPDX-License-Identifier: Apache-2.0
import asyncpg
import pytest

from chamberlain.embedded.identity.database import transaction
from tests.embedded.identity.estate import OTHER_TENANT, TENANT, ZOE, IdentityServer
from tests.embedded.identity.sign_ins import begin, code_for, sign_in

TABLES = ["authorization_codes", "device_codes", "refresh_tokens"]


@pytest.fixture
async def signed_in(server: IdentityServer) -> IdentityServer:
    """Platform with a row in each table for the second tenant."""
    await sign_in(server, ZOE)
    await begin(server, tenant_id=OTHER_TENANT)
    await code_for(server, ZOE)
    return server


@pytest.mark.parametrize("table", TABLES)
async def test_it_works(signed_in: IdentityServer, table: str) -> None:
    count = f"SELECT count(*) FROM identity.{table}"  # noqa: S608 - the table names are constants

    async with transaction(signed_in.platform.pool, OTHER_TENANT) as connection:
        assert await connection.fetchval(count) > 0
    async with transaction(signed_in.platform.pool, TENANT) as connection:
        assert await connection.fetchval(f"{count} WHERE tenant_id <> $1", TENANT) == 0
    assert await signed_in.platform.pool.fetchval(count) == 0


@pytest.mark.parametrize("table", TABLES)
async def test_rows_of_another_tenant_cannot_be_deleted(signed_in: IdentityServer, table: str) -> None:
    async with transaction(signed_in.platform.pool, TENANT) as connection:
        status = await connection.execute(
            f"DELETE FROM identity.{table} WHERE tenant_id = $1",  # noqa: S608 - the table names are constants
            OTHER_TENANT,
        )

    assert status == "DELETE 0"


@pytest.mark.parametrize("table", TABLES)
async def test_rows_cannot_be_moved_to_another_tenant(signed_in: IdentityServer, table: str) -> None:
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with transaction(signed_in.platform.pool, OTHER_TENANT) as connection:
            await connection.execute(f"UPDATE identity.{table} SET tenant_id = $1", TENANT)  # noqa: S608 - the table names are constants
