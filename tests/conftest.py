# SPDX-License-Identifier: Apache-2.0
"""The fixtures of all tests, and the facts of the machine from dev.py."""

import signal
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import settings

from chamberlain.embedded import postgres
from tests.cli.fixtures import ada, cleo, nobody, service
from tests.databases import Databases, migrated_database
from tests.example_fixtures import estate, example
from tests.http.fixtures import api, http_fixture
from tests.postgres import running_postgres

__all__ = ["ada", "api", "cleo", "estate", "example", "http_fixture", "nobody", "service"]

# A shell that starts something in the background tells it not to hear Ctrl-C, and so do all programs that it starts.
# Some tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# No test measures time: a busy machine takes as long as it takes.
settings.register_profile("untimed", parent=settings(), deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def anyio_backend() -> tuple[str, dict[str, object]]:
    """The service runs on asyncio alone, with the loop of uvloop, so its tests do."""
    return "asyncio", {"use_uvloop": True}


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
    """Count tests whose part is missing as skipped, by name, and put the order of files right."""
    place = places(dict.fromkeys(item.path for item in items))
    items.sort(key=lambda item: place[item.path])
    missing = str(config.getoption("--missing")).split(",")
    for item in items:
        for needs in item.iter_markers("needs"):
            if needs.args[0] in missing:
                item.add_marker(pytest.mark.skip(reason=f"{needs.args[0]} is missing on this machine"))


def places(files: Iterable[Path]) -> Mapping[Path, float]:
    """The position of each file.

    Files stay in order, but tests of kills and outages are spread evenly among the others. They mostly wait, and with
    two files at once the other core has work then.
    """
    files = list(files)
    stories = [file for file in files if file.parent.name == "faults"]
    others = [file for file in files if file not in stories]
    step = len(others) / (len(stories) + 1)
    return {
        **{file: float(number) for number, file in enumerate(others)},
        **{file: step * number - 0.5 for number, file in enumerate(stories, start=1)},
    }
