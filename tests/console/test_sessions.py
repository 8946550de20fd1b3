# SPDX-License-Identifier: Apache-2.0
"""Sessions of browsers end in time, refresh once, and are worth nothing without keys."""

import asyncio
from dataclasses import dataclass, field, replace
from datetime import timedelta
from uuid import UUID

import pytest

from chamberlain.console import records
from chamberlain.console.models import Session, Tokens
from chamberlain.console.sessions import Sessions, form_token, is_form_token, new_secret
from chamberlain.core.ids import TenantId, UserId
from chamberlain.secrets.keyring import Keyring
from tests.console.times import AT, Clock
from tests.databases import Databases

ESTATE = TenantId(UUID("e57a7e00-0000-4000-8000-000000000001"))
OTHER_HOUSE = TenantId(UUID("e57a7e00-0000-4000-8000-000000000002"))
ADA = UserId(UUID("ada00000-0000-4000-8000-000000000001"))
BEN = UserId(UUID("be000000-0000-4000-8000-000000000002"))
KEYS = Keyring("k1", {"k1": bytes(32)})
TOKENS = Tokens("access one", "refresh one", "identity one", AT + timedelta(hours=10))


@dataclass
class SessionFixture:
    databases: Databases
    clock: Clock = field(default_factory=Clock)

    @property
    def sessions(self) -> Sessions:
        """The sessions as one process has them."""
        return Sessions(self.databases.application, KEYS, self.clock)

    async def begin(self, user: UserId = ADA, tokens: Tokens = TOKENS, tenant: TenantId = ESTATE) -> Session:
        return await self.sessions.begin(tenant, user, tokens, "Firefox, Linux")

    async def is_found(self, session: Session) -> bool:
        return await self.sessions.find(session.secret) is not None

    async def rows(self) -> list[bytes]:
        async with self.databases.worker.across_tenants() as tx:
            return [bytes(row["sealed"]) for row in await tx.fetch("SELECT sealed FROM chamberlain.console_session")]


@pytest.fixture
def fixture(databases: Databases) -> SessionFixture:
    return SessionFixture(databases)


async def test_it_works(fixture: SessionFixture) -> None:
    begun = await fixture.begin()

    found = await fixture.sessions.find(begun.secret)

    assert found == begun
    assert (begun.tenant_id, begun.user_id, begun.tokens) == (ESTATE, ADA, TOKENS)
    assert len(begun.secret) == 43


async def test_the_database_has_neither_secret_nor_token(fixture: SessionFixture) -> None:
    session = await fixture.begin()

    async with fixture.databases.worker.across_tenants() as tx:
        (row,) = await tx.fetch("SELECT s::text AS whole, digest FROM chamberlain.console_session s")

    for known in (session.secret, session.secret.encode().hex(), TOKENS.access, TOKENS.access.encode().hex()):
        assert known not in row["whole"]
    assert not await fixture.sessions.find(bytes(row["digest"]).hex())
    assert session.secret not in repr(session)
    assert TOKENS.access not in repr(session)


@pytest.mark.parametrize("secret", [None, "", "x", "A" * 43, "ä" * 43, "'" * 43])
async def test_any_other_secret_finds_nothing(fixture: SessionFixture, secret: str | None) -> None:
    await fixture.begin()

    assert await fixture.sessions.find(secret) is None


async def test_it_ends_after_an_hour_without_use(fixture: SessionFixture) -> None:
    session = await fixture.begin()
    fixture.clock.move(minutes=59)
    assert await fixture.is_found(session)
    fixture.clock.move(minutes=59)
    assert await fixture.is_found(session)

    fixture.clock.move(minutes=60)

    assert not await fixture.is_found(session)
    assert await fixture.sessions.list(session) == []


async def test_it_ends_after_eight_hours_of_use(fixture: SessionFixture) -> None:
    session = await fixture.begin()
    for _ in range(15):
        fixture.clock.move(minutes=30)
        assert await fixture.is_found(session)

    fixture.clock.move(minutes=30)

    assert not await fixture.is_found(session)


async def test_after_its_end_it_is_not_found(fixture: SessionFixture) -> None:
    first, second, third = [await fixture.begin() for _ in range(3)]

    await fixture.sessions.end(first)
    assert [await fixture.is_found(each) for each in (first, second, third)] == [False, True, True]

    await fixture.sessions.end(second, third.digest)
    assert [await fixture.is_found(each) for each in (second, third)] == [True, False]


async def test_all_sessions_of_a_user_end_and_no_others(fixture: SessionFixture) -> None:
    own = [await fixture.begin() for _ in range(3)]
    others = [await fixture.begin(BEN), await fixture.begin(tenant=OTHER_HOUSE)]

    await fixture.sessions.end_all(own[0])

    assert [await fixture.is_found(each) for each in own] == [False] * 3
    assert [await fixture.is_found(each) for each in others] == [True] * 2


async def test_nobody_ends_or_lists_a_session_of_another_user(fixture: SessionFixture) -> None:
    own, other, elsewhere = await fixture.begin(), await fixture.begin(BEN), await fixture.begin(tenant=OTHER_HOUSE)

    await fixture.sessions.end(own, other.digest)
    await fixture.sessions.end(own, elsewhere.digest)

    assert [await fixture.is_found(each) for each in (other, elsewhere)] == [True] * 2
    assert [each.digest for each in await fixture.sessions.list(own)] == [own.digest]


async def test_two_pages_refresh_once(fixture: SessionFixture) -> None:
    """Each process has its own object, so only the row lock is between them."""
    session = await fixture.begin(tokens=replace(TOKENS, until=AT + timedelta(seconds=59)))
    asked: list[Tokens] = []

    async def renew(tokens: Tokens) -> Tokens:
        asked.append(tokens)
        await asyncio.sleep(0)
        return Tokens("access two", "refresh two", "identity one", AT + timedelta(hours=1))

    found = await asyncio.gather(*(fixture.sessions.refresh(session, renew) for _ in range(6)))

    assert [each.refresh for each in asked] == ["refresh one"]
    assert {None if each is None else each.tokens.access for each in found} == {"access two"}
    stored = await fixture.sessions.find(session.secret)
    assert stored is not None
    assert stored.tokens.refresh == "refresh two"


async def test_a_slow_issuer_delays_no_other_tenant(fixture: SessionFixture) -> None:
    due = replace(TOKENS, until=AT)
    sessions, answer = fixture.sessions, asyncio.Event()
    slow = [await fixture.begin(tokens=due) for _ in range(6)]
    other = await fixture.begin(tokens=due, tenant=OTHER_HOUSE)
    asked: asyncio.Queue[Tokens] = asyncio.Queue()

    async def renew_slowly(tokens: Tokens) -> Tokens:
        asked.put_nowait(tokens)
        await answer.wait()
        return TOKENS

    async def renew(_: Tokens) -> Tokens:
        return TOKENS

    waiting = [asyncio.create_task(sessions.refresh(each, renew_slowly)) for each in slow]
    await asked.get()
    try:
        async with asyncio.timeout(10):
            assert await sessions.refresh(other, renew) is not None
    finally:
        answer.set()
        await asyncio.gather(*waiting)


async def test_tokens_that_last_are_not_refreshed(fixture: SessionFixture) -> None:
    session = await fixture.begin(tokens=replace(TOKENS, until=AT + timedelta(seconds=60)))

    async def renew(_: Tokens) -> Tokens | None:
        raise AssertionError

    assert not fixture.sessions.is_due(session)
    assert await fixture.sessions.refresh(session, renew) == session


async def test_revoked_tokens_and_ended_sessions_are_not_refreshed(fixture: SessionFixture) -> None:
    session = await fixture.begin(tokens=replace(TOKENS, until=AT))

    async def refuse(_: Tokens) -> Tokens | None:
        return None

    assert await fixture.sessions.refresh(session, refuse) is None
    await fixture.sessions.end(session)
    assert await fixture.sessions.refresh(session, refuse) is None


async def test_keys_are_counted_and_rotated(fixture: SessionFixture) -> None:
    sessions = [await fixture.begin() for _ in range(5)]
    ring = Keyring("k2", {"k2": bytes([2] * 32), "k1": bytes(32)})

    done: list[int] = []
    after: bytes | None = b""
    while after is not None:
        async with fixture.databases.worker.across_tenants() as tx:
            batch = await records.reseal(tx, ring, after, 2)
        done.append(batch.done)
        after = batch.next

    async with fixture.databases.worker.across_tenants() as tx:
        assert await records.count(tx) == {"k2": 5}
    assert sum(done) == 5
    only = Sessions(fixture.databases.application, Keyring("k2", {"k2": bytes([2] * 32)}), fixture.clock)
    assert await only.find(sessions[0].secret) == sessions[0]


async def test_a_session_whose_key_is_lost_has_ended(fixture: SessionFixture) -> None:
    session = await fixture.begin()
    other = Sessions(fixture.databases.application, Keyring("k2", {"k2": bytes(32)}), fixture.clock)

    assert await other.find(session.secret) is None


async def test_tokens_do_not_open_in_another_row(fixture: SessionFixture) -> None:
    first, second = await fixture.begin(), await fixture.begin()

    async with fixture.databases.worker.across_tenants() as tx:
        await tx.execute(
            "UPDATE chamberlain.console_session SET sealed = (SELECT sealed FROM chamberlain.console_session "
            "WHERE digest = $1) WHERE digest = $2",
            first.digest,
            second.digest,
        )

    assert await fixture.sessions.find(second.secret) is None


async def test_retention_removes_what_has_ended(fixture: SessionFixture) -> None:
    await fixture.begin()
    fixture.clock.move(minutes=30)
    kept = await fixture.begin()
    fixture.clock.move(minutes=31)

    async with fixture.databases.worker.across_tenants() as tx:
        removed = [await records.remove_ended(tx, fixture.clock(), 10) for _ in range(2)]

    assert removed == [1, 0]
    assert await fixture.is_found(kept)


def test_a_form_token_belongs_to_one_secret() -> None:
    secret, other = new_secret(), new_secret()

    assert is_form_token(secret, form_token(secret))
    for wrong in ("", form_token(other), secret, form_token(secret).upper(), "ä", "\ud800"):
        assert not is_form_token(secret, wrong)
