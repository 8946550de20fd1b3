# SPDX-License-Identifier: Apache-2.0
"""Follow a feed: each reader gets each event once, from any process, and heartbeats in between."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from datetime import timedelta
from typing import TypeAlias

from chamberlain.changes.models import EventType
from chamberlain.core.paging import FeedPage
from chamberlain.database.notify import Watchers
from chamberlain.events.feed import EventFilter, EventRecord
from chamberlain.events.followers import Followers
from tests.databases import Databases
from tests.estates import ESTATE, OTHER_HOUSE
from tests.events.test_events_store import BEGINNING, names, write

ALL = EventFilter()
NONE = EventFilter(type=EventType.TENANT_CHANGED)
# Events come by a notification, or by the next look.
SOON, NEVER = timedelta(milliseconds=10), timedelta(hours=1)

Pages: TypeAlias = AsyncGenerator[FeedPage[EventRecord], None]


async def read(pages: Pages, number: int) -> list[str]:
    """Read so many events."""
    found: list[str] = []
    async with asyncio.timeout(20):
        while len(found) < number:
            found += names(await anext(pages))
    return found


async def test_it_works(databases: Databases) -> None:
    followers = Followers(databases.application, Watchers(), every=SOON)
    await write(databases.application, *map(str, range(120)))

    async with (
        aclosing(followers.follow(ESTATE, BEGINNING, ALL)) as first,
        aclosing(followers.follow(ESTATE, await followers.find_newest(ESTATE), ALL)) as second,
    ):
        before = await read(first, 120)
        await write(databases.application, "theirs", tenant_id=OTHER_HOUSE)
        await write(databases.application, "new", "newer")
        found = [await read(each, 2) for each in (first, second)]

    assert before == [str(number) for number in range(120)]
    assert found == [["new", "newer"]] * 2


async def test_a_notification_of_any_request_wakes_readers(databases: Databases) -> None:
    watchers = Watchers()
    followers = Followers(databases.application, watchers, every=NEVER)
    async with aclosing(followers.follow(ESTATE, BEGINNING, ALL)) as pages:
        await write(databases.application, "first")
        assert await read(pages, 1) == ["first"]
        await write(databases.application, "second")
        reading = asyncio.create_task(read(pages, 1))
        await hear_until(watchers, reading.done)

    assert await reading == ["second"]


async def hear_until(watchers: Watchers, done: Callable[[], bool]) -> None:
    """Notify until a reader has seen it. The first notification may come during its last look."""
    while not done():
        watchers.heard("e57a7e00-0000-4000-8000-000000000009")
        await asyncio.sleep(0.01)


async def test_heartbeats_move_a_filtered_reader(databases: Databases) -> None:
    followers = Followers(databases.application, Watchers(), every=SOON, quiet=timedelta(milliseconds=50))
    await write(databases.application, "one", "two")

    async with aclosing(followers.follow(ESTATE, BEGINNING, NONE)) as pages, asyncio.timeout(20):
        begin, page = await anext(pages), await anext(pages)
        while page.next == BEGINNING:
            page = await anext(pages)

    assert (begin, page) == (FeedPage((), BEGINNING), FeedPage((), await followers.find_newest(ESTATE)))


async def test_it_looks_only_while_it_has_readers(databases: Databases) -> None:
    followers, tasks = Followers(databases.application, Watchers(), every=SOON), asyncio.all_tasks()

    async with aclosing(followers.follow(ESTATE, BEGINNING, ALL)) as pages:
        await write(databases.application, "one")
        assert await read(pages, 1) == ["one"]
        assert len(asyncio.all_tasks() - tasks) == 1

    assert asyncio.all_tasks() == tasks
