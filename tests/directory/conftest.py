"""The stage of the conformance suite: one for each adapter, each filled with the same population.

Another adapter is added by a function such as `embedded_stage` in STAGES; the tests stay as they are.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import pytest

from chamberlain.directory.embedded import KEY_MEMBER, EmbeddedDirectory, EmbeddedPeople, FaultyDirectory
from chamberlain.directory.port import Directory, People
from chamberlain.embedded.directory.faults import Faults, Injection, Outages
from chamberlain.embedded.directory.faulty import FaultyGroups, FaultyMailboxes, FaultyRegister
from chamberlain.embedded.directory.groups import Groups
from chamberlain.embedded.directory.load import load
from chamberlain.embedded.directory.mailboxes import Mailboxes
from chamberlain.embedded.directory.people import Register
from tests.databases import Databases
from tests.directory.patience import Clock, PatientDirectory, PatientPeople
from tests.directory.population import SECTION

# All of them at once.
FAULTS = Faults(
    visibility_delay=timedelta(seconds=15),
    throttle=3,
    not_found_after_create=timedelta(seconds=20),
    outages=Outages(lasting=timedelta(seconds=5), every=timedelta(seconds=30)),
)


@dataclass(frozen=True, slots=True)
class Stage:
    """An adapter as the product has it, and its directory a second time, as another worker has it."""

    people: People
    directory: Directory
    second_directory: Directory


@asynccontextmanager
async def embedded_stage(databases: Databases) -> AsyncIterator[Stage]:
    await load(databases.worker.pool, SECTION)
    pool = databases.worker.pool
    first, second = (
        EmbeddedDirectory(Groups(pool, key_member=KEY_MEMBER), Mailboxes(pool, key_member=KEY_MEMBER)) for _ in range(2)
    )
    yield Stage(EmbeddedPeople(Register(databases.application.pool)), first, second)


@asynccontextmanager
async def difficult_stage(databases: Databases) -> AsyncIterator[Stage]:
    """The embedded directory with faults on purpose, and somebody who is patient with it."""
    await load(databases.worker.pool, SECTION)
    clock = Clock()
    people = EmbeddedPeople(FaultyRegister(databases.application.pool, Injection(FAULTS, clock)))
    first, second = (faulty_directory(databases, Injection(FAULTS, clock)) for _ in range(2))
    yield Stage(PatientPeople(people, clock), PatientDirectory(first, clock), PatientDirectory(second, clock))


def faulty_directory(databases: Databases, injection: Injection) -> FaultyDirectory:
    pool = databases.worker.pool
    return FaultyDirectory(
        FaultyGroups(pool, injection, key_member=KEY_MEMBER), FaultyMailboxes(pool, injection, key_member=KEY_MEMBER)
    )


STAGES = [embedded_stage, difficult_stage]


@pytest.fixture(params=STAGES, ids=["embedded", "difficult"])
async def stage(request: pytest.FixtureRequest, databases: Databases) -> AsyncIterator[Stage]:
    async with request.param(databases) as found:
        yield found
