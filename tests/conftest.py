"""What every test may ask for, and what dev.py may tell about the machine."""

from collections.abc import AsyncIterator, Iterator

import pytest

from chamberlain.embedded import postgres
from tests.databases import Databases, migrated_database
from tests.postgres import running_postgres


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The service runs on asyncio alone, so its tests do."""
    return "asyncio"


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[postgres.Server]:
    """A running PostgreSQL, one for each process of the test session."""
    with running_postgres() as server:
        yield server


@pytest.fixture
async def databases(postgres_server: postgres.Server) -> AsyncIterator[Databases]:
    """A database of its own, with all tables and no rows."""
    async with migrated_database(postgres_server) as found:
        yield found


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let dev.py name what the machine lacks; without that word a test that lacks its part fails."""
    parser.addoption("--missing", default="", help="parts of the machine that are not there, joined by commas")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Count tests whose part is missing as skipped, by name."""
    missing = str(config.getoption("--missing")).split(",")
    for item in items:
        for needs in item.iter_markers("needs"):
            if needs.args[0] in missing:
                item.add_marker(pytest.mark.skip(reason=f"{needs.args[0]} is missing on this machine"))
