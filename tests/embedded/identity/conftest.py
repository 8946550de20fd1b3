from collections.abc import AsyncIterator

import pytest

from chamberlain.embedded import postgres
from tests.databases import migrated_database
from tests.embedded.identity.estate import START, House, load_estate, open_house


@pytest.fixture(scope="module")
async def shared_house(
    postgres_server: postgres.Server, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[House]:
    """The platform with two tenants, running; made once for the tests of a file, which only ask it."""
    async with migrated_database(postgres_server) as databases:
        await load_estate(databases)
        async with open_house(databases, tmp_path_factory.mktemp("tls")) as house:
            yield house


@pytest.fixture
def house(shared_house: House) -> House:
    """The platform, at the start of its time and with nothing on record."""
    shared_house.clock.now = START
    shared_house.recorded.clear()
    return shared_house
