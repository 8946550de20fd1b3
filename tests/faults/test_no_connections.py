# SPDX-License-Identifier: Apache-2.0
"""Other clients have all connections of the database: callers get a retryable error, and soon."""

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, contextmanager

import asyncpg
import pytest

from chamberlain.app.databases import MOST_APPLICATION_CONNECTIONS
from tests.faults.load import Load
from tests.postgres import connected
from tests.services import GROUP_TEMPLATE, Outside, outside_database, wait_until

pytestmark = pytest.mark.heavy

CUT = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'chamberlain application'"
WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted"
BODY = {"displayName": "Asked", "templateId": GROUP_TEMPLATE}


def test_it_works_again_when_the_server_has_room() -> None:
    with outside_database() as outside:
        service = outside.ready_service("--no-worker")
        load = Load([service])
        load.run(50)

        with full_server(outside):
            begin = time.monotonic()
            answer = service.post_group(BODY)
            assert time.monotonic() - begin < 5
            assert (answer.status_code, answer.json()["code"]) == (503, "databaseUnavailable")
            assert int(answer.headers["retry-after"]) >= 1
            assert service.answers("/health/ready") == 503
            assert service.answers("/health/live") == 200

        wait_until(lambda: service.answers("/health/ready") == 200, within=10)
        load.run(50)
        assert (len(load.accepted), load.refused, load.unanswered) == (100, [], 0)


def test_nobody_waits_for_ever_for_one_of_the_pool() -> None:
    many = 2 * MOST_APPLICATION_CONNECTIONS + 5
    with outside_database() as outside, ThreadPoolExecutor(many) as beside:
        service = outside.ready_service("--no-worker")
        scope = "https://api.estate.example/mail/App.ReadWrite.All"
        service.headers(scope=scope)
        service.headers()
        with held_table(outside, "chamberlain.mailbox"):
            reading = [beside.submit(service.get, "/mail/v1/mailboxes/", scope=scope) for _ in range(many)]
            wait_until(
                lambda: int(str(outside.value(WAITING))) >= MOST_APPLICATION_CONNECTIONS,
                within=20,
            )

            begin = time.monotonic()
            answer = service.post_group(BODY)
            assert time.monotonic() - begin < 15
            assert (answer.status_code, answer.json()["code"]) == (503, "databaseUnavailable")
            assert int(answer.headers["retry-after"]) >= 1
        answers = [each.result(timeout=60) for each in reading]

        # Requests with a connection are answered, and those without are refused with Retry-After.
        assert {each.status_code for each in answers} == {200, 503}
        assert service.post_group(BODY).status_code == 202


@contextmanager
def full_server(outside: Outside) -> Iterator[None]:
    """Take the service's connections away, and all that the server has, for as long as the block runs."""
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        runner.run(take_all(outside, stack))
        try:
            yield
        finally:
            runner.run(stack.aclose())


async def take_all(outside: Outside, stack: AsyncExitStack) -> None:
    address = outside.addresses.application
    first = await stack.enter_async_context(connected(address))
    # The service opens new connections until there are none.
    async with asyncio.timeout(30):
        while True:
            try:
                await stack.enter_async_context(connected(address))
            except asyncpg.TooManyConnectionsError:
                if await first.fetchval(CUT) == 0:
                    return


@contextmanager
def held_table(outside: Outside, table: str) -> Iterator[None]:
    """Keep everybody from a table for as long as the block runs."""
    with asyncio.Runner() as runner:
        holding = connected(outside.addresses.owner)
        connection = runner.run(holding.__aenter__())
        try:
            runner.run(connection.execute(f"BEGIN; LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE"))
            yield
        finally:
            runner.run(holding.__aexit__(None, None, None))
