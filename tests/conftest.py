"""What every test may ask for."""

import pytest


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The service runs on asyncio alone, so its tests do."""
    return "asyncio"
