from dataclasses import replace

from tests.directory import wanted
from tests.directory.conftest import Stage
from tests.directory.population import OTHER_TENANT
from tests.directory.wanted_mailboxes import plain, reference, room, shared


async def test_it_works(stage: Stage) -> None:
    there, not_there, also_there = shared(), plain(), room()
    first, second = await stage.directory.ensure_mailboxes([there, also_there])

    seen = await stage.directory.observe_mailboxes([reference(one) for one in (not_there, also_there, there, there)])

    assert seen == [None, second.mailbox, first.mailbox, first.mailbox]


async def test_it_shows_nothing_of_another_tenant(stage: Stage) -> None:
    one = shared()
    await stage.directory.ensure_mailboxes([one])

    assert await stage.directory.observe_mailboxes([replace(reference(one), tenant_id=OTHER_TENANT)]) == [None]


async def test_it_shows_nothing_under_another_extension_and_no_group(stage: Stage) -> None:
    one, group = shared(), wanted.work()
    await stage.directory.ensure_mailboxes([one])
    await stage.directory.ensure([group])

    asked = [
        replace(reference(one), extension="chamberlain_group"),
        replace(reference(one), request_id=group.wanted.request_id),
    ]

    assert await stage.directory.observe_mailboxes(asked) == [None, None]


async def test_it_writes_nothing(stage: Stage) -> None:
    one = plain()

    await stage.directory.observe_mailboxes([reference(one)])

    assert await stage.second_directory.observe_mailboxes([reference(one)]) == [None]
