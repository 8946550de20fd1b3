"""People are remembered as long as somebody tells of every change, and no longer."""

import asyncio
import gc
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

import pytest

from chamberlain.core.ids import GroupId, UserId
from chamberlain.database.listener import listen
from chamberlain.directory.cache import MOST_ASKED, MOST_REMEMBERED, TRUSTED_FOR, RememberedPeople
from chamberlain.directory.embedded import EmbeddedPeople
from chamberlain.directory.models import PeopleAnswer, PeopleQuestion, Person
from chamberlain.directory.port import People
from chamberlain.embedded import postgres
from chamberlain.embedded.directory.people import PEOPLE_CHANNEL, Register
from tests.databases import Databases
from tests.estates import ADA, BEN, ESTATE, INTERNAL, NOBODY, example_database, until

ABOUT_ADA = PeopleQuestion(ESTATE, users=frozenset({ADA}))


@dataclass
class CountedPeople(People):
    """People who count what they are asked; `meanwhile` happens while they answer."""

    people: People
    asked: int = 0
    meanwhile: Callable[[], None] | None = None

    async def look_up(self, question: PeopleQuestion) -> PeopleAnswer:
        self.asked += 1
        answer = await self.people.look_up(question)
        if self.meanwhile is not None:
            self.meanwhile()
        return answer


@dataclass
class Stage:
    """A memory of people, and what stands behind it. `told` is how often it was told of something."""

    databases: Databases
    counted: CountedPeople
    remembered: RememberedPeople
    seconds: float = 0.0
    told: int = 0

    async def name_of_ada(self) -> str:
        answer = await self.remembered.look_up(ABOUT_ADA)
        return answer.people[ADA].display_name


@pytest.fixture
async def stage(postgres_server: postgres.Server) -> AsyncIterator[Stage]:
    async with example_database(postgres_server) as databases:
        counted = CountedPeople(EmbeddedPeople(Register(databases.application.pool)))
        made = Stage(databases, counted, RememberedPeople(counted, clock=lambda: made.seconds))
        yield made


@asynccontextmanager
async def hearing(stage: Stage) -> AsyncIterator[asyncio.Task[None]]:
    """With everything that is told, as in the service, once that is heard."""
    heard = asyncio.Event()

    def hear(payload: str) -> None:
        stage.told += 1
        stage.remembered.heard(payload)
        heard.set()

    address = stage.databases.addresses.application
    task = asyncio.create_task(listen(address, PEOPLE_CHANNEL, hear, lost=stage.remembered.lost))
    await heard.wait()
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait({task})


async def change(stage: Stage, statement: str) -> None:
    async with stage.databases.worker.across_tenants() as tx:
        await tx.execute(statement)


async def test_it_works(stage: Stage) -> None:
    async with hearing(stage):
        names = [await stage.name_of_ada() for _ in range(3)]

    assert names == ["Ada Achterberg"] * 3
    assert stage.counted.asked == 1


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
async def test_what_is_not_there_and_all_but_users_and_labels_is_asked_for_each_time(
    stage: Stage, question: PeopleQuestion
) -> None:
    async with hearing(stage):
        answers = [await stage.remembered.look_up(question) for _ in range(2)]

    assert answers[0] == answers[1]
    assert stage.counted.asked == 2


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
async def test_a_change_counts_as_soon_as_it_is_heard_of(stage: Stage, statement: str) -> None:
    async with hearing(stage):
        await stage.name_of_ada()
        await change(stage, statement)

        async def is_asked_anew() -> bool:
            await stage.name_of_ada()
            return stage.counted.asked == 2

        await until(is_asked_anew)
        remembered = await stage.remembered.look_up(ABOUT_ADA)

    assert remembered == await stage.counted.look_up(ABOUT_ADA)


async def test_what_says_nothing_of_anybody_is_no_change(stage: Stage) -> None:
    async with hearing(stage):
        await stage.name_of_ada()
        await change(stage, "UPDATE directory.users SET last_seen_at = now()")
        await change(stage, "UPDATE directory.users SET display_name = display_name")
        # Notifications keep their order: what was to be heard of those is heard before this one.
        heard = stage.told
        await change(stage, "SELECT pg_notify('directory_people', '')")

        async def is_told() -> bool:
            return stage.told > heard

        await until(is_told)

    assert stage.told == heard + 1


async def test_nothing_is_remembered_while_nobody_tells(stage: Stage) -> None:
    await stage.name_of_ada()
    await stage.name_of_ada()
    assert stage.counted.asked == 2

    async with hearing(stage):
        await stage.name_of_ada()
        await stage.name_of_ada()
    assert stage.counted.asked == 3

    await stage.name_of_ada()
    await stage.name_of_ada()
    assert stage.counted.asked == 5


async def test_an_answer_that_is_older_than_a_change_is_not_remembered(stage: Stage) -> None:
    stage.remembered.heard()
    stage.counted.meanwhile = stage.remembered.heard
    await stage.name_of_ada()
    stage.counted.meanwhile = None

    await stage.name_of_ada()

    assert stage.counted.asked == 2


async def test_nobody_is_believed_in_for_ever(stage: Stage) -> None:
    stage.remembered.heard()
    await stage.name_of_ada()
    stage.seconds = TRUSTED_FOR

    await stage.name_of_ada()

    assert stage.counted.asked == 2


class Everybody(People):
    """People among whom there is everybody who is asked for."""

    asked = 0

    async def look_up(self, question: PeopleQuestion) -> PeopleAnswer:
        self.asked += 1
        return PeopleAnswer({user: self.person(user) for user in question.users})

    @staticmethod
    def person(user: UserId) -> Person:
        return Person(user, "Somebody", None, has_team_license=True, properties={})

    @staticmethod
    def question(place: int, size: int) -> PeopleQuestion:
        users = (UserId(UUID(int=place * size + number)) for number in range(size))
        return PeopleQuestion(ESTATE, users=frozenset(users))

    @staticmethod
    def number() -> int:
        """How many people are in memory."""
        gc.collect()
        return sum(isinstance(each, Person) for each in gc.get_objects())


async def test_the_members_of_large_groups_are_not_remembered() -> None:
    everybody, before = Everybody(), Everybody.number()
    remembered = RememberedPeople(everybody)
    remembered.heard()

    for place in range(100):
        await remembered.look_up(Everybody.question(place, MOST_ASKED + 1))
    await remembered.look_up(Everybody.question(0, MOST_ASKED + 1))

    assert everybody.asked == 101
    assert Everybody.number() == before


async def test_no_more_than_so_many_are_remembered_and_the_oldest_go_first() -> None:
    everybody, before = Everybody(), Everybody.number()
    remembered = RememberedPeople(everybody)
    remembered.heard()
    number = MOST_REMEMBERED // MOST_ASKED + 10

    for place in range(number):
        await remembered.look_up(Everybody.question(place, MOST_ASKED))
    await remembered.look_up(Everybody.question(number - 1, MOST_ASKED))
    await remembered.look_up(Everybody.question(10, MOST_ASKED))

    assert everybody.asked == number
    assert Everybody.number() - before == MOST_REMEMBERED

    await remembered.look_up(Everybody.question(0, MOST_ASKED))

    assert everybody.asked == number + 1


async def test_who_had_their_time_is_forgotten_though_nobody_asks_again() -> None:
    seconds, before = 0.0, Everybody.number()
    remembered = RememberedPeople(Everybody(), clock=lambda: seconds)
    remembered.heard()
    for place in range(100):
        await remembered.look_up(Everybody.question(place, 1))

    seconds = TRUSTED_FOR
    await remembered.look_up(Everybody.question(100, 1))

    assert Everybody.number() == before + 1
