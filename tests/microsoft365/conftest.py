# SPDX-License-Identifier: Apache-2.0
"""The fake Microsoft 365 with the sample directory, and a client whose exchanges are recorded."""

from collections.abc import AsyncIterator, Callable

import httpx2
import pytest

from tests.directory.sample_directory import TENANT
from tests.microsoft365.fake.application import FakeMicrosoft365
from tests.microsoft365.fake.clock import Clock
from tests.microsoft365.fake.sample import sample_fake
from tests.microsoft365.fake.tenant import Tenant
from tests.microsoft365.graph_client import GRAPH, FakeToken
from tests.microsoft365.recording_transport import RecordingTransport


@pytest.fixture
def clock() -> Clock:
    """The clock of the fake, which only tests advance."""
    return Clock()


@pytest.fixture
def fake(clock: Clock) -> FakeMicrosoft365:
    """A fake with both sample tenants, without lags and faults."""
    return sample_fake(clock=clock)


@pytest.fixture
def hostile_fake(clock: Clock) -> Callable[[int], FakeMicrosoft365]:
    """A fake with the lags and faults of a seed."""
    return lambda seed: sample_fake(seed=seed, clock=clock)


@pytest.fixture
def tenant(fake: FakeMicrosoft365) -> Tenant:
    """The first sample tenant of the fake."""
    return fake.tenants[str(TENANT)]


@pytest.fixture
def recorder(fake: FakeMicrosoft365) -> RecordingTransport:
    """The recorder between a client and the fake; tests of the fake send wrong requests too."""
    return RecordingTransport(fake.transport(), are_requests_checked=False)


@pytest.fixture
async def graph(fake: FakeMicrosoft365, recorder: RecordingTransport) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of Graph with a token of the sample application."""
    async with httpx2.AsyncClient(transport=recorder, base_url=GRAPH, auth=FakeToken(fake)) as client:
        yield client
