# SPDX-License-Identifier: Apache-2.0
"""The example estate as fixtures, for the folders of tests that want it: their conftest.py imports them."""

from collections.abc import AsyncIterator

import pytest

from chamberlain.embedded import postgres
from tests.databases import Databases
from tests.estates import Estate, example_database, service_of


@pytest.fixture
async def example(postgres_server: postgres.Server) -> AsyncIterator[Databases]:
    """A database of its own with the example estate."""
    async with example_database(postgres_server) as databases:
        yield databases


@pytest.fixture
def estate(example: Databases) -> Estate:
    """The example estate, in a database of its own."""
    return service_of(example)
