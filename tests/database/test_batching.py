# SPDX-License-Identifier: Apache-2.0
"""Batching: items that arrive together are written together, and one bad item harms no other."""

import asyncio
import traceback
from collections.abc import Collection, Sequence
from contextlib import suppress

import pytest

from chamberlain.core.errors import Unavailable
from chamberlain.database.batching import Batcher
from tests.garbage_collection import collected_objects


class DoublingHandler:
    """Doubles numbers, notes the batches, and waits at the gate while it is shut. Negative numbers are bad."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.released = asyncio.Event()
        self.released.set()
        self.begun = asyncio.Event()

    async def flush(self, items: Sequence[int]) -> Sequence[int]:
        self.batches.append(list(items))
        self.begun.set()
        await self.released.wait()
        if any(item < 0 for item in items):
            raise ValueError("negative")
        if 13 in items:
            raise KeyError(13)
        return [2 * item for item in items]


async def test_it_works() -> None:
    doubling = DoublingHandler()
    batcher = Batcher(doubling.flush)

    answer = await batcher.submit(4)

    assert answer == 8
    assert doubling.batches == [[4]]


async def test_what_arrives_while_one_batch_runs_goes_together() -> None:
    doubling = DoublingHandler()
    doubling.released.clear()
    batcher = Batcher(doubling.flush)
    first = asyncio.create_task(batcher.submit(1))
    await doubling.begun.wait()
    others = [asyncio.create_task(batcher.submit(number)) for number in (2, 3, 4)]
    await asyncio.sleep(0)

    doubling.released.set()

    assert await first == 2
    assert await asyncio.gather(*others) == [4, 6, 8]
    assert doubling.batches == [[1], [2, 3, 4]]


async def test_another_batch_goes_beside_the_first_as_soon_as_it_is_as_large() -> None:
    doubling = DoublingHandler()
    doubling.released.clear()
    batcher = Batcher(doubling.flush, at_once=2)
    numbers = [asyncio.create_task(batcher.submit(number)) for number in (1, 2, 3)]
    await doubling.begun.wait()

    async def come(*more: int) -> list[list[int]]:
        numbers.extend(asyncio.create_task(batcher.submit(number)) for number in more)
        for _ in range(5):
            await asyncio.sleep(0)
        return list(doubling.batches)

    assert await come(4, 5) == [[1, 2, 3]]
    assert await come(6) == [[1, 2, 3], [4, 5, 6]]
    assert await come(7, 8, 9, 10) == [[1, 2, 3], [4, 5, 6]]
    doubling.released.set()

    assert await asyncio.gather(*numbers) == [2 * number for number in range(1, 11)]
    assert doubling.batches[2:] == [[7, 8, 9, 10]]


async def test_the_next_batch_is_on_its_way_before_those_of_the_last_go_on() -> None:
    happened: list[str] = []
    begun, released = asyncio.Event(), asyncio.Event()

    async def flush(items: Sequence[int]) -> Sequence[int]:
        happened.append(f"{items} is on its way")
        begun.set()
        await released.wait()
        return items

    async def ask(item: int) -> None:
        happened.append(f"{await batcher.submit(item)} goes on")

    batcher = Batcher(flush)
    first = asyncio.create_task(ask(1))
    await begun.wait()
    second = asyncio.create_task(ask(2))
    await asyncio.sleep(0)

    released.set()
    await asyncio.gather(first, second)

    assert happened == ["[1] is on its way", "[2] is on its way", "1 goes on", "2 goes on"]


async def test_no_batch_is_larger_than_asked_for() -> None:
    doubling = DoublingHandler()
    batcher = Batcher(doubling.flush, most=2)

    answers = await asyncio.gather(*(batcher.submit(number) for number in range(5)))

    assert answers == [0, 2, 4, 6, 8]
    assert doubling.batches == [[0, 1], [2, 3], [4]]


async def test_no_batch_is_heavier_than_asked_for_and_what_is_heavier_goes_alone() -> None:
    doubling = DoublingHandler()
    batcher = Batcher(doubling.flush, weigh=lambda number: number, most_weight=10)
    numbers = [5, 4, 1, 1, 9, 50, 1, 2]

    answers = await asyncio.gather(*(batcher.submit(number) for number in numbers))

    assert answers == [2 * number for number in numbers]
    assert doubling.batches == [[5, 4, 1], [1, 9], [50], [1, 2]]


async def test_who_has_gone_away_weighs_nothing() -> None:
    doubling = DoublingHandler()
    doubling.released.clear()
    batcher = Batcher(doubling.flush, weigh=lambda number: number, most_weight=10, pending_weight_limit=10)
    first = asyncio.create_task(batcher.submit(1))
    await doubling.begun.wait()
    gone, *waiting = [asyncio.create_task(batcher.submit(number)) for number in (3, 4, 6)]
    await asyncio.sleep(0)

    gone.cancel()
    doubling.released.set()

    assert await asyncio.gather(first, *waiting) == [2, 8, 12]
    assert doubling.batches == [[1], [4, 6]]


async def test_halving_isolates_the_guilty_ones() -> None:
    batcher = Batcher(DoublingHandler().flush, divisible=(ValueError,))
    numbers = [*range(20, 50), -1, *range(50, 80), -2]

    answers = await asyncio.gather(*(batcher.submit(number) for number in numbers), return_exceptions=True)

    bad = [number for number, answer in zip(numbers, answers, strict=True) if isinstance(answer, ValueError)]
    assert bad == [-1, -2]
    assert [answer for answer in answers if isinstance(answer, int)] == [2 * number for number in range(20, 80)]


async def test_those_who_share_what_brought_an_error_about_are_not_tried_one_by_one() -> None:
    doubling = DoublingHandler()
    batcher = Batcher(doubling.flush, divisible=(ValueError,), causes=lambda number, _: (number,) if number < 0 else ())
    numbers = [*range(20, 50), *[-1] * 60, *range(50, 80), -2]

    answers = await asyncio.gather(*(batcher.submit(number) for number in numbers), return_exceptions=True)

    assert [type(answer) for answer in answers] == [ValueError if number < 0 else int for number in numbers]
    # To be alone takes seven halvings of so many, each of which leaves another half to be tried.
    assert len(doubling.batches) <= 2 * (1 + 2 * 7)


async def test_any_other_error_reaches_everybody_in_the_batch_and_nobody_after_it() -> None:
    batcher = Batcher(DoublingHandler().flush, divisible=(ValueError,))

    answers = await asyncio.gather(*(batcher.submit(number) for number in (1, 13, 2)), return_exceptions=True)

    assert [type(answer) for answer in answers] == [KeyError, KeyError, KeyError]
    assert await batcher.submit(5) == 10


async def test_an_error_of_many_callers_shows_the_way_of_one() -> None:
    batcher = Batcher(DoublingHandler().flush)

    answers = await asyncio.gather(*(batcher.submit(13) for _ in range(100)), return_exceptions=True)

    lengths = [len(traceback.extract_tb(answer.__traceback__)) for answer in answers if isinstance(answer, KeyError)]
    assert len(lengths) == 100
    assert max(lengths) < 10


@pytest.mark.parametrize("number", [13, -1])
async def test_an_error_leaves_nothing_for_the_collector_of_garbage(number: int) -> None:
    async def ask(number: int) -> None:
        with suppress(KeyError, ValueError):
            await batcher.submit(number)

    async def ask_together() -> None:
        await asyncio.gather(*(ask(each) for each in (1, 2, number, number)))

    batcher = Batcher(DoublingHandler().flush, divisible=(ValueError,))
    # The first call creates the objects that are created once.
    await ask_together()
    before = collected_objects()
    await ask_together()
    # The last callers keep no references.
    await asyncio.sleep(0)

    assert collected_objects() == before


async def test_nobody_waits_for_ever_when_the_halving_fails() -> None:
    def causes(_: int, error: BaseException) -> Collection[int]:
        raise LookupError from error

    batcher = Batcher(DoublingHandler().flush, divisible=(ValueError,), causes=causes)

    async with asyncio.timeout(5):
        answers = await asyncio.gather(*(batcher.submit(number) for number in (1, -1, 2)), return_exceptions=True)

    assert [answer if isinstance(answer, int) else type(answer) for answer in answers] == [2, LookupError, LookupError]
    assert await batcher.submit(5) == 10


async def test_nobody_waits_for_ever_when_the_halving_is_cancelled() -> None:
    doubling = DoublingHandler()
    batcher = Batcher(doubling.flush, divisible=(ValueError,))
    others = asyncio.all_tasks()
    numbers = [asyncio.create_task(batcher.submit(number)) for number in (1, -1, 2)]
    await doubling.begun.wait()
    doubling.released.clear()
    doubling.begun.clear()
    await doubling.begun.wait()
    late = asyncio.create_task(batcher.submit(4))
    await asyncio.sleep(0)

    for task in asyncio.all_tasks() - others - {*numbers, late}:
        task.cancel()
    doubling.released.set()
    async with asyncio.timeout(5):
        answers = await asyncio.gather(*numbers, late, return_exceptions=True)

    assert [type(answer) for answer in answers] == [asyncio.CancelledError] * 3 + [int]


async def test_it_rejects_what_goes_beyond_the_pending_limit() -> None:
    doubling = DoublingHandler()
    doubling.released.clear()
    batcher = Batcher(doubling.flush, pending_limit=2)
    first = asyncio.create_task(batcher.submit(1))
    await doubling.begun.wait()
    waiting = [asyncio.create_task(batcher.submit(number)) for number in (2, 3)]
    await asyncio.sleep(0)

    with pytest.raises(Unavailable) as refused:
        await batcher.submit(4)
    assert refused.value.code == "overloaded"

    doubling.released.set()
    assert await asyncio.gather(first, *waiting) == [2, 4, 6]


async def test_it_rejects_what_goes_beyond_the_weight_that_may_wait_until_that_has_gone() -> None:
    doubling = DoublingHandler()
    doubling.released.clear()
    batcher = Batcher(doubling.flush, weigh=lambda number: number, pending_weight_limit=10)
    first = asyncio.create_task(batcher.submit(100))
    await doubling.begun.wait()
    waiting = [asyncio.create_task(batcher.submit(number)) for number in (9, 5)]
    await asyncio.sleep(0)

    with pytest.raises(Unavailable, match="Too much"):
        await batcher.submit(1)

    doubling.released.set()
    assert await asyncio.gather(first, *waiting) == [200, 18, 10]
    assert await batcher.submit(100) == 200


@pytest.mark.parametrize(("items", "weight"), [(4, 1000), (1000, 40)])
async def test_it_rejects_whoever_has_half_of_what_may_wait_and_nobody_else(items: int, weight: int) -> None:
    doubling = DoublingHandler()
    doubling.released.clear()
    batcher = Batcher(
        doubling.flush,
        weigh=lambda _: 10,
        owner=lambda number: number % 10,
        pending_limit=items,
        pending_weight_limit=weight,
    )
    first = asyncio.create_task(batcher.submit(1))
    await doubling.begun.wait()
    waiting = [asyncio.create_task(batcher.submit(number)) for number in (11, 21)]
    await asyncio.sleep(0)

    with pytest.raises(Unavailable, match="Too much"):
        await batcher.submit(31)
    waiting += [asyncio.create_task(batcher.submit(number)) for number in (2, 12)]
    await asyncio.sleep(0)
    with pytest.raises(Unavailable, match="Too much"):
        await batcher.submit(4)

    doubling.released.set()
    assert await asyncio.gather(first, *waiting) == [2, 22, 42, 4, 24]
    assert await batcher.submit(31) == 62


async def test_it_handles_a_caller_who_goes_away_while_waiting() -> None:
    doubling = DoublingHandler()
    doubling.released.clear()
    batcher = Batcher(doubling.flush)
    tasks = [asyncio.create_task(batcher.submit(1))]
    await doubling.begun.wait()
    tasks += [asyncio.create_task(batcher.submit(number)) for number in (2, 3)]
    await asyncio.sleep(0)

    tasks[0].cancel()
    tasks[1].cancel()
    doubling.released.set()
    answers = await asyncio.gather(*tasks, return_exceptions=True)

    assert [type(answer) for answer in answers] == [asyncio.CancelledError, asyncio.CancelledError, int]
    assert doubling.batches == [[1], [3]]


async def test_it_handles_a_flush_that_forgets_somebody() -> None:
    async def forgetful(items: Sequence[int]) -> Sequence[int]:
        return items[1:]

    batcher = Batcher(forgetful)

    with pytest.raises(RuntimeError, match="answered 0 of 1"):
        await batcher.submit(1)


async def test_closing_waits_for_what_is_under_way() -> None:
    doubling = DoublingHandler()
    batcher = Batcher(doubling.flush)
    task = asyncio.create_task(batcher.submit(1))
    await asyncio.sleep(0)

    await batcher.close()
    await asyncio.sleep(0)

    assert task.done()
