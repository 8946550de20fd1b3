"""Waits end in time, each by itself, whoever else waits."""

import asyncio

import pytest

from chamberlain.http.timeouts import Patience

SHORT = 0.01


async def for_ever() -> None:
    await asyncio.get_running_loop().create_future()


async def soon() -> str:
    await asyncio.sleep(0)
    return "here"


async def test_it_works() -> None:
    assert await Patience(10.0).wait_for(soon()) == "here"


async def test_it_ends_a_wait_that_lasts_too_long() -> None:
    with pytest.raises(TimeoutError):
        await Patience(SHORT).wait_for(for_ever())


async def test_it_ends_many_waits_one_after_the_other() -> None:
    patience = Patience(SHORT)

    first = asyncio.create_task(patience.wait_for(for_ever()))
    with pytest.raises(TimeoutError):
        await patience.wait_for(for_ever())
    later = asyncio.create_task(patience.wait_for(for_ever()))
    answers = await asyncio.gather(first, later, patience.wait_for(soon()), return_exceptions=True)

    assert [type(answer) for answer in answers] == [TimeoutError, TimeoutError, str]


async def test_it_ends_nobody_whose_wait_is_over() -> None:
    patience = Patience(SHORT)

    async def goes_on() -> str:
        await patience.wait_for(soon())
        await asyncio.wait({longer})
        return "still here"

    longer = asyncio.create_task(patience.wait_for(for_ever()))

    assert await goes_on() == "still here"
    assert isinstance(longer.exception(), TimeoutError)


async def test_it_leaves_a_cancelled_task_cancelled() -> None:
    waiting = asyncio.create_task(Patience(10.0).wait_for(for_ever()))
    await asyncio.sleep(0)

    waiting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await waiting
