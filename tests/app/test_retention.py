# SPDX-License-Identifier: Apache-2.0
"""For how long rows are kept."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from chamberlain.app.retention import Cutoffs, Retention, cutoffs, next_sweep

pytestmark = pytest.mark.pure

DAY = timedelta(days=1)
NOW = datetime(2026, 11, 20, 9, 30, 1, 5, tzinfo=UTC)
RETENTION = Retention(failed_requests=10 * DAY, finished_requests=300 * DAY, events=20 * DAY)


def test_it_works() -> None:
    assert cutoffs(RETENTION, NOW) == Cutoffs(
        now=NOW,
        keys=NOW - 7 * DAY,
        failed_requests=NOW - 10 * DAY,
        finished_requests=NOW - 300 * DAY,
        events=NOW - 20 * DAY,
        # A Monday.
        deliveries=datetime(2026, 10, 19, tzinfo=UTC),
        findings=NOW - 400 * DAY,
        repairs=NOW - 30 * DAY,
        adoptions=NOW - 400 * DAY,
        figures=NOW - 400 * DAY,
        permission_uses=NOW - 32 * DAY,
        releases=NOW - 400 * DAY,
    )


def test_findings_stay_as_long_as_requests_do() -> None:
    found = cutoffs(Retention(10 * DAY, 401 * DAY, 20 * DAY), NOW)

    assert (found.findings, found.adoptions) == (NOW - 401 * DAY, NOW - 400 * DAY)


@pytest.mark.parametrize(
    ("now", "week"),
    [
        (datetime(2026, 11, 18, 0, 0, 0, 0, tzinfo=UTC), 19),
        (datetime(2026, 11, 17, 23, 59, 59, 999_999, tzinfo=UTC), 12),
        (datetime(2026, 11, 18, 1, tzinfo=timezone(timedelta(hours=2))), 12),
        (datetime(2026, 11, 17, 23, tzinfo=timezone(-timedelta(hours=2))), 19),
    ],
)
def test_deliveries_go_by_weeks_that_begin_on_monday_at_midnight_in_utc(now: datetime, week: int) -> None:
    assert cutoffs(RETENTION, now).deliveries == datetime(2026, 10, week, tzinfo=UTC)


@pytest.mark.parametrize(("swept", "seconds"), [(0, 3600), (999, 3600), (1_000, 1)])
def test_a_sweep_that_has_left_something_comes_again_soon(swept: int, seconds: int) -> None:
    assert next_sweep(swept=swept) == timedelta(seconds=seconds)
