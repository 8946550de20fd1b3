# SPDX-License-Identifier: Apache-2.0
"""The feed of events misses nothing, comes in the order of commits, and costs the same with a million as with ten."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from random import Random
from uuid import uuid4

import asyncpg
import msgspec
import pytest

from chamberlain.changes.models import Event, EventType
from chamberlain.changes.records import append_events
from chamberlain.core.ids import EventId, RequestId, TenantId
from chamberlain.core.paging import FeedPage, FeedPosition, FeedWanted
from chamberlain.database.transactions import PLANNING, Database, Transaction, open_database
from chamberlain.events import feed as event_store
from chamberlain.events.feed import EventFilter, EventRecord
from tests.databases import Databases
from tests.estates import ESTATE, OTHER_HOUSE, rows
from tests.postgres import connected
from tests.query_plans import SIZES, rows_looked_at

BEGINNING = FeedPosition(0)
HAPPENED = datetime(2026, 11, 20, 9, 30, 1, tzinfo=UTC)
# All that one transaction of the old code wrote, and what came in after the migration, look alike: no place yet.
FILL = """
INSERT INTO chamberlain.event (event_id, tenant_id, type, at, data, position)
SELECT gen_random_uuid(), $1, 'group.created', now(), json_build_object('name', n, 'metadata', repeat('x', 300)),
    CASE WHEN $3 THEN nextval('chamberlain.event_places') END
FROM generate_series(1, $2::integer) n
"""
# Few among many: of another type, and of one request.
FEW = """
INSERT INTO chamberlain.event (event_id, tenant_id, type, request_id, at, data, position)
SELECT gen_random_uuid(), $1, 'tenant.changed', $2, now(), '{}', nextval('chamberlain.event_places')
FROM generate_series(1, 60) n
"""
OF_TYPE = EventFilter(type="group.created")
OF_RARE_TYPE = EventFilter(type="tenant.changed")
TAKE_TURN = "SELECT pg_advisory_xact_lock(hashtextextended('events of ' || $1::uuid, 0))"
POSITIONS = "SELECT data ->> 'name', position FROM chamberlain.event ORDER BY position, sequence"


def event(name: str, tenant_id: TenantId = ESTATE, *, request_id: RequestId | None = None) -> Event:
    """Something has happened."""
    return Event(EventId(uuid4()), EventType.GROUP_CREATED, HAPPENED, tenant_id, request_id, {"name": name})


def names(found: FeedPage[EventRecord]) -> list[str]:
    """The names that distinguish the events of a page."""
    return [msgspec.json.decode(each.data)["name"] for each in found.items]


@pytest.fixture
async def reader_database(databases: Databases) -> AsyncIterator[Database]:
    """Connections of readers, who do not wait for one of a writer."""
    database = await open_database(databases.addresses.application, most=4, name="test readers")
    yield database
    await database.close()


async def write(database: Database, *several: str, tenant_id: TenantId = ESTATE) -> None:
    """Tell of events, all in one transaction."""
    async with database.transaction(tenant_id) as tx:
        await append_events(tx, [event(each, tenant_id) for each in several])


async def read(
    database: Database, after: FeedPosition = BEGINNING, *, limit: int = 50, tenant_id: TenantId = ESTATE
) -> FeedPage[EventRecord]:
    async with database.transaction(tenant_id) as tx:
        return await event_store.find_page(tx, FeedWanted(limit, after))


async def read_filtered(
    database: Database, chosen: EventFilter, after: FeedPosition = BEGINNING, *, limit: int = 50
) -> FeedPage[EventRecord]:
    page = None
    while page is None:
        async with database.transaction(ESTATE) as tx:
            page = await event_store.find_filtered(tx, FeedWanted(limit, after), chosen)
    return page


async def read_all(database: Database, *, limit: int) -> list[str]:
    """The feed as it is now, in pages, to the one that is empty."""
    found: list[str] = []
    page = await read(database, limit=limit)
    while page.items:
        found += names(page)
        page = await read(database, page.next, limit=limit)
    return found


async def test_it_works(databases: Databases) -> None:
    told = event("Apollo", request_id=RequestId(uuid4()))
    async with databases.application.transaction(ESTATE) as tx:
        await append_events(tx, [told])

    (found,) = (await read(databases.application)).items

    assert found == EventRecord(
        told.id,
        "group.created",
        HAPPENED,
        told.request_id,
        ESTATE,
        msgspec.json.encode({"name": "Apollo"}),
        found.position,
    )


async def test_it_goes_on_from_the_last_page(databases: Databases) -> None:
    nothing = await read(databases.application)
    await write(databases.application, "one", "two")
    first = await read(databases.application, nothing.next)
    again = await read(databases.application, first.next)
    await write(databases.application, "three")
    second = await read(databases.application, again.next)

    assert (names(nothing), nothing.next) == ([], BEGINNING)
    assert names(first) == ["one", "two"]
    assert (names(again), again.next) == ([], first.next)
    assert names(second) == ["three"]


@pytest.mark.parametrize("limit", [1, 3, 50, 200])
async def test_it_comes_in_pages_without_a_gap_or_anything_twice(databases: Databases, limit: int) -> None:
    every = [str(number) for number in range(120)]
    for begin in range(0, 120, 40):
        await write(databases.application, *every[begin : begin + 40])

    assert await read_all(databases.application, limit=limit) == every


async def test_more_than_get_a_place_at_once_are_all_read(databases: Databases) -> None:
    every = [str(number) for number in range(2 * event_store.PLACED + 3)]
    await write(databases.application, *every)

    assert await read_all(databases.application, limit=200) == every


async def test_a_filtered_page_is_searched_once(databases: Databases) -> None:
    """Its end is that of the feed, although most events do not match and have no place yet."""
    ours = [event("ours", request_id=RequestId(uuid4())), replace(event("rare"), type=EventType.TENANT_CHANGED)]
    await write(databases.application, *map(str, range(event_store.PLACED_AHEAD)))
    async with databases.application.transaction(ESTATE) as tx:
        await append_events(tx, ours)
    await write(databases.application, "last")

    rare = await read_filtered(databases.application, OF_RARE_TYPE)
    of_request = EventFilter(request_id=ours[0].request_id)
    first = await read_filtered(databases.application, of_request)
    again = await read_filtered(databases.application, of_request, rare.next)
    neither = await read_filtered(databases.application, replace(of_request, type=EventType.TENANT_CHANGED))
    everything = await read(databases.application, FeedPosition(event_store.PLACED_AHEAD), limit=200)

    assert [names(each) for each in (rare, first, again, neither)] == [["rare"], ["ours"], [], []]
    assert {each.next for each in (rare, first, again, neither)} == {everything.next}


async def test_a_filtered_page_does_not_wait_for_a_pause_of_the_feed(
    databases: Databases, reader_database: Database
) -> None:
    """A reader that waits for its turn to give positions finds new events afterwards, and leaves them to the next."""
    await write(databases.application, "one")
    async with reader_database.transaction(ESTATE) as tx:
        page = await event_store.find_filtered(tx, FeedWanted(50, BEGINNING), OF_TYPE)

    assert page is not None
    assert names(page) == ["one"]


async def test_what_is_committed_late_comes_behind_what_was_read(databases: Databases) -> None:
    async with databases.application.transaction(ESTATE) as slow:
        await append_events(slow, [event("slow")])
        await write(databases.application, "quick")
        before = await read(databases.application)
    after = await read(databases.application, before.next)

    assert names(before) == ["quick"]
    assert names(after) == ["slow"]
    assert await read_all(databases.application, limit=50) == ["quick", "slow"]


async def test_what_waited_for_another_comes_behind_it(databases: Databases) -> None:
    """It has begun, and written, before the other one; but what it tells of happened after that."""
    lock = "SELECT pg_advisory_xact_lock(7)"

    async def late() -> None:
        async with databases.application.transaction(ESTATE) as tx:
            await tx.execute("SELECT pg_current_xact_id()")
            begun.set()
            await tx.execute(lock)
            await append_events(tx, [event("second")])

    begun = asyncio.Event()
    async with databases.application.transaction(ESTATE) as tx:
        await tx.execute(lock)
        waiting = asyncio.create_task(late())
        await begun.wait()
        await append_events(tx, [event("first")])
    await waiting

    assert await read_all(databases.application, limit=50) == ["first", "second"]


async def test_a_transaction_that_hangs_holds_up_nothing_but_itself(databases: Databases) -> None:
    async with connected(databases.addresses.owner) as owner, owner.transaction():
        await owner.execute("SELECT pg_current_xact_id()")
        await write(databases.application, "one")

        assert names(await read(databases.application)) == ["one"]


async def test_what_was_given_up_is_never_told(databases: Databases) -> None:
    async def give_up() -> None:
        async with databases.application.transaction(ESTATE) as tx:
            await append_events(tx, [event("never")])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await give_up()
    await write(databases.application, "one")

    assert await read_all(databases.application, limit=50) == ["one"]


async def test_a_reader_who_fails_leaves_the_order_to_the_next(databases: Databases) -> None:
    await write(databases.application, "one", "two")

    async def fail() -> None:
        async with databases.application.transaction(ESTATE) as tx:
            await event_store.find_page(tx, FeedWanted(50, BEGINNING))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()

    assert await read_all(databases.application, limit=1) == ["one", "two"]


class Writers:
    """Ten who hold their transactions until they are released, one after the other and in no order. Some give up."""

    def __init__(self, database: Database, chance: Random) -> None:
        self._database = database
        self._chance = chance
        self._holding: dict[str, asyncio.Event] = {}
        self._changed = asyncio.Condition()
        # When each event was written, and when its commit was known, by a clock that only goes forward.
        self.written: dict[str, float] = {}
        self.committed: dict[str, float] = {}

    async def write(self, number: int, turns: int) -> None:
        for turn in range(turns):
            name = f"writer{number}.turn{turn}"
            try:
                await self._write(name, gives_up=turn % 7 == number % 7)
            except ZeroDivisionError:
                continue
            self.committed[name] = time.monotonic()

    async def _write(self, name: str, *, gives_up: bool) -> None:
        released = asyncio.Event()
        async with self._database.transaction(ESTATE) as tx:
            self.written[name] = time.monotonic()
            await append_events(tx, [event(name)])
            async with self._changed:
                self._holding[name] = released
                self._changed.notify_all()
            await released.wait()
            if gives_up:
                raise ZeroDivisionError

    async def release(self, transactions: int) -> None:
        """Release all held transactions."""
        for _ in range(transactions):
            async with self._changed:
                await self._changed.wait_for(lambda: len(self._holding) > 0)
                name = self._chance.choice(sorted(self._holding))
                self._holding.pop(name).set()


async def test_it_misses_nothing_while_ten_writers_commit_in_mixed_order(
    databases: Databases, reader_database: Database
) -> None:
    writers, turns = 10, 30
    many = Writers(databases.application, Random(20261120))  # noqa: S311 - chance that can be repeated.
    done = asyncio.Event()

    async def follow(limit: int) -> list[str]:
        """Go on from page to page, until everybody is done and there is nothing more."""
        found: list[str] = []
        # A page that was asked for before everybody was done may lack what came last.
        is_over, page = done.is_set(), await read(reader_database, limit=limit)
        while page.items or not is_over:
            found += names(page)
            is_over, page = done.is_set(), await read(reader_database, page.next, limit=limit)
        return found

    async def follow_filtered() -> list[str]:
        """The same, by the filter that matches all of them."""
        found: list[str] = []
        is_over, page = done.is_set(), await read_filtered(reader_database, OF_TYPE)
        while page.items or not is_over:
            found += names(page)
            is_over, page = done.is_set(), await read_filtered(reader_database, OF_TYPE, page.next)
        return found

    followers = [asyncio.create_task(each) for each in (*map(follow, (1, 7, 200)), follow_filtered())]
    async with asyncio.timeout(120):
        releasing = asyncio.create_task(many.release(writers * turns))
        await asyncio.gather(*[many.write(number, turns) for number in range(writers)])
        await releasing
        done.set()
        followed = await asyncio.gather(*followers)

    one, *others = followed
    assert sorted(one) == sorted(many.committed)
    assert len(many.committed) > writers * turns // 2
    assert others == [one] * 3
    # No event is before one that was committed before it was written.
    newest = 0.0
    for name in one:
        newest = max(newest, many.written[name])
        assert many.committed[name] >= newest, name
    # They did overtake each other. Whether the feed shows it depends on the time of the read.
    sequences = await rows(databases, "SELECT data ->> 'name' FROM chamberlain.event ORDER BY sequence")
    assert [name for (name,) in sequences] != sorted(many.committed, key=many.committed.__getitem__)


async def test_another_tenant_sees_nothing_of_it(databases: Databases) -> None:
    await write(databases.application, "one", "two")
    await read(databases.application, limit=1)
    await write(databases.application, "theirs", tenant_id=OTHER_HOUSE)

    theirs = await read(databases.application, tenant_id=OTHER_HOUSE)

    assert names(theirs) == ["theirs"]
    assert {each.tenant_id for each in theirs.items} == {OTHER_HOUSE}
    assert await read_all(databases.application, limit=50) == ["one", "two"]


async def test_a_place_is_good_when_all_that_was_read_has_gone(databases: Databases) -> None:
    await write(databases.application, "one", "two")
    before = await read(databases.application)
    await rows(databases, "DELETE FROM chamberlain.event RETURNING 1")
    await write(databases.application, "three")

    assert names(await read(databases.application, before.next)) == ["three"]


async def test_readers_who_find_nothing_new_wait_for_no_other(databases: Databases) -> None:
    """Events of another tenant are not new to them. The owner sees these: row-level security does not bind it."""
    await write(databases.application, "one")
    await read(databases.application)
    await write(databases.application, "theirs", tenant_id=OTHER_HOUSE)

    async with databases.worker.across_tenants() as other, connected(databases.addresses.owner) as owner:
        await other.execute(TAKE_TURN, ESTATE)
        await owner.execute("SET lock_timeout = '50ms'")
        await owner.execute(event_store.PLACE, ESTATE, 10)

    assert await rows(databases, "SELECT data ->> 'name' FROM chamberlain.event WHERE position IS NULL") == [
        ("theirs",)
    ]


async def test_readers_of_new_events_take_turns(databases: Databases) -> None:
    await write(databases.application, "one")

    async with databases.worker.across_tenants() as other, connected(databases.addresses.owner) as owner:
        await other.execute(TAKE_TURN, ESTATE)
        await owner.execute("SET lock_timeout = '50ms'")
        with pytest.raises(asyncpg.LockNotAvailableError):
            await owner.execute(event_store.PLACE, ESTATE, 10)


async def test_it_places_the_oldest_events_of_one_tenant_first(databases: Databases) -> None:
    await write(databases.application, "theirs", tenant_id=OTHER_HOUSE)
    await write(databases.application, "one", "two", "three")

    found: list[list[tuple[object, ...]]] = []
    async with connected(databases.addresses.owner) as owner:
        for _ in range(2):
            await owner.execute(event_store.PLACE, ESTATE, 2)
            found.append(await rows(databases, POSITIONS))

    # A call has a thousand places to give away, and begins where the sequence is.
    assert found == [
        [("one", 1), ("two", 2), ("theirs", None), ("three", None)],
        [("one", 1), ("two", 2), ("three", 1001), ("theirs", None)],
    ]


async def test_it_places_a_thousand_events_at_once_at_most(databases: Databases) -> None:
    """The sequence of places goes on by a thousand."""
    async with databases.worker.across_tenants() as tx:
        await tx.execute(FILL, ESTATE, 1_001, False)  # noqa: FBT003 - the value of a column.

    async with connected(databases.addresses.owner) as owner:
        await owner.execute(event_store.PLACE, ESTATE, 2_000)

    ends = "SELECT count(*), count(position), min(position), max(position) FROM chamberlain.event"
    assert await rows(databases, ends) == [(1_001, 1_000, 1, 1_000)]


@pytest.mark.parametrize("number", SIZES)
async def test_it_works_along_an_index(databases: Databases, number: int) -> None:
    await fill(databases, number)
    request_id = RequestId(uuid4())
    async with databases.worker.across_tenants() as tx:
        await tx.execute(FEW, ESTATE, request_id)

    for place in await places(databases):
        async with databases.application.transaction(ESTATE) as tx:
            assert await looked_at(tx, place) <= 200, place
            for type_ in (OF_TYPE.type, OF_RARE_TYPE.type):
                values = (ESTATE, place.number, 50, type_)
                assert await rows_looked_at(tx, event_store.PAGE_OF_TYPE, *values) <= 200, (place, type_)
            own = (ESTATE, place.number, 50, request_id, None)
            assert await rows_looked_at(tx, event_store.PAGE_OF_REQUEST, *own) <= 200, place
            assert await rows_looked_at(tx, event_store.TIP, ESTATE) <= 200


async def fill(databases: Databases, number: int) -> None:
    """Half of the events of two tenants have their place, the other half was never read."""
    async with databases.worker.across_tenants() as tx:
        await tx.execute("SET LOCAL statement_timeout = '300s'")
        for tenant_id, part in ((OTHER_HOUSE, number // 10), (ESTATE, number)):
            for is_read in (True, False):
                await tx.connection.execute(FILL, tenant_id, part // 2, is_read, timeout=300)


async def places(databases: Databases) -> list[FeedPosition]:
    """The beginning, the middle, and the end of what was read."""
    ((first, last),) = await rows(
        databases, "SELECT min(position), max(position) FROM chamberlain.event WHERE tenant_id = $1", ESTATE
    )
    assert isinstance(first, int)
    assert isinstance(last, int)
    return [BEGINNING, FeedPosition((first + last) // 2), FeedPosition(last)]


async def looked_at(tx: Transaction, after: FeedPosition) -> int:
    """How many rows the largest step of reading a page has looked at."""
    await tx.execute(PLANNING)
    return await rows_looked_at(tx, event_store.PAGE, ESTATE, after.number, 50)
