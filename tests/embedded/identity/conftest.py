# SPDX-License-Identifier: Apache-2.0
from collections.abc import AsyncIterator

import pytest

from chamberlain.embedded import postgres
from tests.databases import migrated_database
from tests.embedded.identity.estate import START, IdentityServer, load_estate, open_server


@pytest.fixture(scope="module")
async def shared_server(
    postgres_server: postgres.Server, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[IdentityServer]:
    """Running platform with two tenants, shared by the tests of a file."""
    async with migrated_database(postgres_server) as databases:
        await load_estate(databases)
        async with open_server(databases, tmp_path_factory.mktemp("tls")) as server:
            yield server


@pytest.fixture
def server(shared_server: IdentityServer) -> IdentityServer:
    """Shared platform with clock and audit records reset."""
    shared_server.clock.now = START
    shared_server.recorded.clear()
    return shared_server
