# SPDX-License-Identifier: Apache-2.0
"""A used connection stays warm for the next caller, unless a caller waits or it is unusable."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import pytest

from chamberlain.database.transactions import Database, open_database
from chamberlain.fastpath.warm_pool import WarmPool
from tests.databases import Databases
from tests.estates import until
from tests.postgres import connected

PROCESS = "SELECT pg_backend_pid()"


@asynccontextmanager
async def warm_database(databases: Databases, *, most: int = 2) -> AsyncIterator[Database]:
    """A database with a warm pool that closes within a second."""
    database = await open_database(
        databases.addresses.application, most=most, name="test of a pool", pool_class=WarmPool
    )
    try:
        yield database
    finally:
        async with asyncio.timeout(1):
            await database.pool.close()


@asynccontextmanager
async def warm_pool(databases: Databases, *, most: int = 2) -> AsyncIterator[WarmPool]:
    async with warm_database(databases, most=most) as database:
        assert isinstance(database.pool, WarmPool)
        yield database.pool


async def process_of(pool: WarmPool) -> int:
    """The server process of the next connection."""
    async with pool.acquire() as connection:
        process: int = await connection.fetchval(PROCESS)
    return process


async def test_it_works_and_lends_the_connection_that_was_used_last(databases: Databases) -> None:
    async with warm_pool(databases) as pool:
        first = await pool.acquire()
        second = await pool.acquire()
        processes = [await each.fetchval(PROCESS) for each in (first, second)]
        kept = [pool.keep(first), pool.keep(second)]
        next_one = await pool.acquire()
        answer = await next_one.fetchval(PROCESS)
        await pool.release(next_one)

    assert kept == [True, True]
    assert next_one is second
    assert answer == processes[1]


async def test_a_waiting_caller_gets_the_connection(databases: Databases) -> None:
    async with warm_pool(databases, most=1) as pool:
        async with pool.acquire() as connection:
            first = await connection.fetchval(PROCESS)
            waiting = asyncio.create_task(process_of(pool))
            await asyncio.sleep(0)
        async with asyncio.timeout(1):
            second = await waiting

    assert first == second


async def test_the_driver_gets_warm_connections_after_a_while(databases: Databases) -> None:
    async with warm_pool(databases) as pool:
        pool.warm_for /= 1_000
        process = await process_of(pool)
        warm = pool.get_idle_size()

        async def is_idle() -> bool:
            return pool.get_idle_size() == 1

        await until(is_idle)
        again = await process_of(pool)

    # To the driver a warm connection is in use.
    assert warm == 0
    assert process == again


async def test_a_connection_in_a_transaction_is_not_kept(databases: Databases) -> None:
    async with warm_pool(databases) as pool:
        connection = await pool.acquire()
        await connection.execute("BEGIN")
        kept = pool.keep(connection)
        await connection.execute("ROLLBACK")
        await pool.release(connection)

    assert not kept


async def test_it_handles_a_block_that_fails(databases: Databases) -> None:
    async with warm_pool(databases) as pool:
        with pytest.raises(asyncpg.DivisionByZeroError):
            async with pool.acquire() as connection:
                await connection.fetchval("SELECT 1 / 0")

        assert pool.get_idle_size() == 1


async def test_it_drops_a_warm_connection_that_the_server_terminates(databases: Databases) -> None:
    async with warm_pool(databases) as pool, connected(databases.addresses.application) as another:
        async with pool.acquire() as connection:
            first = await connection.fetchval(PROCESS)
        await another.execute("SELECT pg_terminate_backend($1)", first)

        async def is_noticed() -> bool:
            return pool.get_size() == 0

        await until(is_noticed)
        second = await process_of(pool)

    assert first != second


async def test_all_connections_expire_together(databases: Databases) -> None:
    async with warm_pool(databases) as pool:
        lent = await pool.acquire()
        lent_process = await lent.fetchval(PROCESS)
        warm = await process_of(pool)
        await pool.expire_connections()
        kept = pool.keep(lent)
        await pool.release(lent)
        new = {await process_of(pool)}
        async with pool.acquire():
            new.add(await process_of(pool))

    assert not kept
    assert len(new) == 2
    assert new.isdisjoint({lent_process, warm})


async def test_a_connection_made_during_an_expiry_is_not_kept(databases: Databases) -> None:
    async with warm_pool(databases) as pool:
        coming = asyncio.create_task(pool.lend())
        await asyncio.sleep(0)
        await pool.expire_connections()
        connection = await coming
        kept = pool.keep(connection)
        await pool.release(connection)

    assert not kept


async def test_it_is_kept_once(databases: Databases) -> None:
    async with warm_pool(databases) as pool:
        connection = await pool.acquire()
        kept = [pool.keep(connection), pool.keep(connection)]
        both = [await pool.acquire(), await pool.acquire()]
        for each in both:
            await pool.release(each)

    assert kept == [True, False]
    assert both[0] is not both[1]


async def test_it_closes_while_connections_are_warm_and_lent(databases: Databases) -> None:
    database = await open_database(databases.addresses.application, most=2, name="test of a pool", pool_class=WarmPool)
    pool = database.pool
    assert isinstance(pool, WarmPool)
    lent = await pool.acquire()
    await process_of(pool)

    ending = asyncio.create_task(pool.close())
    await asyncio.sleep(0)
    kept = pool.keep(lent)
    await pool.release(lent)
    async with asyncio.timeout(1):
        await ending

    assert not kept
    assert pool.get_size() == 0


async def test_a_connection_stays_warm_after_a_statement(databases: Databases) -> None:
    async with warm_database(databases, most=1) as database:
        async with database.statement() as connection:
            await connection.fetchval("SELECT 1")

        # To the driver a warm connection is in use.
        assert (database.pool.get_size(), database.pool.get_idle_size()) == (1, 0)


async def test_a_connection_does_not_stay_warm_after_an_error(databases: Databases) -> None:
    async with warm_database(databases, most=1) as database:
        with pytest.raises(asyncpg.DivisionByZeroError):
            async with database.statement() as connection:
                await connection.fetchval("SELECT 1 / 0")

        assert (database.pool.get_size(), database.pool.get_idle_size()) == (1, 1)
