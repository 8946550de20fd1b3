# SPDX-License-Identifier: Apache-2.0
"""The stage of the conformance suite: the adapter on the fake, both tenants, with or without a seed.

The clock passes the longest lag before each call of a port, so that reads show earlier writes. Inside a call, replicas
lag behind, and faults happen. Every exchange is held against the published description.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from types import MappingProxyType
from typing import Final
from uuid import uuid4

import httpx2

from chamberlain.core.errors import ConnectionBroken, OutsideFault
from chamberlain.core.ids import GroupId, TenantId
from chamberlain.directory import port
from chamberlain.directory.budgets import Budgets
from chamberlain.directory.groups import GroupReference, ObservedGroup
from chamberlain.directory.lookups import Found, FoundGroup, FoundUser, Related, Relation, Search, Slice
from chamberlain.directory.microsoft365.connection import Microsoft365, open_microsoft365
from chamberlain.directory.microsoft365.settings import Microsoft365Settings
from chamberlain.directory.microsoft365.tokens import Application, Credential, Secret, Tokens
from chamberlain.directory.microsoft365.wire.graph import Graph
from chamberlain.directory.microsoft365.wire.pace import Pace
from chamberlain.directory.models import Label, PeopleAnswer, PeopleQuestion, Person
from chamberlain.directory.routed import Route
from chamberlain.directory.subjects import ObservedSubject, SubjectReference
from tests.directory.retries import (
    RetryingAdoptions,
    RetryingDirectory,
    RetryingGuests,
    RetryingLookups,
    RetryingPeople,
)
from tests.microsoft365.fake.application import FakeMicrosoft365
from tests.microsoft365.fake.faults import Fault
from tests.microsoft365.fake.sample import APP, SECRET, sample_fake
from tests.microsoft365.recording_transport import RecordingTransport

GRAPH: Final = "https://graph.microsoft.com"
LOGIN: Final = "https://login.microsoftonline.com"


def settings(tenant_id: object, credential: Credential = Secret(SECRET)) -> Microsoft365Settings:  # noqa: B008 - frozen.
    """Return the settings of the sample application."""
    directory = str(tenant_id)
    return Microsoft365Settings(GRAPH, directory, Application(str(APP), f"{LOGIN}/{directory}", GRAPH, credential))


def opened(
    fake: FakeMicrosoft365,
    tenant_id: TenantId,
    transport: httpx2.AsyncBaseTransport | None = None,
    budgets: Budgets | None = None,
) -> Microsoft365:
    """Open the adapter on the fake."""
    chosen = RecordingTransport(fake.transport()) if transport is None else transport

    async def sleep(seconds: float) -> None:
        fake.clock.wait(timedelta(seconds=seconds))
        await asyncio.sleep(0)

    return open_microsoft365(
        settings(tenant_id), tenant_id, budgets, transport=chosen, sign_in=fake.http_client(), sleep=sleep
    )


@asynccontextmanager
async def graph_of(fake: FakeMicrosoft365, tenant_id: TenantId, recorder: RecordingTransport) -> AsyncIterator[Graph]:
    """Open the adapter's client of Graph on the fake."""
    chosen = settings(tenant_id)
    tokens = Tokens(chosen.application, fake.http_client())
    pace = Pace(None, tenant_id, directory=chosen.directory, application=chosen.application.client_id)

    async def sleep(seconds: float) -> None:
        fake.clock.wait(timedelta(seconds=seconds))

    async with httpx2.AsyncClient(transport=recorder) as http:
        yield Graph(http, tokens, pace, address=chosen.graph, new_id=uuid4, sleep=sleep)


def conformance_fake(seed: int | None) -> FakeMicrosoft365:
    """Return a fake for the conformance suite.

    It settles two open questions, because the suite observes them: delta queries track extensions (V4), and return
    neither resets nor replays. tests/microsoft365/test_changes.py has the other answers.
    """
    fake = sample_fake(seed=seed)
    for tenant in fake.tenants.values():
        tenant.tracks_extensions = True
        tenant.largest_delta_page = 100
    rates = {**fake.faults.rates, Fault.DELTA_GONE: 0.0, Fault.DELTA_REPLAY: 0.0}
    fake.faults.rates = MappingProxyType(rates)
    return fake


@dataclass
class FakeRoutes:
    """The adapters of both tenants as routes."""

    opened: Mapping[TenantId, Microsoft365]
    broken: list[str] = field(default_factory=list)

    @property
    def elsewhere(self) -> Mapping[TenantId, Route]:
        return {tenant_id: Route(each.adapters) for tenant_id, each in self.opened.items()}

    async def refused(self, tenant_id: TenantId, error: ConnectionBroken) -> None:  # noqa: ARG002 - as the port.
        """Record it: the fake may revoke a fresh token too, and the next call gets another one."""
        self.broken.append(error.reason)


@dataclass
class SkippingClock:
    """Advances the clock of the fake; `settle` lets replicas catch up."""

    fake: FakeMicrosoft365

    def wait(self, span: timedelta) -> None:
        self.fake.clock.wait(span)

    def settle(self) -> None:
        # A second more: limits of a second are free again.
        lags = [tenant.lags.longest for tenant in self.fake.tenants.values()]
        self.fake.clock.wait(max(lags) + timedelta(seconds=1))


class SettledPeople(RetryingPeople):
    """People, after earlier writes have arrived."""

    async def look_up(self, question: PeopleQuestion) -> PeopleAnswer:
        _settle(self.clock)
        return await super().look_up(question)

    async def find(self, tenant_id: TenantId, text: str, limit: int) -> Sequence[Person]:
        _settle(self.clock)
        return await super().find(tenant_id, text, limit)

    async def labels(self, tenant_id: TenantId) -> Sequence[Label]:
        _settle(self.clock)
        return await super().labels(tenant_id)


class SettledDirectory(RetryingDirectory):
    """The directory, after earlier writes have arrived."""

    async def observe(self, references: Sequence[GroupReference]) -> Sequence[ObservedGroup | None]:
        _settle(self.clock)
        return await super().observe(references)

    async def ensure(self, works: Sequence[port.GroupWork]) -> Sequence[port.GroupOutcome]:
        _settle(self.clock)
        return await super().ensure(works)


class SettledGuests(RetryingGuests):
    """Guests, after earlier writes have arrived."""

    async def observe(self, references: Sequence[SubjectReference]) -> Sequence[ObservedSubject | None]:
        _settle(self.clock)
        return await super().observe(references)

    async def ensure(self, works: Sequence[port.GuestWork]) -> Sequence[port.GuestOutcome]:
        _settle(self.clock)
        return await super().ensure(works)

    async def act(self, acts: Sequence[port.GuestAct]) -> Sequence[port.ActOutcome]:
        _settle(self.clock)
        return await super().act(acts)

    async def changes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> port.SubjectChanges:
        _settle(self.clock)
        return await super().changes(tenant_id, extension, cursor)


class SettledLookups(RetryingLookups):
    """Lookups, after earlier writes have arrived."""

    async def groups(self, tenant_id: TenantId, search: Search) -> Found[FoundGroup]:
        _settle(self.clock)
        return await super().groups(tenant_id, search)

    async def related(
        self, tenant_id: TenantId, group_id: GroupId, relation: Relation, part: Slice
    ) -> Found[Related] | None:
        _settle(self.clock)
        return await super().related(tenant_id, group_id, relation, part)

    async def users(self, tenant_id: TenantId, search: Search) -> Found[FoundUser]:
        _settle(self.clock)
        return await super().users(tenant_id, search)


class SettledAdoptions(RetryingAdoptions):
    """Adoptions, after earlier writes have arrived."""

    async def mark(self, markings: Sequence[port.Marking]) -> Sequence[OutsideFault | None]:
        _settle(self.clock)
        return await super().mark(markings)

    async def unmark(self, markings: Sequence[port.Marking]) -> Sequence[OutsideFault | None]:
        _settle(self.clock)
        return await super().unmark(markings)


def _settle(clock: object) -> None:
    assert isinstance(clock, SkippingClock)
    clock.settle()
