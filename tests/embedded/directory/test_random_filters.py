# SPDX-License-Identifier: Apache-2.0
"""Ten thousand random filters select the same groups in the database and in Python."""

import random
import re

import pytest

from chamberlain.embedded.directory.database import one_tenant
from chamberlain.embedded.directory.errors import BadQuery
from chamberlain.embedded.directory.graph.filters import GROUPS, Parameters, condition_of, read_filter
from chamberlain.embedded.directory.load import load
from tests.databases import Databases
from tests.embedded.directory.random_filters import ELSEWHERE, GROUPS_OF_HOUSE, IDS, random_filters
from tests.embedded.directory.sample_data import HOUSE

pytestmark = pytest.mark.heavy

FILTERS = 10_000
# The number of conditions per statement.
TOGETHER = 200


async def test_it_works(databases: Databases) -> None:
    await load(databases.worker.pool, {"groups": [*GROUPS_OF_HOUSE, *ELSEWHERE]})
    filters = random_filters(FILTERS)
    named = 0

    for start in range(0, FILTERS, TOGETHER):
        batch = filters[start : start + TOGETHER]
        parameters = Parameters([HOUSE])
        conditions = [condition_of(read_filter(one.text), parameters, GROUPS) for one in batch]
        statement = (
            f"SELECT g.id::text, ARRAY[{', '.join(conditions)}] FROM directory.groups g "  # noqa: S608 - the statement under test.
            "WHERE g.tenant_id = $1 ORDER BY g.id"
        )
        async with one_tenant(databases.application.pool, HOUSE) as connection:
            rows = await connection.fetch(statement, *parameters)

        assert [row[0] for row in rows] == IDS
        for entry, (_, found) in zip(GROUPS_OF_HOUSE, rows, strict=True):
            for one, answer in zip(batch, found, strict=True):
                assert answer is one.holds(entry), f"{one.text} of {entry}"
                named += answer

    # Most filters select some groups, neither all nor none.
    assert FILTERS * 2 < named < FILTERS * 8


def test_all_values_are_parameters() -> None:
    for one in random_filters(2_000):
        first, second = Parameters([HOUSE]), Parameters([HOUSE])

        statement = condition_of(read_filter(one.text), first, GROUPS)

        # The statement is independent of the texts, and consists of a few known words.
        assert statement == condition_of(read_filter(one.other), second, GROUPS), one.text
        assert all(PIECES.fullmatch(word) for word in re.findall(r"[A-Za-z_.]+", statement)), statement
        assert not set(re.sub(r"[A-Za-z0-9_.]", "", statement)) - set(" $()[],=:'"), one.text
        assert len(first) == len(second)


PIECES = re.compile(
    r"SELECT|FROM|WHERE|AND|OR|NOT|IN|ANY|IS|NULL|v|a|(?:v|a)\.tenant_id|v\.(?:group_id|name|member|value)"
    r"|a\.(?:address|holder_id)|g\.(?:id|display_name|sorted_name|mail_nickname|mail|group_types)"
    r"|directory\.(?:extension_values|addresses|lowered)|lower|starts_with|coalesce|true|false|text|uuid"
)

MUTATIONS = [
    "'",
    '"',
    "(",
    ")",
    ",",
    "$",
    " ",
    "eq",
    " and ",
    " or ",
    "not ",
    "%",
    "\\",
    "/",
    ":",
    ";",
    "null",
    "é",
    "0",
]


def mutated(text: str, maker: random.Random) -> str:
    for _ in range(maker.randint(1, 3)):
        at = maker.randrange(len(text) + 1)
        match maker.randrange(4):
            case 0:
                text = text[:at] + text[at + maker.randint(1, 6) :]
            case 1:
                text = text[:at] + maker.choice(MUTATIONS) + text[at:]
            case 2:
                text = text[:at]
            case _:
                other = maker.randrange(len(text) + 1)
                text = text[: min(at, other)] + text[max(at, other) :]
    return text


def refusal_of(text: str) -> str | None:
    """Return the error of a filter; every other exception is a bug."""
    try:
        condition_of(read_filter(text), Parameters([HOUSE]), GROUPS)
    except BadQuery as fault:
        return fault.detail
    return None


def test_it_rejects_mutations_with_the_position() -> None:
    maker = random.Random(7)  # noqa: S311 - no secret; the same nonsense each time.
    refused = 0
    for one in random_filters(FILTERS):
        text = mutated(one.text, maker)
        detail = refusal_of(text)
        if detail is not None:
            refused += 1
            position = re.search(r"position (\d+)", detail)
            assert position is not None, detail
            assert 1 <= int(position[1]) <= len(text) + 1, detail
    assert refused > FILTERS * 0.7


@pytest.mark.parametrize(
    "text",
    [
        "(" * 1000 + "id eq 'x'",
        "not " * 500 + "id eq 'x'",
        "id eq '" + "x" * 2048,
        "id in (" + "null," * 200 + "null)",
        "(" * 2048,
    ],
)
def test_it_rejects_large_filters_with_the_position(text: str) -> None:
    with pytest.raises(BadQuery, match=r"position \d+"):
        read_filter(text)
