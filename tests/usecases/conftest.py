"""The example estate for tests of the use cases."""

import pytest

from tests.databases import Databases
from tests.estates import Estate, open_estate


@pytest.fixture
async def estate(databases: Databases) -> Estate:
    """The example estate, in a database of its own."""
    return await open_estate(databases)
