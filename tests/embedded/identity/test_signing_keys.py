# SPDX-License-Identifier: Apache-2.0
import asyncio
from datetime import timedelta

import pytest

from chamberlain.database.transactions import open_database
from chamberlain.embedded.identity.errors import IdentityUnreachable
from chamberlain.embedded.identity.signing_keys import SigningKeys
from chamberlain.secrets.keyring import Keyring, KeysUnusable
from tests.databases import Databases
from tests.embedded.identity.estate import KEYRING, START, Clock


class SigningKeysFixture:
    """Two processes with one database and a clock each."""

    def __init__(self, databases: Databases) -> None:
        self.databases = databases
        self.clock, self.other_clock = Clock(), Clock()
        self.keys = SigningKeys(databases.application.pool, KEYRING, self.clock)
        self.others = SigningKeys(databases.application.pool, KEYRING, self.other_clock)

    def after(self, **time: float) -> None:
        self.clock.now = self.other_clock.now = START + timedelta(**time)

    async def published(self) -> list[str]:
        return [str(key["kid"]) for key in await self.keys.published()]

    async def stored(self) -> int:
        count: int = await self.databases.worker.pool.fetchval("SELECT count(*) FROM identity.signing_keys")
        return count


@pytest.fixture
def keys_fixture(databases: Databases) -> SigningKeysFixture:
    return SigningKeysFixture(databases)


async def test_it_works(keys_fixture: SigningKeysFixture) -> None:
    key = await keys_fixture.keys.current()

    assert key.pair.is_private
    assert await keys_fixture.published() == [key.id]


async def test_concurrent_starts_create_one_key(keys_fixture: SigningKeysFixture) -> None:
    first, second = await asyncio.gather(keys_fixture.keys.current(), keys_fixture.others.current())

    assert first.id == second.id
    assert first.pair.as_pem(private=True) == second.pair.as_pem(private=True)
    assert await keys_fixture.stored() == 1


async def test_it_handles_a_slow_clock(keys_fixture: SigningKeysFixture) -> None:
    keys_fixture.other_clock.now = START - timedelta(seconds=30)

    first, second = await keys_fixture.keys.current(), await keys_fixture.others.current()

    assert first.id == second.id


async def test_keys_are_published_before_and_after_their_use(keys_fixture: SigningKeysFixture) -> None:
    first = (await keys_fixture.keys.current()).id

    keys_fixture.after(days=28, hours=23)
    assert await keys_fixture.published() == [first]

    keys_fixture.after(days=29)
    _, second = await keys_fixture.published()
    assert (await keys_fixture.keys.current()).id == first
    keys_fixture.after(days=29, hours=23, minutes=59)
    assert (await keys_fixture.keys.current()).id == first

    keys_fixture.after(days=30)
    assert (await keys_fixture.keys.current()).id == second
    keys_fixture.after(days=30, minutes=64)
    assert await keys_fixture.published() == [first, second]

    keys_fixture.after(days=30, minutes=65)
    assert await keys_fixture.published() == [second]


async def test_concurrent_rotations_create_one_key(keys_fixture: SigningKeysFixture) -> None:
    await asyncio.gather(keys_fixture.keys.current(), keys_fixture.others.current())
    keys_fixture.after(days=29)

    await asyncio.gather(keys_fixture.keys.published(), keys_fixture.others.published())

    assert await keys_fixture.stored() == 2
    assert await keys_fixture.keys.published() == await keys_fixture.others.published()


async def test_keys_are_read_again_after_a_minute(keys_fixture: SigningKeysFixture) -> None:
    await asyncio.gather(keys_fixture.keys.current(), keys_fixture.others.current())
    keys_fixture.other_clock.now = START + timedelta(days=29)
    await keys_fixture.others.published()

    keys_fixture.clock.now = START + timedelta(seconds=59)
    assert len(await keys_fixture.published()) == 1
    keys_fixture.clock.now = START + timedelta(seconds=60)
    assert len(await keys_fixture.published()) == 2


async def test_it_handles_a_long_downtime(keys_fixture: SigningKeysFixture) -> None:
    first = (await keys_fixture.keys.current()).id
    keys_fixture.after(days=300)

    assert (await keys_fixture.keys.current()).id == first
    second = (await keys_fixture.published())[1]
    keys_fixture.after(days=301)

    assert (await keys_fixture.keys.current()).id == second


async def test_expired_keys_are_deleted(keys_fixture: SigningKeysFixture) -> None:
    for days in range(0, 200, 10):
        keys_fixture.after(days=days)
        await keys_fixture.keys.current()

    assert await keys_fixture.stored() <= 3


async def test_stored_keys_are_sealed(keys_fixture: SigningKeysFixture) -> None:
    key = await keys_fixture.keys.current()
    sealed: bytes = await keys_fixture.databases.worker.pool.fetchval("SELECT sealed FROM identity.signing_keys")
    plain = key.pair.as_der(private=True)

    assert plain[-64:] not in sealed
    assert KEYRING.open(sealed, f"identity.signing_keys/{key.id}") == plain


async def test_it_rejects_keys_with_another_seal(keys_fixture: SigningKeysFixture) -> None:
    await keys_fixture.keys.current()
    stranger = SigningKeys(
        keys_fixture.databases.application.pool, Keyring("k1", {"k1": bytes([1] * 32)}), keys_fixture.clock
    )

    with pytest.raises(KeysUnusable):
        await stranger.current()


async def test_it_handles_an_unreachable_database(keys_fixture: SigningKeysFixture) -> None:
    away = await open_database("postgresql://nobody@127.0.0.1:1/nothing", most=1, name="test")
    keys = SigningKeys(away.pool, KEYRING, keys_fixture.clock)

    with pytest.raises(IdentityUnreachable):
        await keys.current()

    await away.close()


async def test_repr_shows_no_secrets(keys_fixture: SigningKeysFixture) -> None:
    key = await keys_fixture.keys.current()

    assert "pair" not in repr(key)
