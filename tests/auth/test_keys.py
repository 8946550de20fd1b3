# SPDX-License-Identifier: Apache-2.0
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
class KeysFixture:
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
async def keys_fixture() -> AsyncIterator[KeysFixture]:
    async with run_issuer() as issuer:
        issuer.keys = [FIRST]
        keys_fixture = KeysFixture(issuer)
        yield keys_fixture
        await keys_fixture.keys.close()


async def test_it_works(keys_fixture: KeysFixture) -> None:
    assert await keys_fixture.knows("first")
    assert await keys_fixture.knows("first")

    assert keys_fixture.issuer.fetches == 1


async def test_no_token_is_refused_because_file_descriptors_ran_out(keys_fixture: KeysFixture) -> None:
    # A process of its own: the first fetch imports modules, which needs descriptors too.
    command = [sys.executable, "-c", FIRST_FETCH, keys_fixture.issuer.address]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    said, _ = await process.communicate()

    assert said.splitlines()[-1] == b"Unavailable Unavailable RSAKey"


async def test_closed_keys_ask_nobody(keys_fixture: KeysFixture) -> None:
    await keys_fixture.keys.close()

    with pytest.raises(RuntimeError):
        await keys_fixture.knows("first")
    assert not keys_fixture.issuer.asked


async def test_an_unknown_key_is_asked_for_once_in_30_seconds(keys_fixture: KeysFixture) -> None:
    await keys_fixture.knows("first")
    keys_fixture.issuer.keys = [FIRST, SECOND]

    keys_fixture.after(seconds=29)
    assert not await keys_fixture.knows("second")
    assert keys_fixture.issuer.fetches == 1

    keys_fixture.after(seconds=30)
    assert await keys_fixture.knows("second")
    assert keys_fixture.issuer.fetches == 2

    for kid in ("made up", "and", "so on"):
        assert not await keys_fixture.knows(kid)
    keys_fixture.after(seconds=59)
    assert not await keys_fixture.knows("made up")
    assert keys_fixture.issuer.fetches == 2


async def test_many_who_ask_at_once_share_one_fetch(keys_fixture: KeysFixture) -> None:
    keys_fixture.issuer.hold = asyncio.Event()
    asking = [asyncio.create_task(keys_fixture.knows(kid)) for kid in ["first", "made up"] * 20]
    impatient = asyncio.create_task(keys_fixture.knows("first"))
    await until(lambda: bool(keys_fixture.issuer.asked))

    impatient.cancel()
    keys_fixture.issuer.hold.set()

    assert await asyncio.gather(*asking) == [True, False] * 20
    assert keys_fixture.issuer.asked == {DISCOVERY: 1, "/keys": 1}


async def test_a_fetch_that_takes_long_is_not_started_again(keys_fixture: KeysFixture) -> None:
    keys_fixture.issuer.hold = asyncio.Event()
    first = asyncio.create_task(keys_fixture.knows("first"))
    await until(lambda: bool(keys_fixture.issuer.asked))

    keys_fixture.after(seconds=2)
    second = asyncio.create_task(keys_fixture.knows("first"))
    await asyncio.sleep(0)
    keys_fixture.issuer.hold.set()

    assert [await first, await second] == [True, True]
    assert keys_fixture.issuer.asked == {DISCOVERY: 1, "/keys": 1}


async def test_a_key_that_was_taken_back_is_forgotten(keys_fixture: KeysFixture) -> None:
    assert await keys_fixture.knows("first")
    keys_fixture.issuer.keys = [SECOND]

    keys_fixture.after(hours=1)
    assert await keys_fixture.knows("first")
    await until(lambda: keys_fixture.issuer.fetches == 2)

    keys_fixture.after(hours=1, seconds=1)
    assert await keys_fixture.knows("second")
    assert not await keys_fixture.knows("first")


async def test_known_keys_outlast_an_issuer_that_is_away_for_a_day(keys_fixture: KeysFixture) -> None:
    assert await keys_fixture.knows("first")
    keys_fixture.issuer.answers[DISCOVERY] = lambda: (503, b"")

    keys_fixture.after(hours=23, minutes=59)
    assert await keys_fixture.knows("first")

    keys_fixture.after(hours=24)
    assert await keys_fixture.is_unavailable("first")


async def test_an_issuer_that_was_away_is_asked_again_after_a_second(keys_fixture: KeysFixture) -> None:
    keys_fixture.issuer.answers[DISCOVERY] = lambda: (503, b"")
    assert await keys_fixture.is_unavailable()
    assert await keys_fixture.is_unavailable()
    assert keys_fixture.issuer.asked[DISCOVERY] == 1

    del keys_fixture.issuer.answers[DISCOVERY]
    keys_fixture.after(seconds=1)

    assert await keys_fixture.knows("first")


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


def discovery(keys_fixture: KeysFixture, **changes: object) -> Callable[[], Answer]:
    return lambda: (200, json.dumps({**keys_fixture.issuer.discovery, **changes}).encode())


async def test_it_rejects_the_discovery_document_of_another_issuer(keys_fixture: KeysFixture) -> None:
    keys_fixture.issuer.answers[DISCOVERY] = discovery(keys_fixture, issuer="https://other.example")

    assert await keys_fixture.is_unavailable()
    assert keys_fixture.issuer.fetches == 0


@pytest.mark.parametrize("address", ["http://keys.example/keys", "file:///etc/passwd", "keys", 7, None])
async def test_it_rejects_an_address_of_keys_that_proves_nothing(keys_fixture: KeysFixture, address: object) -> None:
    keys_fixture.issuer.answers[DISCOVERY] = discovery(keys_fixture, jwks_uri=address)

    with capture_logs() as logs:
        assert await keys_fixture.is_unavailable()

    assert any(reason in logs[0]["reason"] for reason in ("neither https nor on this machine", "cannot be read"))


@pytest.mark.parametrize("path", [DISCOVERY, "/keys"])
@pytest.mark.parametrize(
    "answer",
    [(404, b"{}"), (200, b""), (200, b"[]"), (200, b'{"keys": 7}'), (200, b"\xff")],
)
async def test_it_rejects_answers_that_are_of_no_use(keys_fixture: KeysFixture, path: str, answer: Answer) -> None:
    keys_fixture.issuer.answers[path] = lambda: answer

    assert await keys_fixture.is_unavailable()


@pytest.mark.parametrize("path", [DISCOVERY, "/keys"])
async def test_it_rejects_an_answer_that_is_too_long(keys_fixture: KeysFixture, path: str) -> None:
    usual = keys_fixture.issuer.answer(path)[1]
    keys_fixture.issuer.answers[path] = lambda: (200, usual + b" " * 300_000)

    assert await keys_fixture.is_unavailable()


@pytest.mark.parametrize("path", [DISCOVERY, "/keys"])
async def test_it_follows_nobody_elsewhere(keys_fixture: KeysFixture, path: str) -> None:
    usual = keys_fixture.issuer.answer(path)
    keys_fixture.issuer.answers[path] = lambda: (302, b"")
    keys_fixture.issuer.answers["/moved"] = lambda: usual

    assert await keys_fixture.is_unavailable()
    assert keys_fixture.issuer.asked["/moved"] == 0


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(1000):
        if condition():
            return
        await asyncio.sleep(0.01)
    pytest.fail("It did not happen within ten seconds.")
