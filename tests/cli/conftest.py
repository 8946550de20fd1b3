"""A running service for commands that call it or look at it."""

from collections.abc import Iterator

import pytest

from tests.services import Service, running_service


@pytest.fixture(scope="session")
def service() -> Iterator[Service]:
    """What one command starts."""
    with running_service() as running:
        yield running
