"""A running service for the programs of others."""

from collections.abc import Iterator

import pytest

from tests.services import Service, running_service


@pytest.fixture(scope="session")
def service() -> Iterator[Service]:
    """What `python3 dev.py run` starts."""
    with running_service() as running:
        yield running
