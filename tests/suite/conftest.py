# SPDX-License-Identifier: Apache-2.0
"""One open suite for all tests of a session, and a service whose example tenant uses it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.suite.connection import connect, environment_of
from deploy.suite.folder import Suite, opened
from deploy.suite.servers import Starter
from tests.services import Service, running_service
from tests.suite.mail_client import MailClient
from tests.suite.suite_directory import SuiteDirectory
from tests.suite.suite_folders import SYNAPSE, started_suite
from tests.suite.suite_requests import SuiteRequests


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder. A first start of the service and of SOGo's workers may take a minute."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.suite)
            item.add_marker(pytest.mark.needs("suite"))
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(300))


@pytest.fixture(scope="session")
def suite() -> Iterator[Suite]:
    """A running suite. CHAMBERLAIN_TEST_SUITE names the folder of one that runs already, and stays."""
    if named := os.environ.get("CHAMBERLAIN_TEST_SUITE"):
        yield opened(Path(named))
        return
    with started_suite() as found:
        yield found


@pytest.fixture(scope="session")
def starter(suite: Suite) -> Starter:
    """Starts servers of the suite again."""
    return Starter(suite, SYNAPSE)


@pytest.fixture(scope="session")
def suite_service(suite: Suite) -> Iterator[Service]:
    """A service with the example estate, whose first tenant uses the suite."""
    with running_service(environment=environment_of(suite)) as service:
        connect(
            suite,
            service.url,
            service.token("ada@estate.example", "https://api.estate.example/admin/Config.ReadWrite.All"),
        )
        yield service


@pytest.fixture(scope="session")
def requests(suite_service: Service, suite: Suite) -> SuiteRequests:
    """Requests of the example tenant, which wait for their end."""
    return SuiteRequests(suite_service, suite)


@pytest.fixture
def mail(suite: Suite) -> MailClient:
    """Mail clients of the people of the estate."""
    return MailClient(suite)


@pytest.fixture(scope="session")
def directory(suite: Suite) -> Iterator[SuiteDirectory]:
    """The directory, as its operator changes it by hand."""
    with SuiteDirectory(suite) as found:
        yield found
