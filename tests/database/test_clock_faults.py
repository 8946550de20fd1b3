# SPDX-License-Identifier: Apache-2.0
"""A time that was written while the database's clock was behind does not count as old yet (sql/clocks.sql)."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.databases import Databases
from tests.estates import rows

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
END = datetime(2026, 3, 10, tzinfo=UTC)
RESUMED = datetime(2026, 6, 1, tzinfo=UTC)
INSIDE = datetime(2026, 3, 5, tzinfo=UTC)
INSTANT = timedelta(microseconds=1)
FAULT = "INSERT INTO chamberlain.clock_fault (from_at, until_at, resumed_at) VALUES ($1, $2, $3) RETURNING 1"
LOOK = "SELECT chamberlain.is_of_clock_fault($1, $2)"


@pytest.mark.parametrize(
    ("moment", "cutoff", "expected"),
    [
        pytest.param(INSIDE, RESUMED - INSTANT, True, id="inside"),
        pytest.param(BEGIN, RESUMED, True, id="first moment"),
        pytest.param(END, RESUMED, True, id="last moment"),
        pytest.param(BEGIN - INSTANT, RESUMED, False, id="before"),
        pytest.param(END + INSTANT, RESUMED, False, id="after"),
        pytest.param(INSIDE, RESUMED + INSTANT, False, id="old since the clock is right"),
    ],
)
async def test_a_time_belongs_to_a_fault(
    databases: Databases, moment: datetime, cutoff: datetime, *, expected: bool
) -> None:
    await rows(databases, FAULT, BEGIN, END, RESUMED)

    assert await rows(databases, LOOK, moment, cutoff) == [(expected,)]


async def test_a_fault_that_lasts_has_no_end(databases: Databases) -> None:
    await rows(databases, FAULT, BEGIN, None, None)

    assert await rows(databases, LOOK, INSIDE, RESUMED + timedelta(days=900)) == [(True,)]
    assert await rows(databases, LOOK, RESUMED, RESUMED) == [(True,)]
    assert await rows(databases, LOOK, BEGIN - INSTANT, RESUMED) == [(False,)]


async def test_without_a_fault_no_time_belongs_to_one(databases: Databases) -> None:
    assert await rows(databases, LOOK, INSIDE, RESUMED) == [(False,)]
