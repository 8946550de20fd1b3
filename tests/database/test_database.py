# SPDX-License-Identifier: Apache-2.0
"""Transactions: atomic, for one tenant, with the same error for every kind of unavailable database."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import asyncpg
import pytest

from chamberlain.core.errors import DatabaseUnavailable, Unavailable
from chamberlain.database.transactions import Database, open_database
from tests.databases import Databases
from tests.estates import ESTATE, rows, until
from tests.postgres import connected

RESERVE = "INSERT INTO chamberlain.reservation (tenant_id, kind, value, request_id) VALUES ($1, 'address', $2, $1)"
RESERVED = "SELECT value FROM chamberlain.reservation"


@pytest.fixture
async def database(databases: Databases) -> AsyncIterator[Database]:
    """A pool with one connection, so that whatever is left behind on it is found."""
    one = await open_database(databases.addresses.application, most=1, name="test of one")
    yield one
    await one.close()


async def reserve(database: Database, *names: str) -> None:
    """Something to write, in one transaction."""
    async with database.transaction(ESTATE) as tx:
        for name in names:
            await tx.execute(RESERVE, ESTATE, name)


async def test_it_works(databases: Databases, database: Database) -> None:
    await reserve(database, "apollo")

    assert await rows(databases, RESERVED) == [("apollo",)]


async def test_the_tenant_ends_with_its_transaction(database: Database) -> None:
    async with database.transaction(ESTATE) as tx:
        during = await tx.fetch("SELECT current_setting('chamberlain.tenant_id', true) AS tenant")
    async with database.statement() as connection:
        after = await connection.fetchval("SELECT current_setting('chamberlain.tenant_id', true)")
    async with database.across_tenants() as tx:
        across = await tx.fetch("SELECT current_setting('chamberlain.tenant_id', true) AS tenant")

    assert [row["tenant"] for row in during] == [str(ESTATE)]
    assert after == ""
    assert [row["tenant"] for row in across] == [""]


@pytest.mark.parametrize(("before_disk", "waits"), [(True, "off"), (False, "on")])
async def test_a_caller_who_says_so_does_not_wait_for_the_disk(
    database: Database, *, before_disk: bool, waits: str
) -> None:
    async with database.across_tenants(before_disk=before_disk) as tx:
        during = await tx.fetch("SHOW synchronous_commit")
    async with database.across_tenants() as tx:
        after = await tx.fetch("SHOW synchronous_commit")

    assert [row["synchronous_commit"] for row in during] == [waits]
    assert [row["synchronous_commit"] for row in after] == ["on"]


async def test_it_handles_an_error_by_leaving_nothing_behind(databases: Databases, database: Database) -> None:
    async def fail() -> None:
        async with database.transaction(ESTATE) as tx:
            await tx.execute(RESERVE, ESTATE, "apollo")
            raise LookupError

    with pytest.raises(LookupError):
        await fail()
    with pytest.raises(asyncpg.UniqueViolationError):
        await reserve(database, "borealis", "borealis")
    await reserve(database, "later")

    assert await rows(databases, RESERVED) == [("later",)]


async def test_it_handles_a_caller_who_goes_away_in_the_middle(databases: Databases, database: Database) -> None:
    async def slow() -> None:
        async with database.transaction(ESTATE) as tx:
            await tx.execute(RESERVE, ESTATE, "apollo")
            await tx.execute("SELECT pg_sleep(60)")

    task = asyncio.create_task(slow())
    async with connected(databases.addresses.application) as another:

        async def sleeps() -> bool:
            waiting = await another.fetchval("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
            return bool(waiting)

        await until(sleeps)
        task.cancel()
        await asyncio.wait({task})

    await reserve(database, "later")

    assert task.cancelled()
    assert await rows(databases, RESERVED) == [("later",)]


async def test_a_transaction_that_is_over_can_do_nothing_more(database: Database) -> None:
    async with database.transaction(ESTATE) as tx:
        await tx.fetch("SELECT 1")

    with pytest.raises(AttributeError, match="connection"):
        await tx.fetch("SELECT 1")


async def test_it_handles_a_connection_that_is_ended_and_makes_another(
    databases: Databases, database: Database
) -> None:
    async with connected(databases.addresses.application) as another:

        async def lose() -> None:
            async with database.transaction(ESTATE) as tx:
                (row,) = await tx.fetch("SELECT pg_backend_pid() AS pid")
                await another.execute("SELECT pg_terminate_backend($1)", row["pid"])
                await tx.execute(RESERVE, ESTATE, "apollo")

        with pytest.raises(Unavailable):
            await lose()
    await reserve(database, "later")

    assert await rows(databases, RESERVED) == [("later",)]


async def test_it_handles_a_server_that_follows_another_one_by_now(databases: Databases, database: Database) -> None:
    name = "SELECT format('ALTER ROLE chamberlain_application IN DATABASE %I ', current_database())"
    async with connected(databases.addresses.application) as own:
        alter = await own.fetchval(name)
        await own.execute(f"{alter} SET default_transaction_read_only = on")

        with pytest.raises(Unavailable):
            await reserve(database, "apollo")
        await own.execute(f"{alter} RESET default_transaction_read_only")
        await reserve(database, "later")

    assert await rows(databases, RESERVED) == [("later",)]


async def test_it_handles_a_statement_that_takes_too_long_by_making_another_connection(databases: Databases) -> None:
    hurried = await open_database(
        databases.addresses.application, most=1, name="test", patience=timedelta(milliseconds=200)
    )

    async def process() -> int:
        async with hurried.statement() as connection:
            return int(await connection.fetchval("SELECT pg_backend_pid()"))

    before = await process()
    with pytest.raises(Unavailable):
        async with hurried.statement() as connection:
            await connection.execute("SELECT pg_sleep(60)")

    assert await process() != before
    await hurried.close()


async def test_it_rejects_whoever_would_wait_too_long_for_one_of_the_connections(databases: Databases) -> None:
    narrow = await open_database(
        databases.addresses.application, most=1, name="test", acquired_within=timedelta(seconds=1)
    )

    async with narrow.transaction(ESTATE):
        with pytest.raises(Unavailable):
            await reserve(narrow, "one too many")
    await reserve(narrow, "later")

    assert await rows(databases, RESERVED) == [("later",)]
    await narrow.close()


@pytest.mark.parametrize("across", [False, True])
async def test_it_handles_two_who_wait_for_each_other(databases: Databases, *, across: bool) -> None:
    lock = "SELECT pg_advisory_xact_lock($1)"
    both_hold = asyncio.Barrier(2)

    async def hold(first: int, second: int) -> None:
        begun = databases.worker.across_tenants() if across else databases.application.transaction(ESTATE)
        async with begun as tx:
            await tx.execute(lock, first)
            await both_hold.wait()
            await tx.execute(lock, second)

    ends = await asyncio.gather(hold(1, 2), hold(2, 1), return_exceptions=True)

    (fault,) = [end for end in ends if end is not None]
    assert isinstance(fault, Unavailable)
    assert fault.code == "overloaded"


@pytest.mark.parametrize(
    ("part", "other"),
    [("/test_", "/not_there_"), ("chamberlain_application@", "nobody@"), ("host=/", "host=/nowhere/")],
)
async def test_it_rejects_work_while_no_connection_is_to_be_had(databases: Databases, part: str, other: str) -> None:
    address = databases.addresses.application
    absent = await open_database(address.replace(part, other), most=1, name="test")

    with pytest.raises(DatabaseUnavailable):
        await reserve(absent, "apollo")

    assert part in address
    await absent.close()


async def test_it_rejects_work_while_nobody_listens() -> None:
    absent = await open_database("postgresql://127.0.0.1:1/nowhere", most=1, name="test")

    with pytest.raises(DatabaseUnavailable):
        await reserve(absent, "apollo")

    await absent.close()
