# SPDX-License-Identifier: Apache-2.0
"""Many rows at once: slower when the service asks for it, and to a good end whatever happens."""

import asyncio
from collections.abc import Callable
from typing import TypeAlias

import pytest

from chamberlain.cli.import_.dispatch import Busy, Dispatch, Later

Answer: TypeAlias = int | Later | Busy


class FakeSender:
    """Counts what is under way, and answers what the test says."""

    def __init__(self, answer: Callable[[int, int], Answer]) -> None:
        self._answer = answer
        self.calls: dict[int, int] = {}
        self.under_way = self.most = 0
        self.done: list[int] = []
        self.hold: asyncio.Event | None = None

    async def __call__(self, item: int) -> Answer:
        self.calls[item] = self.calls.get(item, 0) + 1
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await (asyncio.sleep(0) if self.hold is None else self.hold.wait())
        self.under_way -= 1
        return self._answer(item, self.calls[item])


async def run(sender: FakeSender, count: int, *, stop: asyncio.Event | None = None, patience: float = 300.0) -> None:
    dispatch: Dispatch[int, int] = Dispatch(sender, sender.done.append, most=4, patience=patience)
    async with asyncio.timeout(30):
        await dispatch.run(range(count), stop or asyncio.Event())


async def test_it_works() -> None:
    sender = FakeSender(lambda item, _: item)

    await run(sender, 100)

    assert sorted(sender.done) == list(range(100))
    assert sender.most == 4
    assert set(sender.calls.values()) == {1}


async def test_nothing_is_nothing() -> None:
    sender = FakeSender(lambda item, _: item)

    await run(sender, 0)

    assert sender.done == []


async def test_what_is_to_come_again_holds_up_no_other() -> None:
    sender = FakeSender(lambda item, call: Later(0.01) if item == 0 and call < 3 else item)

    await run(sender, 20)

    assert sender.done[-1] == 0
    assert sender.calls[0] == 3
    assert sum(sender.calls.values()) == 22


async def test_everybody_waits_as_long_as_the_service_asks() -> None:
    loop = asyncio.get_running_loop()
    begun: list[float] = []

    def answer(item: int, call: int) -> Answer:
        begun.append(loop.time())
        return Busy(0.2, OSError()) if item < 4 and call == 1 else item

    sender = FakeSender(answer)
    await run(sender, 50)

    assert sorted(sender.done) == list(range(50))
    # The first four were refused together; no other came before the backoff was over.
    assert min(begun[4:]) - max(begun[:4]) >= 0.19
    assert sum(sender.calls.values()) == 54


async def test_fewer_are_under_way_when_the_service_was_busy_and_more_again_later() -> None:
    sender = FakeSender(lambda item, call: Busy(0.0, OSError()) if item == 0 and call == 1 else item)
    dispatch: Dispatch[int, int] = Dispatch(sender, sender.done.append, most=16)

    async with asyncio.timeout(30):
        await dispatch.run([0], asyncio.Event())
        sender.most = 0
        await dispatch.run(range(1, 9), asyncio.Event())
        after = sender.most
        await dispatch.run(range(9, 500), asyncio.Event())

    assert after == 8
    assert sender.most == 16


async def test_it_gives_up_when_nothing_succeeds_for_too_long() -> None:
    error = OSError("away")
    sender = FakeSender(lambda _, __: Busy(0.01, error))

    with pytest.raises(OSError, match="away"):
        await run(sender, 10, patience=0.05)

    assert sender.done == []
    assert sender.under_way == 0


async def test_it_gives_up_at_once_when_it_is_asked_to_wait_longer_than_anybody_does() -> None:
    error = OSError("next year")
    sender = FakeSender(lambda _, __: Busy(31_536_000.0, error))

    with pytest.raises(OSError, match="next year"):
        await run(sender, 10)

    assert set(sender.calls.values()) == {1}


async def test_trouble_that_passes_is_forgotten() -> None:
    sender = FakeSender(lambda item, call: Busy(None, OSError()) if call == 1 and item == 0 else item)

    await run(sender, 3, patience=0.0)

    assert sorted(sender.done) == [0, 1, 2]


@pytest.mark.parametrize("ends", ["stop", "fault"])
async def test_what_is_under_way_comes_to_its_end(ends: str) -> None:
    stop = asyncio.Event()

    def answer(item: int, _: int) -> Answer:
        if item == 0 and ends == "fault":
            raise ValueError
        return item

    sender = FakeSender(answer)
    sender.hold = asyncio.Event()
    running = asyncio.ensure_future(run(sender, 100, stop=stop))
    while sender.under_way < 4:  # noqa: ASYNC110 (it takes a few turns of the loop)
        await asyncio.sleep(0)
    if ends == "stop":
        stop.set()
    sender.hold.set()
    result = (await asyncio.gather(running, return_exceptions=True))[0]

    assert isinstance(result, ValueError) is (ends == "fault")
    assert sorted(sender.done) == ([0, 1, 2, 3] if ends == "stop" else [1, 2, 3])
    assert len(sender.calls) == 4


async def test_a_stop_does_not_wait_for_what_comes_later() -> None:
    stop = asyncio.Event()
    sender = FakeSender(lambda _, __: Later(3600))

    running = asyncio.ensure_future(run(sender, 3, stop=stop))
    while len(sender.calls) < 3:  # noqa: ASYNC110 (it takes a few turns of the loop)
        await asyncio.sleep(0)
    stop.set()
    await running

    assert sender.done == []
