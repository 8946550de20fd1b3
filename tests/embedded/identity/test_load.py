# SPDX-License-Identifier: Apache-2.0
import asyncpg
import pytest

from chamberlain.embedded.identity.clients import (
    Account,
    EstateInvalid,
    find_account,
    find_clients,
    read_clients,
    tenants_of_account,
    tenants_of_client,
)
from chamberlain.embedded.identity.load import load
from tests.databases import Databases
from tests.embedded.identity.estate import ADA, API, AUTOMATION, CLI, CLIENTS, GRAPH, OTHER_TENANT, SECRET, TENANT, ZOE
from tests.embedded.identity.estate import load_estate as load_all

A_CLIENT: dict[str, object] = {"id": str(CLI), "tenants": [str(TENANT)], "name": "cli", "kind": "public"}


async def test_it_works(databases: Databases) -> None:
    await load_all(databases)

    automation, cli = await find_clients(databases.application.pool, TENANT)
    assert (automation.name, automation.id) == ("automation", AUTOMATION)
    assert automation.application == {
        API: ("admin/Mail.Manage.ReadWrite.All",),
        GRAPH: ("Group.Read.All", "User.Read.All"),
    }
    assert automation.delegated == {}
    assert cli.delegated[GRAPH] == ("Group.Read.All",)
    assert cli.redirect_uris == ("http://localhost",)
    assert await find_account(databases.application.pool, TENANT, "ADA@estate.example") == ADA


async def test_tenants_are_separate(databases: Databases) -> None:
    await load_all(databases)
    pool = databases.application.pool

    assert [client.name for client in await find_clients(pool, OTHER_TENANT)] == ["chamberlain-cli"]
    assert await find_account(pool, OTHER_TENANT, ADA.address) is None
    assert await tenants_of_account(pool, ZOE.address.upper()) == [OTHER_TENANT]
    assert await tenants_of_client(pool, "chamberlain-cli") == [TENANT, OTHER_TENANT]
    assert await tenants_of_client(pool, str(AUTOMATION).upper()) == [TENANT]
    assert await tenants_of_client(pool, "nothing") == []


@pytest.mark.parametrize("table", ["accounts", "clients", "permissions"])
async def test_the_application_sees_one_tenant_only(databases: Databases, table: str) -> None:
    await load_all(databases)
    count = f"SELECT count(*) FROM identity.{table}"  # noqa: S608 - the table names are constants
    others = f"SELECT count(*) FROM identity.{table} WHERE tenant_id <> $1"  # noqa: S608 - the table names are constants

    assert await databases.application.pool.fetchval(count) == 0
    async with databases.application.pool.acquire() as connection, connection.transaction():
        await connection.execute("SELECT set_config('chamberlain.tenant_id', $1, true)", str(TENANT))
        assert await connection.fetchval(count) > 0
        assert await connection.fetchval(others, TENANT) == 0
    assert await databases.worker.pool.fetchval(others, TENANT) > 0


@pytest.mark.parametrize("table", ["accounts", "clients", "permissions"])
async def test_the_application_cannot_write(databases: Databases, table: str) -> None:
    for statement in (f"DELETE FROM identity.{table}", f"UPDATE identity.{table} SET tenant_id = tenant_id"):  # noqa: S608 - the table names are constants
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await databases.application.pool.execute(statement)


async def test_loading_again_changes_nothing(databases: Databases) -> None:
    await load_all(databases)
    before = await find_clients(databases.application.pool, TENANT)

    await load(databases.worker.pool, accounts=[ADA], clients=CLIENTS)

    assert await find_clients(databases.application.pool, TENANT) == before


async def test_it_updates_permissions_and_names(databases: Databases) -> None:
    await load_all(databases)
    fewer = read_clients([{**A_CLIENT, "delegated": {API: ["mail/App.ReadWrite.All"]}}])
    renamed = Account(id=ADA.id, tenant=TENANT, address="ada.a@estate.example", display_name="Ada A.")

    await load(databases.worker.pool, accounts=[renamed], clients=fewer)

    pool = databases.application.pool
    _, cli = await find_clients(pool, TENANT)
    assert (cli.name, cli.delegated) == ("cli", {API: ("mail/App.ReadWrite.All",)})
    assert await find_account(pool, TENANT, ADA.address) is None
    assert await find_account(pool, TENANT, renamed.address) == renamed


async def test_a_secret_is_stored_as_a_hash(databases: Databases) -> None:
    await load_all(databases)

    (automation, _) = await find_clients(databases.application.pool, TENANT)

    assert automation.secret_hash is not None
    assert SECRET not in automation.secret_hash
    assert automation.secret_hash not in repr(automation)


async def test_it_rejects_an_address_in_use(databases: Databases) -> None:
    await load_all(databases)
    other = Account(id=ZOE.id, tenant=OTHER_TENANT, address="ADA@estate.example", display_name="Zoe")

    with pytest.raises(asyncpg.UniqueViolationError):
        await load(databases.worker.pool, accounts=[other])


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"kind": "secret"}, "kind"),
        ({"id": "cli"}, "id"),
        ({"tenants": []}, "tenants"),
        ({"name": " "}, "name"),
        ({"secret": "x"}, "secret"),
        ({"delegated": {f"{API}/": ["x"]}}, "delegated"),
        ({"delegated": {API: ["a b"]}}, "delegated"),
        ({"delegated": {API: [""]}}, "delegated"),
        ({"delegated": [API]}, "delegated"),
        ({"application": {API: ["x"]}}, "public client"),
        ({"redirectUris": ["http://estate.example/back"]}, "redirectUris"),
        ({"redirectUris": ["https://estate.example/back#part"]}, "redirectUris"),
        ({"redirectUris": ["https://ada@estate.example/"]}, "redirectUris"),
        ({"redirectUris": ["myapp:/back"]}, "redirectUris"),
        ({"redirectUris": ["https://estate.example/back", "javascript:alert(1)"]}, "redirectUris"),
        ({"redirectUris": "https://estate.example"}, "redirectUris"),
    ],
)
def test_it_rejects_an_invalid_section(changes: dict[str, object], where: str) -> None:
    with pytest.raises(EstateInvalid, match=where):
        read_clients([{**A_CLIENT, **changes}])
