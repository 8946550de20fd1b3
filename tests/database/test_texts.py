"""A column of texts arrives as it was sent, though it goes as one text."""

import pytest

from chamberlain.database.arrays import BETWEEN, NOTHING, NotJoinable, apart, joined
from tests.databases import Databases
from tests.postgres import connected


@pytest.mark.parametrize(
    "column",
    [
        ["one"],
        ["one", "two"],
        [None, "one"],
        ["one", None, None, "two", None],
        ['{"a": "\\u001f"}', "NULL", "{}", "ä\u2028"],
    ],
)
async def test_it_works(databases: Databases, column: list[str | None]) -> None:
    async with connected(databases.addresses.application) as connection:
        assert await connection.fetchval(f"SELECT {apart('$1::text')}", joined(column)) == column


@pytest.mark.parametrize("column", [[], [None], [None, None]])
async def test_a_column_in_which_nothing_stands_is_read_as_nothing(
    databases: Databases, column: list[str | None]
) -> None:
    async with connected(databases.addresses.application) as connection:
        assert await connection.fetchval(f"SELECT {apart('$1::text')}", joined(column)) == []


@pytest.mark.parametrize("between", [BETWEEN, NOTHING])
@pytest.mark.parametrize("column", [["{}"], ["one", "t{}wo"], [None, "one{}", None]])
def test_it_rejects_what_would_arrive_as_something_else(column: list[str | None], between: str) -> None:
    with pytest.raises(NotJoinable):
        joined([None if text is None else text.format(between) for text in column])
