# SPDX-License-Identifier: Apache-2.0
"""Groups by the key that a client has given them."""

from collections.abc import AsyncIterator
from urllib.parse import quote
from uuid import UUID

import pytest

from chamberlain.embedded import postgres
from tests.embedded.directory.conftest import Served, open_server
from tests.embedded.directory.sample_data import CREW, HANDBOOK, SALES, STAFF

NAMES = {STAFF: "chamberlain-1", SALES: "it's", CREW: str(UUID(int=10)).upper()}
BY_MARK = quote("house_group/requestId eq 'ABC-1'")


@pytest.fixture(scope="module")
async def named(postgres_server: postgres.Server) -> AsyncIterator[Served]:
    async with open_server(postgres_server) as own_server:
        await own_server.databases.worker.pool.executemany(
            "UPDATE directory.groups SET unique_name = $2 WHERE id = $1", list(NAMES.items())
        )
        yield own_server.served


def path_of(name: str) -> str:
    return f"/v1.0/groups(uniqueName='{quote(name.replace(chr(39), chr(39) * 2))}')"


@pytest.mark.parametrize("group_id", NAMES)
async def test_it_works(named: Served, group_id: UUID) -> None:
    group = (await named.get(f"{path_of(NAMES[group_id])}?$select=id,uniqueName")).json()

    assert (group["id"], group["uniqueName"]) == (str(group_id), NAMES[group_id])


async def test_it_is_returned_only_if_it_is_selected(named: Served) -> None:
    plain = (await named.get(path_of("chamberlain-1"))).json()
    listed = (await named.get("/v1.0/groups?$select=id,uniqueName")).json()["value"]
    (found,) = (await named.get(f"/v1.0/groups?$filter={BY_MARK}&$select=uniqueName")).json()["value"]

    assert (plain["id"], "uniqueName" in plain) == (str(STAFF), False)
    assert {UUID(group["id"]): group["uniqueName"] for group in listed} == {**NAMES, HANDBOOK: None}
    assert found == {"uniqueName": "chamberlain-1"}


@pytest.mark.parametrize("name", ["Chamberlain-1", "x", str(UUID(int=10)), str(STAFF)])
async def test_it_compares_exactly(named: Served, name: str) -> None:
    answer = await named.get(path_of(name))

    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "Request_ResourceNotFound")


async def test_it_shows_nothing_of_another_tenant(named: Served) -> None:
    assert (await named.get(path_of("chamberlain-1"), whose="other")).status_code == 404
