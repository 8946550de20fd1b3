"""A running service, and clients of it."""

from collections.abc import Iterator

import pytest

from chamberlain_client import Chamberlain, Clock
from tests.client.callers import Callers
from tests.client.times import Times
from tests.services import API, READY_WITHIN, Service, restarted_service, wait_until


@pytest.fixture(scope="session")
def service() -> Iterator[Service]:
    """What `python3 dev.py run` starts, with webhooks to this machine allowed."""
    allowed = {"CHAMBERLAIN_WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8", "CHAMBERLAIN_WEBHOOK_ALLOW_HTTP": "true"}
    with restarted_service(environment=allowed) as running:
        # It answers before it has asked the directory which groups there are.
        wait_until(lambda: managed_groups(running), READY_WITHIN, running.said)
        yield running


def managed_groups(running: Service) -> object:
    """The first of the groups that rules for guests can be assigned to."""
    path, scope = "/admin/collab/v1/manage/groups/?limit=1", f"{API}/admin/Config.ReadWrite.All"
    return running.get(path, scope=scope).json()["items"]


@pytest.fixture
def callers(service: Service) -> Callers:
    """Those who call it."""
    return Callers(service)


@pytest.fixture
def ada(callers: Callers) -> Iterator[Chamberlain]:
    """Ada, who asks for groups and mailboxes, and reads the directory."""
    with callers.client() as client:
        yield client


@pytest.fixture
def admin(callers: Callers) -> Iterator[Chamberlain]:
    """The same Ada as administrator."""
    with callers.client(scope="admin/Config.ReadWrite.All") as client:
        yield client


@pytest.fixture
def times() -> Times:
    return Times()


@pytest.fixture
def clock(times: Times) -> Clock:
    return times.clock()
