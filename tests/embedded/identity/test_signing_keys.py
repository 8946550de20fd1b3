import asyncio
from datetime import timedelta

import pytest

from chamberlain.database.transactions import open_database
from chamberlain.embedded.identity.errors import IdentityUnreachable
from chamberlain.embedded.identity.signing_keys import SigningKeys
from chamberlain.secrets.keyring import Keyring, KeysUnusable
from tests.databases import Databases
from tests.embedded.identity.estate import KEYRING, START, Clock


class World:
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
def world(databases: Databases) -> World:
    return World(databases)


async def test_it_works(world: World) -> None:
    key = await world.keys.current()

    assert key.pair.is_private
    assert await world.published() == [key.id]


async def test_concurrent_starts_create_one_key(world: World) -> None:
    first, second = await asyncio.gather(world.keys.current(), world.others.current())

    assert first.id == second.id
    assert first.pair.as_pem(private=True) == second.pair.as_pem(private=True)
    assert await world.stored() == 1


async def test_it_handles_a_slow_clock(world: World) -> None:
    world.other_clock.now = START - timedelta(seconds=30)

    first, second = await world.keys.current(), await world.others.current()

    assert first.id == second.id


async def test_keys_are_published_before_and_after_their_use(world: World) -> None:
    first = (await world.keys.current()).id

    world.after(days=28, hours=23)
    assert await world.published() == [first]

    world.after(days=29)
    _, second = await world.published()
    assert (await world.keys.current()).id == first
    world.after(days=29, hours=23, minutes=59)
    assert (await world.keys.current()).id == first

    world.after(days=30)
    assert (await world.keys.current()).id == second
    world.after(days=30, minutes=64)
    assert await world.published() == [first, second]

    world.after(days=30, minutes=65)
    assert await world.published() == [second]


async def test_concurrent_rotations_create_one_key(world: World) -> None:
    await asyncio.gather(world.keys.current(), world.others.current())
    world.after(days=29)

    await asyncio.gather(world.keys.published(), world.others.published())

    assert await world.stored() == 2
    assert await world.keys.published() == await world.others.published()


async def test_keys_are_read_again_after_a_minute(world: World) -> None:
    await asyncio.gather(world.keys.current(), world.others.current())
    world.other_clock.now = START + timedelta(days=29)
    await world.others.published()

    world.clock.now = START + timedelta(seconds=59)
    assert len(await world.published()) == 1
    world.clock.now = START + timedelta(seconds=60)
    assert len(await world.published()) == 2


async def test_it_handles_a_long_downtime(world: World) -> None:
    first = (await world.keys.current()).id
    world.after(days=300)

    assert (await world.keys.current()).id == first
    second = (await world.published())[1]
    world.after(days=301)

    assert (await world.keys.current()).id == second


async def test_expired_keys_are_deleted(world: World) -> None:
    for days in range(0, 200, 10):
        world.after(days=days)
        await world.keys.current()

    assert await world.stored() <= 3


async def test_stored_keys_are_sealed(world: World) -> None:
    key = await world.keys.current()
    sealed: bytes = await world.databases.worker.pool.fetchval("SELECT sealed FROM identity.signing_keys")
    plain = key.pair.as_der(private=True)

    assert plain[-64:] not in sealed
    assert KEYRING.open(sealed, f"identity.signing_keys/{key.id}") == plain


async def test_it_rejects_keys_with_another_seal(world: World) -> None:
    await world.keys.current()
    stranger = SigningKeys(world.databases.application.pool, Keyring("k1", {"k1": bytes([1] * 32)}), world.clock)

    with pytest.raises(KeysUnusable):
        await stranger.current()


async def test_it_handles_an_unreachable_database(world: World) -> None:
    away = await open_database("postgresql://nobody@127.0.0.1:1/nothing", most=1, name="test")
    keys = SigningKeys(away.pool, KEYRING, world.clock)

    with pytest.raises(IdentityUnreachable):
        await keys.current()

    await away.close()


async def test_repr_shows_no_secrets(world: World) -> None:
    key = await world.keys.current()

    assert "pair" not in repr(key)
