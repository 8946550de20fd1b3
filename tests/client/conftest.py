# SPDX-License-Identifier: Apache-2.0
"""A running service, and clients of it."""

from collections.abc import Iterator

import pytest

from chamberlain_client import Chamberlain, Clock
from tests.client.callers import Callers
from tests.client.fake_clock import FakeClock
from tests.services import API, READY_WITHIN, Service, restarted_service, wait_until


@pytest.fixture(scope="session")
def service() -> Iterator[Service]:
    """The service of `python3 dev.py run`, with webhooks to this machine allowed."""
    allowed = {"CHAMBERLAIN_WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8", "CHAMBERLAIN_WEBHOOK_ALLOW_HTTP": "true"}
    with restarted_service(environment=allowed) as running:
        # The service is ready before it has read the groups of the directory.
        wait_until(lambda: managed_groups(running), READY_WITHIN, running.said)
        yield running


def managed_groups(running: Service) -> object:
    """Read the first managed group."""
    path, scope = "/admin/collab/v1/manage/groups/?limit=1", f"{API}/admin/Config.ReadWrite.All"
    return running.get(path, scope=scope).json()["items"]


@pytest.fixture
def callers(service: Service) -> Callers:
    """Clients of the service, by user and scope."""
    return Callers(service)


@pytest.fixture
def ada(callers: Callers) -> Iterator[Chamberlain]:
    """Ada, who requests groups and mailboxes, and reads the directory."""
    with callers.client() as client:
        yield client


@pytest.fixture
def admin(callers: Callers) -> Iterator[Chamberlain]:
    """Ada as an administrator."""
    with callers.client(scope="admin/Config.ReadWrite.All") as client:
        yield client


@pytest.fixture
def fake_clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def clock(fake_clock: FakeClock) -> Clock:
    return fake_clock.clock()
