# SPDX-License-Identifier: Apache-2.0
"""The judgement of a reading of the database's clock."""

from datetime import UTC, datetime, timedelta

import pytest

from chamberlain.database.clock import ClockReading, ClockRecord, confirmed

pytestmark = pytest.mark.pure

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)


def reading(*, ahead: timedelta, seen: timedelta = timedelta(), has_open_fault: bool = False) -> ClockReading:
    """A reading so far ahead of the trusted one; the last reading was `seen` ahead of that."""
    return ClockReading(NOON + ahead, ClockRecord(NOON + seen, NOON, has_open_fault))


@pytest.mark.parametrize(
    ("ahead", "is_doubted", "is_behind"),
    [
        (timedelta(seconds=2), False, False),
        (timedelta(days=2), False, False),
        (timedelta(days=2, seconds=1), True, False),
        (timedelta(seconds=-30), False, False),
        (timedelta(seconds=-31), False, True),
        (timedelta(days=-500), False, True),
    ],
)
def test_a_clock_is_doubted_two_days_ahead_and_behind_from_thirty_seconds(
    ahead: timedelta, *, is_doubted: bool, is_behind: bool
) -> None:
    judged = reading(ahead=ahead)

    assert (judged.is_doubted, judged.is_behind) == (is_doubted, is_behind)


def test_a_trusted_reading_moves_the_trust_and_a_doubted_one_does_not() -> None:
    assert reading(ahead=timedelta(days=1)).stored() == ClockRecord(NOON + timedelta(days=1), NOON + timedelta(days=1))
    assert reading(ahead=timedelta(days=8)).stored() == ClockRecord(NOON + timedelta(days=8), NOON)
    assert reading(ahead=-timedelta(days=8)).stored() == ClockRecord(
        NOON - timedelta(days=8), NOON, has_open_fault=True
    )


def test_activity_during_a_jump_does_not_make_the_clock_trusted() -> None:
    first = reading(ahead=timedelta(days=500)).stored()

    later = ClockReading(first.seen_at + timedelta(hours=1), first)

    assert later.is_doubted


def test_a_doubted_clock_ends_nothing_early() -> None:
    assert reading(ahead=timedelta(days=3)).decides_at == NOON
    assert reading(ahead=timedelta(hours=3)).decides_at == NOON + timedelta(hours=3)


def test_a_reading_is_stored_each_minute_and_at_each_jump() -> None:
    assert not reading(ahead=timedelta(seconds=59)).is_news
    assert reading(ahead=timedelta(seconds=60)).is_news
    assert reading(ahead=timedelta(seconds=-31)).is_news
    assert reading(ahead=timedelta(), has_open_fault=True).is_news


def test_the_step_back_is_from_the_last_reading() -> None:
    assert reading(ahead=timedelta(), seen=timedelta(days=8)).step_back == timedelta(days=8)
    assert reading(ahead=timedelta(), seen=timedelta(seconds=30)).step_back == timedelta()
    assert reading(ahead=timedelta(days=8)).step_back == timedelta()


@pytest.mark.parametrize("ahead", [timedelta(days=21), timedelta(days=-21)])
def test_a_confirmed_clock_is_trusted(ahead: timedelta) -> None:
    record = confirmed(reading(ahead=ahead))

    assert record == ClockRecord(NOON + ahead, NOON + ahead)
    assert not ClockReading(NOON + ahead + timedelta(seconds=2), record).is_doubted
