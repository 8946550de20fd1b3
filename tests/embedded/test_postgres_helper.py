# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterator

import pytest

from chamberlain.embedded.postgres import Server
from tests.postgres import connected, new_database, running_postgres


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running_postgres() as server:
        yield server


async def test_it_works_from_any_event_loop(server: Server) -> None:
    async with new_database(server) as addresses, connected(addresses.owner) as owner:
        await owner.execute("CREATE SCHEMA house CREATE TABLE house.guest (name text)")

        assert await owner.fetchval("SELECT count(*) FROM house.guest") == 0


async def test_two_databases_are_isolated(server: Server) -> None:
    async with new_database(server) as one, new_database(server) as other:
        async with connected(one.owner) as owner:
            await owner.execute("CREATE TABLE guest (name text)")

        async with connected(other.owner) as owner:
            assert await owner.fetchval("SELECT to_regclass('guest')") is None
