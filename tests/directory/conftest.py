"""The stage of the conformance suite: one for each adapter, each filled with the same population.

Another adapter is added by a function such as `embedded_stage` in STAGES; the tests stay as they are.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from chamberlain.directory.embedded import KEY_MEMBER, EmbeddedDirectory, EmbeddedPeople
from chamberlain.directory.port import Directory, People
from chamberlain.embedded.directory.groups import Groups
from chamberlain.embedded.directory.load import load
from chamberlain.embedded.directory.people import Register
from tests.databases import Databases
from tests.directory.population import SECTION


@dataclass(frozen=True, slots=True)
class Stage:
    """An adapter as the product has it, and its directory a second time, as another worker has it."""

    people: People
    directory: Directory
    second_directory: Directory


@asynccontextmanager
async def embedded_stage(databases: Databases) -> AsyncIterator[Stage]:
    await load(databases.worker.pool, SECTION)
    first = EmbeddedDirectory(Groups(databases.worker.pool, key_member=KEY_MEMBER))
    second = EmbeddedDirectory(Groups(databases.worker.pool, key_member=KEY_MEMBER))
    yield Stage(EmbeddedPeople(Register(databases.application.pool)), first, second)


STAGES = [embedded_stage]


@pytest.fixture(params=STAGES, ids=["embedded"])
async def stage(request: pytest.FixtureRequest, databases: Databases) -> AsyncIterator[Stage]:
    async with request.param(databases) as found:
        yield found
