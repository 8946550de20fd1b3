"""A running service for the pages whose commands are run."""

from collections.abc import Iterator

import pytest

from tests.services import Service, restarted_service


@pytest.fixture(scope="session")
def service() -> Iterator[Service]:
    """The service of `python3 dev.py run`."""
    with restarted_service() as running:
        yield running
