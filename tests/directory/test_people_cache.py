# SPDX-License-Identifier: Apache-2.0
"""The cache of people is used only while change notifications arrive."""

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import UUID

import pytest

from chamberlain.core.ids import GroupId, TenantId, UserId
from chamberlain.database.notify import listen
from chamberlain.directory.cache import MOST_ASKED, MOST_REMEMBERED, TRUSTED_FOR, RememberedPeople
from chamberlain.directory.embedded.people import EmbeddedPeople
from chamberlain.directory.models import Label, PeopleAnswer, PeopleQuestion, Person
from chamberlain.directory.port import REMEMBER_REMOTE, People
from chamberlain.embedded import postgres
from chamberlain.embedded.directory.people import PEOPLE_CHANNEL, Register
from tests.databases import Databases
from tests.estates import ADA, BEN, ESTATE, INTERNAL, NOBODY, OTHER_HOUSE, example_database, until

ABOUT_ADA = PeopleQuestion(ESTATE, users=frozenset({ADA}))


@dataclass
class CountedPeople(People):
    """People that count questions; `meanwhile` runs during each answer."""

    people: People
    asked: int = 0
    meanwhile: Callable[[], None] | None = None

    async def look_up(self, question: PeopleQuestion) -> PeopleAnswer:
        self.asked += 1
        answer = await self.people.look_up(question)
        if self.meanwhile is not None:
            self.meanwhile()
        return answer

    async def find(self, tenant_id: TenantId, text: str, limit: int) -> Sequence[Person]:
        return await self.people.find(tenant_id, text, limit)

    async def labels(self, tenant_id: TenantId) -> Sequence[Label]:
        return await self.people.labels(tenant_id)


@dataclass
class CacheSetup:
    """A cache of people and its sources; `notified_times` counts notifications."""

    databases: Databases
    counted: CountedPeople
    remembered: RememberedPeople
    seconds: float = 0.0
    notified_times: int = 0

    async def name_of_ada(self) -> str:
        answer = await self.remembered.look_up(ABOUT_ADA)
        return answer.people[ADA].display_name


@pytest.fixture
async def setup(postgres_server: postgres.Server) -> AsyncIterator[CacheSetup]:
    async with example_database(postgres_server) as databases:
        counted = CountedPeople(EmbeddedPeople(Register(databases.application.pool)))
        made = CacheSetup(databases, counted, RememberedPeople(counted, clock=lambda: made.seconds))
        yield made


@asynccontextmanager
async def notified(setup: CacheSetup) -> AsyncIterator[asyncio.Task[None]]:
    """Pass all notifications to the cache, as in the service."""
    heard = asyncio.Event()

    def hear(payload: str) -> None:
        setup.notified_times += 1
        setup.remembered.heard(payload)
        heard.set()

    address = setup.databases.addresses.application
    task = asyncio.create_task(listen(address, PEOPLE_CHANNEL, hear, lost=setup.remembered.lost))
    await heard.wait()
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait({task})


async def change(setup: CacheSetup, statement: str) -> None:
    async with setup.databases.worker.across_tenants() as tx:
        await tx.execute(statement)


async def test_it_works(setup: CacheSetup) -> None:
    async with notified(setup):
        names = [await setup.name_of_ada() for _ in range(3)]

    assert names == ["Ada Achterberg"] * 3
    assert setup.counted.asked == 1


@pytest.mark.parametrize(
    "question",
    [
        PeopleQuestion(ESTATE, users=frozenset({ADA, NOBODY})),
        PeopleQuestion(ESTATE, labels=frozenset({INTERNAL, "no such label"})),
        PeopleQuestion(ESTATE, users=frozenset({ADA}), addresses=frozenset({"free@estate.example"})),
        PeopleQuestion(ESTATE, users=frozenset({ADA}), member=ADA, groups=frozenset({GroupId(NOBODY)})),
        PeopleQuestion(ESTATE, users=frozenset({ADA}), manager_of=BEN),
        PeopleQuestion(ESTATE, membership_rules=frozenset({"user.department -eq 1"})),
    ],
)
async def test_only_existing_users_and_labels_are_cached(setup: CacheSetup, question: PeopleQuestion) -> None:
    async with notified(setup):
        answers = [await setup.remembered.look_up(question) for _ in range(2)]

    assert answers[0] == answers[1]
    assert setup.counted.asked == 2


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE directory.users SET display_name = 'Ada the Second' WHERE display_name = 'Ada Achterberg'",
        "UPDATE directory.users SET properties = '{\"department\": \"Law\"}' WHERE display_name = 'Ada Achterberg'",
        "DELETE FROM directory.service_plans",
        "DELETE FROM directory.users WHERE display_name = 'Ben Okafor'",
        "DELETE FROM directory.labels",
    ],
)
async def test_a_notification_invalidates_the_cache(setup: CacheSetup, statement: str) -> None:
    async with notified(setup):
        await setup.name_of_ada()
        await change(setup, statement)

        async def is_asked_again() -> bool:
            await setup.name_of_ada()
            return setup.counted.asked == 2

        await until(is_asked_again)
        remembered = await setup.remembered.look_up(ABOUT_ADA)

    assert remembered == await setup.counted.look_up(ABOUT_ADA)


async def test_other_writes_are_no_change(setup: CacheSetup) -> None:
    async with notified(setup):
        await setup.name_of_ada()
        await change(setup, "UPDATE directory.users SET last_seen_at = now()")
        await change(setup, "UPDATE directory.users SET display_name = display_name")
        # Notifications keep their order, so earlier ones arrive before this one.
        heard = setup.notified_times
        await change(setup, "SELECT pg_notify('directory_people', '')")

        async def is_notified() -> bool:
            return setup.notified_times > heard

        await until(is_notified)

    assert setup.notified_times == heard + 1


async def test_nothing_is_cached_without_notifications(setup: CacheSetup) -> None:
    await setup.name_of_ada()
    await setup.name_of_ada()
    assert setup.counted.asked == 2

    async with notified(setup):
        await setup.name_of_ada()
        await setup.name_of_ada()
    assert setup.counted.asked == 3

    await setup.name_of_ada()
    await setup.name_of_ada()
    assert setup.counted.asked == 5


async def test_an_outdated_answer_is_not_cached(setup: CacheSetup) -> None:
    setup.remembered.heard()
    setup.counted.meanwhile = setup.remembered.heard
    await setup.name_of_ada()
    setup.counted.meanwhile = None

    await setup.name_of_ada()

    assert setup.counted.asked == 2


async def test_entries_expire(setup: CacheSetup) -> None:
    setup.remembered.heard()
    await setup.name_of_ada()
    setup.seconds = TRUSTED_FOR

    await setup.name_of_ada()

    assert setup.counted.asked == 2


class AnyPeople(People):
    """People that contain every user."""

    asked = 0

    def __init__(self, age: timedelta | None = None) -> None:
        self.age = age

    def remember_for(self, tenant_id: TenantId) -> timedelta | None:
        return self.age if tenant_id == ESTATE else None

    async def look_up(self, question: PeopleQuestion) -> PeopleAnswer:
        self.asked += 1
        return PeopleAnswer({user: self.person(user) for user in question.users})

    async def find(self, tenant_id: TenantId, text: str, limit: int) -> Sequence[Person]:
        raise NotImplementedError

    async def labels(self, tenant_id: TenantId) -> Sequence[Label]:
        raise NotImplementedError

    @staticmethod
    def person(user: UserId) -> Person:
        return Person(user, "Somebody", None, has_team_license=True, properties={})

    @staticmethod
    def question(place: int, size: int) -> PeopleQuestion:
        users = (UserId(UUID(int=place * size + number)) for number in range(size))
        return PeopleQuestion(ESTATE, users=frozenset(users))

    @staticmethod
    def number() -> int:
        """Count the cached people."""
        gc.collect()
        return sum(isinstance(each, Person) for each in gc.get_objects())


async def test_without_notifications_entries_have_a_maximum_age() -> None:
    seconds, everybody = 0.0, AnyPeople(REMEMBER_REMOTE)
    remembered = RememberedPeople(everybody, clock=lambda: seconds)
    elsewhere = replace(ABOUT_ADA, tenant_id=OTHER_HOUSE)

    for _ in range(2):
        await remembered.look_up(ABOUT_ADA)
        # The other tenant's directory notifies, and no notification can arrive.
        await remembered.look_up(elsewhere)
    assert everybody.asked == 3

    # Notifications are not about this directory.
    remembered.heard()
    remembered.lost()
    seconds = REMEMBER_REMOTE.total_seconds() - 1
    await remembered.look_up(ABOUT_ADA)
    assert everybody.asked == 3
    seconds += 1
    await remembered.look_up(ABOUT_ADA)
    assert everybody.asked == 4


async def test_the_age_of_an_entry_begins_with_its_question() -> None:
    seconds = 0.0

    def wait() -> None:
        nonlocal seconds
        seconds += 20

    counted = SlowPeople(REMEMBER_REMOTE, wait)
    slow = RememberedPeople(counted, clock=lambda: seconds)
    await slow.look_up(ABOUT_ADA)
    seconds = REMEMBER_REMOTE.total_seconds()
    await slow.look_up(ABOUT_ADA)

    assert counted.asked == 2
    assert slow.remember_for(ESTATE) == REMEMBER_REMOTE


class SlowPeople(AnyPeople):
    """People whose answers take long: `wait` runs during each."""

    def __init__(self, age: timedelta, wait: Callable[[], None]) -> None:
        super().__init__(age)
        self.wait = wait

    async def look_up(self, question: PeopleQuestion) -> PeopleAnswer:
        answer = await super().look_up(question)
        self.wait()
        return answer


@pytest.mark.parametrize("age", [None, REMEMBER_REMOTE])
async def test_a_missing_user_is_never_cached(age: timedelta | None) -> None:
    missing = SomePeople(age)
    remembered = RememberedPeople(missing)
    remembered.heard()

    before = await remembered.look_up(ABOUT_ADA)
    missing.people = {ADA: AnyPeople.person(ADA)}
    after = await remembered.look_up(ABOUT_ADA)

    assert (ADA in before.people, ADA in after.people) == (False, True)


class SomePeople(AnyPeople):
    """People that contain the users of `people`."""

    def __init__(self, age: timedelta | None) -> None:
        super().__init__(age)
        self.people: Mapping[UserId, Person] = {}

    async def look_up(self, question: PeopleQuestion) -> PeopleAnswer:
        return PeopleAnswer({user: self.people[user] for user in question.users if user in self.people})


@pytest.mark.heavy
async def test_large_groups_are_not_cached() -> None:
    everybody, before = AnyPeople(), AnyPeople.number()
    remembered = RememberedPeople(everybody)
    remembered.heard()

    for place in range(100):
        await remembered.look_up(AnyPeople.question(place, MOST_ASKED + 1))
    await remembered.look_up(AnyPeople.question(0, MOST_ASKED + 1))

    assert everybody.asked == 101
    assert AnyPeople.number() == before


@pytest.mark.heavy
async def test_the_cache_evicts_the_oldest_entries() -> None:
    everybody, before = AnyPeople(), AnyPeople.number()
    remembered = RememberedPeople(everybody)
    remembered.heard()
    number = MOST_REMEMBERED // MOST_ASKED + 10

    for place in range(number):
        await remembered.look_up(AnyPeople.question(place, MOST_ASKED))
    await remembered.look_up(AnyPeople.question(number - 1, MOST_ASKED))
    await remembered.look_up(AnyPeople.question(10, MOST_ASKED))

    assert everybody.asked == number
    assert AnyPeople.number() - before == MOST_REMEMBERED

    await remembered.look_up(AnyPeople.question(0, MOST_ASKED))

    assert everybody.asked == number + 1


@pytest.mark.heavy
async def test_expired_entries_are_removed_without_lookups() -> None:
    seconds, before = 0.0, AnyPeople.number()
    remembered = RememberedPeople(AnyPeople(), clock=lambda: seconds)
    remembered.heard()
    for place in range(100):
        await remembered.look_up(AnyPeople.question(place, 1))

    seconds = TRUSTED_FOR
    await remembered.look_up(AnyPeople.question(100, 1))

    assert AnyPeople.number() == before + 1
