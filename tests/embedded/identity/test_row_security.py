import asyncpg
import pytest

from chamberlain.embedded.identity.database import transaction
from tests.embedded.identity.estate import OTHER_TENANT, TENANT, ZOE, IdentityServer
from tests.embedded.identity.sign_ins import begin, code_for, sign_in

TABLES = ["authorization_codes", "device_codes", "refresh_tokens"]


@pytest.fixture
async def signed_in(server: IdentityServer) -> IdentityServer:
    """Somebody of the second tenant has one of each."""
    await sign_in(server, ZOE)
    await begin(server, tenant_id=OTHER_TENANT)
    await code_for(server, ZOE)
    return server


@pytest.mark.parametrize("table", TABLES)
async def test_it_works(signed_in: IdentityServer, table: str) -> None:
    count = f"SELECT count(*) FROM identity.{table}"  # noqa: S608 - the names stand above

    async with transaction(signed_in.platform.pool, OTHER_TENANT) as connection:
        assert await connection.fetchval(count) > 0
    async with transaction(signed_in.platform.pool, TENANT) as connection:
        assert await connection.fetchval(f"{count} WHERE tenant_id <> $1", TENANT) == 0
    assert await signed_in.platform.pool.fetchval(count) == 0


@pytest.mark.parametrize("table", TABLES)
async def test_nobody_removes_what_is_another_tenant_s(signed_in: IdentityServer, table: str) -> None:
    async with transaction(signed_in.platform.pool, TENANT) as connection:
        status = await connection.execute(
            f"DELETE FROM identity.{table} WHERE tenant_id = $1",  # noqa: S608 - the names stand above
            OTHER_TENANT,
        )

    assert status == "DELETE 0"


@pytest.mark.parametrize("table", TABLES)
async def test_nobody_gives_what_is_his_to_another_tenant(signed_in: IdentityServer, table: str) -> None:
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with transaction(signed_in.platform.pool, OTHER_TENANT) as connection:
            await connection.execute(f"UPDATE identity.{table} SET tenant_id = $1", TENANT)  # noqa: S608 - see above
