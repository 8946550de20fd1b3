# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import pytest

from chamberlain.directory.capabilities import Ability
from tests.directory import group_work
from tests.directory.conftest import Adapter
from tests.directory.mailbox_work import plain, reference, room, shared
from tests.directory.sample_directory import OTHER_TENANT

pytestmark = pytest.mark.abilities(Ability.MAILBOXES)


async def test_it_works(adapter: Adapter) -> None:
    there, not_there, also_there = shared(), plain(), room()
    first, second = await adapter.directory.ensure_mailboxes([there, also_there])

    seen = await adapter.directory.observe_mailboxes([reference(one) for one in (not_there, also_there, there, there)])

    assert seen == [None, second.observed, first.observed, first.observed]


async def test_it_shows_nothing_of_another_tenant(adapter: Adapter) -> None:
    one = shared()
    await adapter.directory.ensure_mailboxes([one])

    assert await adapter.directory.observe_mailboxes([replace(reference(one), tenant_id=OTHER_TENANT)]) == [None]


async def test_it_shows_nothing_under_another_extension_and_no_group(adapter: Adapter) -> None:
    one, group = shared(), group_work.work()
    await adapter.directory.ensure_mailboxes([one])
    await adapter.directory.ensure([group])

    asked = [
        replace(reference(one), extension="chamberlain_group"),
        replace(reference(one), request_id=group.wanted.request_id),
    ]

    assert await adapter.directory.observe_mailboxes(asked) == [None, None]


async def test_it_writes_nothing(adapter: Adapter) -> None:
    one = plain()

    await adapter.directory.observe_mailboxes([reference(one)])

    assert await adapter.second_directory.observe_mailboxes([reference(one)]) == [None]
