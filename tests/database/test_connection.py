"""Connections ask their server for nothing that the process knows already."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from uuid import UUID

import asyncpg
import pytest
from asyncpg.connection import LoggedQuery

from chamberlain.database.connection import LeanConnection
from tests.databases import Databases
from tests.postgres import Connection

FIRST, SECOND = UUID(int=1), UUID(int=2)
IDS = "SELECT $1::uuid[] AS ids, $2::integer[] AS numbers"


@asynccontextmanager
async def lean(databases: Databases, *, statements: int = 100) -> AsyncIterator[Connection]:
    """A connection of ours that keeps so many statements."""
    connection = await asyncpg.connect(
        databases.addresses.owner, connection_class=LeanConnection, statement_cache_size=statements
    )
    try:
        yield connection
    finally:
        await connection.close()


@contextmanager
def statements_of(connection: Connection) -> Iterator[list[str]]:
    """What it sends to its server."""
    sent: list[str] = []

    def note(query: LoggedQuery) -> None:
        sent.append(query.query)

    with connection.query_logger(note):
        yield sent


# Behind a pooler nothing is kept.
@pytest.mark.parametrize("statements", [100, 0])
async def test_it_works_without_a_word_about_types_that_come_with_postgresql(
    databases: Databases, statements: int
) -> None:
    async with lean(databases) as earlier:
        await earlier.fetchrow(IDS, [FIRST], [1])

    async with lean(databases, statements=statements) as connection:
        with statements_of(connection) as sent:
            answers = [await connection.fetchrow(IDS, [FIRST, SECOND], [1, 2]) for _ in range(2)]

    assert [tuple(answer or ()) for answer in answers] == [([FIRST, SECOND], [1, 2])] * 2
    assert sent == [IDS, IDS]


@pytest.mark.parametrize("statements", [100, 0])
async def test_it_handles_types_of_which_a_part_is_known(databases: Databases, statements: int) -> None:
    async with lean(databases) as earlier:
        await earlier.fetchval("SELECT $1::uuid[]", [FIRST])

    async with lean(databases, statements=statements) as connection:
        answers = [
            await connection.fetchrow("SELECT $1::uuid[] AS ids, $2::money[] AS sums", [FIRST], ["$1.00"])
            for _ in range(2)
        ]

    assert [tuple(answer or ()) for answer in answers] == [([FIRST], ["$1.00"])] * 2


async def test_it_asks_anew_for_what_may_be_otherwise_in_another_database(databases: Databases) -> None:
    colours = "SELECT ARRAY['red', 'blue']::colour[] AS colours, (1, 'red')::dot AS dot"
    async with lean(databases) as first:
        await first.execute(
            "CREATE TYPE colour AS ENUM ('red', 'blue'); CREATE TYPE dot AS (size integer, colour colour)"
        )

    for _ in range(2):
        async with lean(databases) as connection:
            with statements_of(connection) as sent:
                answer = await connection.fetchrow(colours)

        assert tuple(answer or ()) == (["red", "blue"], (1, "red"))
        assert len(sent) > 1


async def test_it_handles_what_is_built_in_and_made_of_more(databases: Databases) -> None:
    for _ in range(2):
        async with lean(databases) as connection:
            found = await connection.fetchrow("SELECT array_agg(c) AS rows, '{a}'::name[] AS names FROM pg_cast c")
            assert found is not None
            assert found["rows"][0]["castsource"] > 0
            assert found["names"] == ["a"]
