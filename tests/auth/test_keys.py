import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from structlog.testing import capture_logs

from chamberlain.auth.issuers import IssuerKeys
from chamberlain.core.errors import Unavailable
from tests.auth.issuer import Answer, Issuer, make_key, run_issuer

START = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
FIRST, SECOND = make_key("first"), make_key("second")
DISCOVERY = "/.well-known/openid-configuration"

# Prints the outcome of three calls: two while nothing more can be opened, one a second later.
FIRST_FETCH = """
import asyncio, os, resource, sys
from datetime import UTC, datetime, timedelta
import uvloop
from chamberlain.auth.issuers import IssuerKeys
from chamberlain.core.errors import Unavailable

async def main():
    now = datetime.now(UTC)
    keys = IssuerKeys(lambda: now)
    async def outcome():
        try:
            return type(await keys.find(sys.argv[1], "first", "RS256")).__name__
        except Unavailable:
            return "Unavailable"
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest_free = os.dup(0)
    os.close(lowest_free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, hard))
    found = [await outcome(), await outcome()]
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    now += timedelta(seconds=1)
    # Log lines come before it.
    print("\\n" + " ".join([*found, await outcome()]))
    await keys.close()

uvloop.run(main())
"""


@dataclass
class World:
    issuer: Issuer
    now: datetime = START

    def __post_init__(self) -> None:
        self.keys = IssuerKeys(lambda: self.now)

    async def knows(self, kid: str, algorithm: str = "RS256") -> bool:
        return await self.keys.find(self.issuer.address, kid, algorithm) is not None

    async def is_unavailable(self, kid: str = "first") -> bool:
        try:
            await self.knows(kid)
        except Unavailable:
            return True
        return False

    def after(self, **time: float) -> None:
        self.now = START + timedelta(**time)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with run_issuer() as issuer:
        issuer.keys = [FIRST]
        world = World(issuer)
        yield world
        await world.keys.close()


async def test_it_works(world: World) -> None:
    assert await world.knows("first")
    assert await world.knows("first")

    assert world.issuer.fetches == 1


async def test_no_token_is_refused_because_file_descriptors_ran_out(world: World) -> None:
    # A process of its own: the first fetch imports modules, which needs descriptors too.
    command = [sys.executable, "-c", FIRST_FETCH, world.issuer.address]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    said, _ = await process.communicate()

    assert said.splitlines()[-1] == b"Unavailable Unavailable RSAKey"


async def test_closed_keys_ask_nobody(world: World) -> None:
    await world.keys.close()

    with pytest.raises(RuntimeError):
        await world.knows("first")
    assert not world.issuer.asked


async def test_an_unknown_key_is_asked_for_once_in_30_seconds(world: World) -> None:
    await world.knows("first")
    world.issuer.keys = [FIRST, SECOND]

    world.after(seconds=29)
    assert not await world.knows("second")
    assert world.issuer.fetches == 1

    world.after(seconds=30)
    assert await world.knows("second")
    assert world.issuer.fetches == 2

    for kid in ("made up", "and", "so on"):
        assert not await world.knows(kid)
    world.after(seconds=59)
    assert not await world.knows("made up")
    assert world.issuer.fetches == 2


async def test_many_who_ask_at_once_share_one_fetch(world: World) -> None:
    world.issuer.hold = asyncio.Event()
    asking = [asyncio.create_task(world.knows(kid)) for kid in ["first", "made up"] * 20]
    impatient = asyncio.create_task(world.knows("first"))
    await until(lambda: bool(world.issuer.asked))

    impatient.cancel()
    world.issuer.hold.set()

    assert await asyncio.gather(*asking) == [True, False] * 20
    assert world.issuer.asked == {DISCOVERY: 1, "/keys": 1}


async def test_a_fetch_that_takes_long_is_not_started_again(world: World) -> None:
    world.issuer.hold = asyncio.Event()
    first = asyncio.create_task(world.knows("first"))
    await until(lambda: bool(world.issuer.asked))

    world.after(seconds=2)
    second = asyncio.create_task(world.knows("first"))
    await asyncio.sleep(0)
    world.issuer.hold.set()

    assert [await first, await second] == [True, True]
    assert world.issuer.asked == {DISCOVERY: 1, "/keys": 1}


async def test_a_key_that_was_taken_back_is_forgotten(world: World) -> None:
    assert await world.knows("first")
    world.issuer.keys = [SECOND]

    world.after(hours=1)
    assert await world.knows("first")
    await until(lambda: world.issuer.fetches == 2)

    world.after(hours=1, seconds=1)
    assert await world.knows("second")
    assert not await world.knows("first")


async def test_known_keys_outlast_an_issuer_that_is_away_for_a_day(world: World) -> None:
    assert await world.knows("first")
    world.issuer.answers[DISCOVERY] = lambda: (503, b"")

    world.after(hours=23, minutes=59)
    assert await world.knows("first")

    world.after(hours=24)
    assert await world.is_unavailable("first")


async def test_an_issuer_that_was_away_is_asked_again_after_a_second(world: World) -> None:
    world.issuer.answers[DISCOVERY] = lambda: (503, b"")
    assert await world.is_unavailable()
    assert await world.is_unavailable()
    assert world.issuer.asked[DISCOVERY] == 1

    del world.issuer.answers[DISCOVERY]
    world.after(seconds=1)

    assert await world.knows("first")


async def test_it_handles_an_issuer_that_nobody_answers_for() -> None:
    keys = IssuerKeys(lambda: START)

    with pytest.raises(Unavailable):
        await keys.find("http://127.0.0.1:1", "first", "RS256")

    await keys.close()


@pytest.mark.parametrize(
    "issuer",
    [
        "http://issuer.example",
        "ftp://127.0.0.1/",
        "file:///etc/passwd",
        "issuer",
        "http://[",
        "http://127.0.0.1:65536",
        "https://127.0.0.1:keys",
        "",
    ],
)
async def test_it_rejects_addresses_that_prove_nothing(issuer: str) -> None:
    keys = IssuerKeys(lambda: START)

    with capture_logs() as logs, pytest.raises(Unavailable):
        await keys.find(issuer, "first", "RS256")

    assert "neither https nor on this machine" in logs[0]["reason"]
    await keys.close()


def discovery(world: World, **changes: object) -> Callable[[], Answer]:
    return lambda: (200, json.dumps({**world.issuer.discovery, **changes}).encode())


async def test_it_rejects_the_discovery_document_of_another_issuer(world: World) -> None:
    world.issuer.answers[DISCOVERY] = discovery(world, issuer="https://other.example")

    assert await world.is_unavailable()
    assert world.issuer.fetches == 0


@pytest.mark.parametrize("address", ["http://keys.example/keys", "file:///etc/passwd", "keys", 7, None])
async def test_it_rejects_an_address_of_keys_that_proves_nothing(world: World, address: object) -> None:
    world.issuer.answers[DISCOVERY] = discovery(world, jwks_uri=address)

    with capture_logs() as logs:
        assert await world.is_unavailable()

    assert any(reason in logs[0]["reason"] for reason in ("neither https nor on this machine", "cannot be read"))


@pytest.mark.parametrize("path", [DISCOVERY, "/keys"])
@pytest.mark.parametrize(
    "answer",
    [(404, b"{}"), (200, b""), (200, b"[]"), (200, b'{"keys": 7}'), (200, b"\xff")],
)
async def test_it_rejects_answers_that_are_of_no_use(world: World, path: str, answer: Answer) -> None:
    world.issuer.answers[path] = lambda: answer

    assert await world.is_unavailable()


@pytest.mark.parametrize("path", [DISCOVERY, "/keys"])
async def test_it_rejects_an_answer_that_is_too_long(world: World, path: str) -> None:
    usual = world.issuer.answer(path)[1]
    world.issuer.answers[path] = lambda: (200, usual + b" " * 300_000)

    assert await world.is_unavailable()


@pytest.mark.parametrize("path", [DISCOVERY, "/keys"])
async def test_it_follows_nobody_elsewhere(world: World, path: str) -> None:
    usual = world.issuer.answer(path)
    world.issuer.answers[path] = lambda: (302, b"")
    world.issuer.answers["/moved"] = lambda: usual

    assert await world.is_unavailable()
    assert world.issuer.asked["/moved"] == 0


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(1000):
        if condition():
            return
        await asyncio.sleep(0.01)
    pytest.fail("It did not happen within ten seconds.")
