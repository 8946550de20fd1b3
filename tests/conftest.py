"""What every test may ask for, and what dev.py may tell about the machine."""

import pytest


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The service runs on asyncio alone, so its tests do."""
    return "asyncio"


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
