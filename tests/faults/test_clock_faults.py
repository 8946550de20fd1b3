# SPDX-License-Identifier: Apache-2.0
"""A wrong clock in one process loses nothing, makes nothing twice, and is reported by that process."""

import pytest

from bench.clock_faults.rounds import DAY, HOUR, Target, run_round

pytestmark = [pytest.mark.heavy, pytest.mark.needs("faketime")]

ROUNDS = {
    "a worker 500 days ahead removed everything": (Target.WORKER, 500 * DAY),
    "a worker 8 days ahead removed all keys, and repeated calls made second groups": (Target.WORKER, 8 * DAY),
    "an API process 500 days behind": (Target.API, -500 * DAY),
    "a command an hour ahead": (Target.COMMAND, HOUR),
    "PostgreSQL 500 days ahead": (Target.POSTGRESQL, 500 * DAY),
    "PostgreSQL 8 days behind": (Target.POSTGRESQL, -8 * DAY),
}


@pytest.mark.parametrize(("target", "seconds"), ROUNDS.values(), ids=ROUNDS.keys())
def test_a_wrong_clock_loses_and_duplicates_nothing(target: Target, seconds: int) -> None:
    result = run_round(target, seconds)

    assert result.is_clean, result
    # Each key of before and during was sent again: the round has seen repetitions.
    assert result.repeated > 0
