# SPDX-License-Identifier: Apache-2.0
"""A running service for the programs of others."""

from collections.abc import Iterator

import pytest

from tests.services import Service, running_service


@pytest.fixture(scope="session")
def service() -> Iterator[Service]:
    """The service of `python3 dev.py run`."""
    with running_service() as running:
        yield running
