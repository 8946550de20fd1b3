# SPDX-License-Identifier: Apache-2.0
"""A running service for the pages whose commands are run."""

from collections.abc import Iterator

import pytest

from tests.docs.homes import service_of_user
from tests.docs.terminals import sign_in
from tests.services import Service


@pytest.fixture(scope="session")
def service() -> Iterator[Service]:
    """The service of `python3 dev.py run` of an ordinary user, who has signed in as Ada."""
    with service_of_user() as running:
        sign_in(running)
        yield running
