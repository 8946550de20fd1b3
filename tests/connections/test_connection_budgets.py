# SPDX-License-Identifier: Apache-2.0
"""A limit of calls to another database, shared by its tenants and by all processes."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest

from chamberlain.app.connections import Connections
from chamberlain.connections.models import Target
from chamberlain.core.errors import BudgetWait
from chamberlain.core.ids import RequestId, TenantId
from chamberlain.database.notify import CONNECTIONS_CHANNEL, Notifier
from chamberlain.directory.groups import GroupReference
from chamberlain.directory.routed import RoutedDirectory
from chamberlain.embedded import postgres
from tests.connections.connection_fixture import ConnectionFixture, connection_fixture
from tests.estates import OTHER_HOUSE, Estate


@pytest.fixture
async def fixture(estate: Estate, postgres_server: postgres.Server) -> AsyncIterator[ConnectionFixture]:
    async with connection_fixture(estate, postgres_server) as found:
        yield found


def reference(tenant_id: TenantId) -> GroupReference:
    return GroupReference(tenant_id, "chamberlain_group", RequestId(uuid4()))


async def test_calls_of_all_processes_count(fixture: ConnectionFixture) -> None:
    added = await fixture.add()
    opener = replace(fixture.opener, calls_per_second=1)
    notifier = Notifier(fixture.estate.databases.addresses.worker, CONNECTIONS_CHANNEL)
    processes = [Connections(fixture.estate.databases.worker, opener, notifier) for _ in range(2)]
    for each in processes:
        await each.refresh()
    first, second = (RoutedDirectory(fixture.estate.directory, each) for each in processes)
    # More than a minute of the limit.
    references = [reference(added.tenant_id) for _ in range(100)]

    try:
        found = await first.observe(references)
        with pytest.raises(BudgetWait) as waits:
            await second.observe(references)
    finally:
        for each in processes:
            await each.close()

    assert set(found) == {None}
    assert timedelta(0) < waits.value.after <= timedelta(seconds=100)


async def test_tenants_in_one_database_share_its_limit(fixture: ConnectionFixture) -> None:
    added = await fixture.add()
    opener = replace(fixture.opener, calls_per_second=3)
    other = replace(added, tenant_id=OTHER_HOUSE)

    budgets = [opener.budget_of(Target(each, None)) for each in (added, other)]
    elsewhere = replace(added, address="postgresql://role@elsewhere/directory")

    assert budgets[0] == budgets[1]
    assert budgets[0] is not None
    assert opener.budget_of(Target(elsewhere, None)) != budgets[0]
    assert fixture.opener.budget_of(Target(added, None)) is None


@pytest.mark.parametrize("hosts", ["a,b", "b,a", "a,a,b", "A:5432,b:5432"])
async def test_no_spelling_of_the_hosts_is_a_budget_of_its_own(fixture: ConnectionFixture, hosts: str) -> None:
    added = replace(await fixture.add(), address=f"postgresql://role@{hosts}/directory")

    budget = replace(fixture.opener, calls_per_second=3).budget_of(Target(added, None))

    assert budget is not None
    assert budget.name == "database a:5432,b:5432/directory"
