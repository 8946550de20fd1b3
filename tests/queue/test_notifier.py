# SPDX-License-Identifier: Apache-2.0
"""Notifications: other processes get them, and a broken connection is opened again."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

import pytest

from chamberlain.core.errors import Unavailable
from chamberlain.database.notify import (
    INTERVAL,
    JOBS_CHANNEL,
    LONGEST_INTERVAL,
    MOST_NAMES,
    REQUESTS_CHANNEL,
    Notifier,
    listen,
    next_interval,
)
from chamberlain.database.transactions import connect
from tests.databases import Databases
from tests.estates import until
from tests.postgres import connected

END_CONNECTIONS = """
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND (query LIKE 'LISTEN%' OR query LIKE '%pg_notify%')
"""


@asynccontextmanager
async def running(work: Coroutine[None, None, None]) -> AsyncIterator[asyncio.Task[None]]:
    """Something that goes on for as long as the block."""
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


class NotificationCounter:
    """Counts what it hears, and waits for more."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def hear(self, payload: str) -> None:
        self.heard.append(payload)

    async def has_heard(self, number: int) -> None:
        async def enough() -> bool:
            return len(self.heard) >= number

        await until(enough)


async def test_it_works(databases: Databases) -> None:
    counter, address = NotificationCounter(), databases.addresses.application
    notifier = Notifier(address)
    async with running(listen(address, JOBS_CHANNEL, counter.hear)), running(notifier.run()):
        await counter.has_heard(1)

        notifier.flag()
        notifier.flag()

        await counter.has_heard(2)

    assert counter.heard == ["", ""]


def test_nobody_waits_long_for_a_wake_up_who_asks_for_one_thing_after_the_other() -> None:
    busy = interval = INTERVAL
    for _ in range(5):
        busy, interval = next_interval(busy, 2), next_interval(interval, 1)

    assert (busy, interval) == (LONGEST_INTERVAL, INTERVAL)
    assert next_interval(busy, 1) == next_interval(busy, 0) == INTERVAL


def test_what_is_reported_twice_is_one_thing() -> None:
    named, bare = Notifier("nowhere", REQUESTS_CHANNEL), Notifier("nowhere")

    # As a worker tells that a request is taken up, and that it is through.
    named.tell(["one"])
    named.tell(["one"])
    named.tell([])
    one = named.waiting
    named.tell(["another"])
    bare.flag()
    bare.flag()

    assert (one, named.waiting, bare.waiting) == (1, 2, 2)


async def test_it_handles_connections_that_are_ended(databases: Databases) -> None:
    counter, address = NotificationCounter(), databases.addresses.application
    notifier = Notifier(address)
    async with (
        connected(address) as another,
        running(listen(address, JOBS_CHANNEL, counter.hear, pause=timedelta(milliseconds=10))) as listening,
        running(notifier.run()) as notifying,
    ):
        await counter.has_heard(1)
        notifier.flag()
        await counter.has_heard(2)

        ended = await another.fetchval(END_CONNECTIONS)
        await counter.has_heard(3)

        # The first flag may find a connection that is just dying and is lost; the workers' polling is there for it.
        async def heard_again() -> bool:
            notifier.flag()
            return len(counter.heard) > 3

        await until(heard_again)

        assert ended == 2
        assert not listening.done()
        assert not notifying.done()


async def test_it_handles_a_database_that_lets_nobody_in_for_a_while(databases: Databases) -> None:
    counter, address = NotificationCounter(), databases.addresses.application
    notifier = Notifier(address)
    async with connected(databases.addresses.owner) as owner:
        database = await owner.fetchval("SELECT quote_ident(current_database())")
        await owner.execute(f"REVOKE CONNECT ON DATABASE {database} FROM chamberlain_application")
        async with (
            running(listen(address, JOBS_CHANNEL, counter.hear, pause=timedelta(milliseconds=1))),
            running(notifier.run()) as notifying,
        ):
            notifier.flag()
            for _ in range(3):
                with pytest.raises(Unavailable):
                    await connect(address)
            nothing = list(counter.heard)
            await owner.execute(f"GRANT CONNECT ON DATABASE {database} TO chamberlain_application")
            await counter.has_heard(1)

            assert nothing == []
            assert not notifying.done()


async def test_what_was_told_while_the_process_ends_is_still_sent(databases: Databases) -> None:
    counter, address = NotificationCounter(), databases.addresses.application
    notifier = Notifier(address, REQUESTS_CHANNEL)
    async with running(listen(address, REQUESTS_CHANNEL, counter.hear)):
        await counter.has_heard(1)
        notifier.tell(["one"])
        async with running(notifier.run()):
            # It is about to send when it is ended.
            await asyncio.sleep(0)
            await asyncio.sleep(0)

        await counter.has_heard(2)

    assert set(counter.heard[1:]) == {"one"}


async def test_names_are_told_together_and_each_once(databases: Databases) -> None:
    counter, address = NotificationCounter(), databases.addresses.application
    notifier = Notifier(address, REQUESTS_CHANNEL)
    names = {f"{number:036}" for number in range(2 * MOST_NAMES + 1)}
    async with running(listen(address, REQUESTS_CHANNEL, counter.hear)), running(notifier.run()):
        await counter.has_heard(1)

        notifier.tell(names)
        notifier.tell(names)

        await counter.has_heard(4)

    told = [payload.split(",") for payload in counter.heard[1:]]
    assert sorted(map(len, told)) == [1, MOST_NAMES, MOST_NAMES]
    assert set().union(*told) == names


async def test_nobody_is_woken_for_nothing(databases: Databases) -> None:
    counter, address = NotificationCounter(), databases.addresses.application
    notifier = Notifier(address, REQUESTS_CHANNEL)
    async with running(listen(address, REQUESTS_CHANNEL, counter.hear)), running(notifier.run()):
        await counter.has_heard(1)

        notifier.tell([])
        await asyncio.sleep(0)
        notifier.tell(["one"])

        await counter.has_heard(2)

    # The end of the notifier may repeat a notification whose answer it has not read.
    assert list(dict.fromkeys(counter.heard)) == ["", "one"]


async def test_what_was_told_last_is_sent_before_the_end(databases: Databases) -> None:
    counter, address = NotificationCounter(), databases.addresses.application
    notifier = Notifier(address, REQUESTS_CHANNEL)
    async with running(listen(address, REQUESTS_CHANNEL, counter.hear)):
        await counter.has_heard(1)
        async with running(notifier.run()):
            notifier.tell(["first"])
            await counter.has_heard(2)
            notifier.tell(["last"])

        await counter.has_heard(3)

    assert counter.heard[-1] == "last"
