# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

from tests.directory.conftest import Adapter
from tests.directory.group_work import reference, work
from tests.directory.sample_directory import OTHER_TENANT, TENANT


async def test_it_works(adapter: Adapter) -> None:
    there, not_there = work(), work()
    [outcome] = await adapter.directory.ensure([there])

    seen = await adapter.directory.observe([reference(not_there), reference(there), reference(not_there)])

    assert seen == [None, outcome.observed, None]


async def test_it_shows_nothing_of_another_tenant(adapter: Adapter) -> None:
    one = work()
    await adapter.directory.ensure([one])

    assert await adapter.directory.observe([replace(reference(one), tenant_id=OTHER_TENANT)]) == [None]


async def test_it_shows_nothing_under_another_extension(adapter: Adapter) -> None:
    one = work()
    await adapter.directory.ensure([one])

    assert await adapter.directory.observe([replace(reference(one), extension="other_group")]) == [None]


async def test_it_finds_a_new_group_at_once(adapter: Adapter) -> None:
    for _ in range(5):
        one = work()
        await adapter.directory.ensure([one])
        [seen] = await adapter.second_directory.observe([reference(one)])
        assert seen is not None


async def test_it_has_a_retry_delay(adapter: Adapter) -> None:
    assert (await adapter.directory.capabilities(TENANT)).visible_after.total_seconds() > 0
