# SPDX-License-Identifier: Apache-2.0
"""Names: looked up once for concurrent callers, and one without an answer delays no other."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from threading import Event

import pytest

from chamberlain.webhooks.addresses import Address, Resolver

ADDRESS = ip_address("192.0.2.1")


@dataclass
class FakeResolver:
    """Answers every name but those that begin with `hangs`, for which it waits until `answers` is set."""

    asked: Counter[str] = field(default_factory=Counter)
    answers: Event = field(default_factory=Event)

    def __call__(self, host: str) -> Sequence[Address] | OSError:
        self.asked[host] += 1
        if host.startswith("hangs"):
            self.answers.wait(timeout=60)
        return OSError("unknown") if host.startswith("unknown") else [ADDRESS]


@pytest.fixture
def server() -> Iterator[FakeResolver]:
    found = FakeResolver()
    yield found
    found.answers.set()


async def test_it_works() -> None:
    assert ip_address("127.0.0.1") in await Resolver()("localhost", 443)


@pytest.mark.parametrize("host", ["unknown.invalid", "a" * 64 + ".invalid", "a\0b", ""])
async def test_it_rejects_what_no_name_is(host: str) -> None:
    with pytest.raises(OSError):  # noqa: PT011 - it says nothing more.
        await Resolver()(host, 443)


async def test_all_who_ask_for_one_name_share_a_look_up(server: FakeResolver) -> None:
    resolve = Resolver(server)
    asking = [asyncio.create_task(resolve("hangs.example", port)) for port in range(1000)]
    # More than there are threads, and another name has its turn.
    async with asyncio.timeout(10):
        assert await resolve("well.example", 443) == [ADDRESS]
    server.answers.set()

    assert await asyncio.gather(*asking) == [[ADDRESS]] * 1000
    assert server.asked == {"hangs.example": 1, "well.example": 1}


async def test_it_asks_again_behind_a_look_up_that_is_through(server: FakeResolver) -> None:
    resolve = Resolver(server)
    for _ in range(2):
        await resolve("well.example", 443)
        with pytest.raises(OSError):  # noqa: PT011 - it says nothing more.
            await resolve("unknown.example", 443)

    assert server.asked == {"well.example": 2, "unknown.example": 2}


async def test_one_who_waits_no_longer_leaves_it_to_the_others(server: FakeResolver) -> None:
    resolve = Resolver(server)
    first = asyncio.create_task(resolve("hangs.example", 443))
    second = asyncio.create_task(resolve("hangs.example", 443))
    # Both have begun to wait.
    await resolve("well.example", 443)
    first.cancel()
    await asyncio.wait({first})
    server.answers.set()

    assert await second == [ADDRESS]
    assert first.cancelled()
