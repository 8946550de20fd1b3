# SPDX-License-Identifier: Apache-2.0
"""The time between two attempts belongs to the fault that made the work wait."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from chamberlain.core.errors import Cause, ConnectionBroken, TryAgain
from chamberlain.core.waits import Waited, leave_out, wait_longer

pytestmark = pytest.mark.pure

FIRST = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
NOT_YET, BUSY, AWAY = (TryAgain(MINUTE, "Wait.", cause) for cause in Cause)
BROKEN = ConnectionBroken(MINUTE, "The credential has lapsed.")


def waited(*faults: TryAgain, every: timedelta = MINUTE) -> Waited:
    """Return the time of a wait with these faults, one after each span."""
    result = None
    for number, fault in enumerate(faults):
        result = wait_longer(result, fault, since=FIRST, now=FIRST + number * every)
    assert result is not None
    return result


@pytest.mark.parametrize(
    ("faults", "not_yet", "unavailable"),
    [
        pytest.param([NOT_YET] * 5, 4, 0, id="one cause"),
        pytest.param([BUSY, AWAY, BUSY, AWAY], 0, 3, id="busy and away count together"),
        pytest.param([NOT_YET, BUSY, NOT_YET, BUSY, NOT_YET], 2, 2, id="alternating"),
        pytest.param([BUSY, BUSY, NOT_YET], 0, 2, id="the last fault has made no wait so far"),
        pytest.param([NOT_YET, BROKEN, BROKEN, NOT_YET, NOT_YET], 2, 0, id="a broken connection counts for nothing"),
        pytest.param([BROKEN, BUSY, BUSY], 0, 1, id="a connection that is broken at first"),
    ],
)
def test_time_is_counted_by_cause(faults: list[TryAgain], not_yet: int, unavailable: int) -> None:
    result = waited(*faults)

    assert (result.not_yet, result.unavailable) == (not_yet * MINUTE, unavailable * MINUTE)


def test_the_first_attempt_belongs_to_its_own_fault() -> None:
    result = wait_longer(None, BUSY, since=FIRST, now=FIRST + 3 * MINUTE)

    assert (result.not_yet, result.unavailable) == (timedelta(0), 3 * MINUTE)


def test_a_clock_that_goes_back_counts_nothing() -> None:
    assert waited(NOT_YET, NOT_YET, every=-MINUTE).not_yet == timedelta(0)


def test_it_survives_as_json() -> None:
    result = waited(NOT_YET, BUSY, AWAY, BROKEN)

    assert msgspec.json.decode(msgspec.json.encode(result), type=Waited) == result


@pytest.mark.parametrize(
    ("began", "ended", "since", "counted"),
    [(2, 5, 5, 2), (-3, 5, 5, 0), (-3, -1, 0, 0), (-3, 0, 0, 0)],
    ids=["after an attempt", "before and after an attempt", "before an attempt", "until an attempt"],
)
def test_a_time_in_which_work_was_parked_is_left_out(began: int, ended: int, since: int, counted: int) -> None:
    before = Waited(FIRST, Cause.NOT_YET)

    after = leave_out(before, FIRST + began * MINUTE, FIRST + ended * MINUTE)

    assert (after.since, after.not_yet) == (FIRST + since * MINUTE, counted * MINUTE)
