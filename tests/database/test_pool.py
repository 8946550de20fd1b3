"""A connection stays at hand for whoever comes next, as long as it is good for somebody and nobody waits."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import pytest

from chamberlain.database.pool import WatchfulPool
from chamberlain.database.transactions import open_database
from tests.databases import Databases
from tests.estates import until
from tests.postgres import connected

PROCESS = "SELECT pg_backend_pid()"


@asynccontextmanager
async def pool_of(databases: Databases, *, most: int = 2) -> AsyncIterator[WatchfulPool]:
    """A pool with so many connections, that ends within a moment."""
    database = await open_database(databases.addresses.application, most=most, name="test of a pool")
    try:
        yield database.pool
    finally:
        async with asyncio.timeout(1):
            await database.pool.close()


async def process_of(pool: WatchfulPool) -> int:
    """Whom the next one speaks with."""
    async with pool.acquire() as connection:
        process: int = await connection.fetchval(PROCESS)
    return process


async def test_it_works_and_the_next_one_gets_what_was_used_last(databases: Databases) -> None:
    async with pool_of(databases) as pool:
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


async def test_whoever_waits_gets_it(databases: Databases) -> None:
    async with pool_of(databases, most=1) as pool:
        async with pool.acquire() as connection:
            first = await connection.fetchval(PROCESS)
            waiting = asyncio.create_task(process_of(pool))
            await asyncio.sleep(0)
        async with asyncio.timeout(1):
            second = await waiting

    assert first == second


async def test_the_driver_gets_it_after_a_while(databases: Databases) -> None:
    async with pool_of(databases) as pool:
        pool.at_hand_for /= 1_000
        process = await process_of(pool)
        at_hand = pool.get_idle_size()

        async def is_idle() -> bool:
            return pool.get_idle_size() == 1

        await until(is_idle)
        again = await process_of(pool)

    # As the driver sees it, somebody has it meanwhile.
    assert at_hand == 0
    assert process == again


async def test_what_is_begun_is_not_handed_on(databases: Databases) -> None:
    async with pool_of(databases) as pool:
        connection = await pool.acquire()
        await connection.execute("BEGIN")
        kept = pool.keep(connection)
        await connection.execute("ROLLBACK")
        await pool.release(connection)

    assert not kept


async def test_it_handles_a_block_that_fails(databases: Databases) -> None:
    async with pool_of(databases) as pool:
        with pytest.raises(asyncpg.DivisionByZeroError):
            async with pool.acquire() as connection:
                await connection.fetchval("SELECT 1 / 0")

        assert pool.get_idle_size() == 1


async def test_it_handles_one_whose_server_ends_it_while_it_is_at_hand(databases: Databases) -> None:
    async with pool_of(databases) as pool, connected(databases.addresses.application) as another:
        async with pool.acquire() as connection:
            first = await connection.fetchval(PROCESS)
        await another.execute("SELECT pg_terminate_backend($1)", first)

        async def is_noticed() -> bool:
            return pool.get_size() == 0

        await until(is_noticed)
        second = await process_of(pool)

    assert first != second


async def test_all_are_given_up_together(databases: Databases) -> None:
    async with pool_of(databases) as pool:
        lent = await pool.acquire()
        lent_process = await lent.fetchval(PROCESS)
        at_hand = await process_of(pool)
        await pool.expire_connections()
        kept = pool.keep(lent)
        await pool.release(lent)
        anew = {await process_of(pool)}
        async with pool.acquire():
            anew.add(await process_of(pool))

    assert not kept
    assert len(anew) == 2
    assert anew.isdisjoint({lent_process, at_hand})


async def test_one_that_is_made_while_all_are_given_up_is_not_handed_on(databases: Databases) -> None:
    async with pool_of(databases) as pool:
        coming = asyncio.create_task(pool.lend())
        await asyncio.sleep(0)
        await pool.expire_connections()
        connection = await coming
        kept = pool.keep(connection)
        await pool.release(connection)

    assert not kept


async def test_it_is_kept_once(databases: Databases) -> None:
    async with pool_of(databases) as pool:
        connection = await pool.acquire()
        kept = [pool.keep(connection), pool.keep(connection)]
        both = [await pool.acquire(), await pool.acquire()]
        for each in both:
            await pool.release(each)

    assert kept == [True, False]
    assert both[0] is not both[1]


async def test_it_ends_while_some_are_at_hand_and_one_is_lent(databases: Databases) -> None:
    database = await open_database(databases.addresses.application, most=2, name="test of a pool")
    pool = database.pool
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
