# SPDX-License-Identifier: Apache-2.0
"""Running services: one for all files of a process of the test session, and installations of several processes."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.service.estate import furnish
from tests.services import Installation, Service, free_port, outside_database, restarted_service

DEBIAN = Path("/usr/lib/postgresql/15/bin")


@pytest.fixture(scope="session")
def service() -> Iterator[Service]:
    """The service of one command, with a few templates more."""
    with restarted_service(environment={"CHAMBERLAIN_METRICS_PORT": str(free_port())}) as running:
        furnish(running.embedded_addresses.worker)
        yield running


@pytest.fixture(scope="session")
def outside_installation() -> Iterator[Installation]:
    """Two that answer beside two that work, on an outside PostgreSQL; kept while tests use the other ways in turn."""
    with two_of_each(None) as several:
        yield several


@pytest.fixture(scope="session")
def old_installation() -> Iterator[Installation]:
    """The same, on the oldest PostgreSQL that is served."""
    with two_of_each(DEBIAN) as several:
        yield several


@pytest.fixture(scope="session")
def embedded_installation(service: Service) -> Installation:
    """The service of one command, as an installation."""
    return Installation(service, service)


@pytest.fixture(
    params=[
        pytest.param("embedded_installation", id="embedded"),
        pytest.param("outside_installation", id="outside", marks=pytest.mark.heavy),
        pytest.param(
            "old_installation", id="outside 15", marks=[pytest.mark.heavy, pytest.mark.needs("postgresql-15")]
        ),
    ]
)
def installation(request: pytest.FixtureRequest) -> Installation:
    """Every way to install it."""
    found: Installation = request.getfixturevalue(request.param)
    return found


@contextmanager
def two_of_each(programs: Path | None) -> Iterator[Installation]:
    with outside_database(programs) as outside:
        furnish(outside.addresses.worker)
        one, other = outside.start_service("--no-worker"), outside.start_service("--no-worker")
        for _ in range(2):
            outside.start_worker()
        one.wait_until_ready()
        other.wait_until_ready()
        yield Installation(one, other)
