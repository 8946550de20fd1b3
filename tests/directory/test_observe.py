from dataclasses import replace

from tests.directory.conftest import Stage
from tests.directory.population import OTHER_TENANT
from tests.directory.wanted import reference, work


async def test_it_works(stage: Stage) -> None:
    there, not_there = work(), work()
    [outcome] = await stage.directory.ensure([there])

    seen = await stage.directory.observe([reference(not_there), reference(there), reference(not_there)])

    assert seen == [None, outcome.group, None]


async def test_it_shows_nothing_of_another_tenant(stage: Stage) -> None:
    one = work()
    await stage.directory.ensure([one])

    assert await stage.directory.observe([replace(reference(one), tenant_id=OTHER_TENANT)]) == [None]


async def test_it_shows_nothing_under_another_extension(stage: Stage) -> None:
    one = work()
    await stage.directory.ensure([one])

    assert await stage.directory.observe([replace(reference(one), extension="other_group")]) == [None]


async def test_it_finds_a_group_at_once_after_it_was_made(stage: Stage) -> None:
    for _ in range(5):
        one = work()
        await stage.directory.ensure([one])
        [seen] = await stage.second_directory.observe([reference(one)])
        assert seen is not None


async def test_it_says_when_to_look(stage: Stage) -> None:
    assert stage.directory.capabilities.visible_after.total_seconds() > 0
