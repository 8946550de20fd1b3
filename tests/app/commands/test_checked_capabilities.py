# SPDX-License-Identifier: Apache-2.0
"""Abilities that plan and apply compare a configuration with."""

from collections.abc import AsyncIterator

import pytest

from chamberlain.app.commands.configuration import CheckedCapabilities
from chamberlain.directory.capabilities import ALL_ABILITIES, Ability
from chamberlain.embedded import postgres
from tests.connections.connection_fixture import ConnectionFixture, connection_fixture
from tests.directory.test_routed import NamedDirectory
from tests.estates import ESTATE, Estate


@pytest.fixture
async def fixture(estate: Estate, postgres_server: postgres.Server) -> AsyncIterator[ConnectionFixture]:
    async with connection_fixture(estate, postgres_server) as found:
        yield found


async def test_a_directory_elsewhere_has_the_abilities_of_its_last_check(fixture: ConnectionFixture) -> None:
    worker = fixture.estate.databases.worker
    capable = CheckedCapabilities(NamedDirectory("own"), worker)
    before = await capable.capabilities(ESTATE)
    added = await fixture.add()
    unchecked = await capable.capabilities(ESTATE)
    await fixture.check(added)

    # As the check of an open suite without Matrix leaves it.
    await worker.pool.execute("UPDATE chamberlain.connection SET abilities = '{membershipRules}'")
    checked = await capable.capabilities(ESTATE)

    assert (before.abilities, before.shares_database) == (ALL_ABILITIES, True)
    assert unchecked.abilities == ALL_ABILITIES
    assert (checked.abilities, checked.shares_database) == (frozenset({Ability.MEMBERSHIP_RULES}), False)
