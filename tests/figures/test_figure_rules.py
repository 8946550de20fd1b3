# SPDX-License-Identifier: Apache-2.0
"""Histograms of times have the percentiles of the times, within the stated error."""

from collections import Counter
from datetime import date, timedelta
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chamberlain.core.errors import Malformed
from chamberlain.figures.models import Days
from chamberlain.figures.rules import MOST_DAYS, bucket_of, days_of, percentiles_of

pytestmark = pytest.mark.pure
TODAY = date(2026, 11, 20)
# The stated error, and the rounding to a millisecond.
ERROR, ROUNDING = 0.025, 0.5


@given(st.lists(st.integers(1, 400 * 24 * 3600 * 1000), min_size=1, max_size=50))
def test_percentiles_are_within_the_stated_error(times: list[int]) -> None:
    found = percentiles_of(Counter(map(bucket_of, times)))

    for share, shown in ((0.5, found.p50_ms), (0.95, found.p95_ms)):
        exact = sorted(times)[ceil(len(times) * share) - 1]
        assert abs(shown - exact) <= exact * ERROR + ROUNDING


@pytest.mark.parametrize(
    ("first", "last", "days"),
    [
        (None, None, Days(TODAY - timedelta(days=29), TODAY)),
        (TODAY, None, Days(TODAY, TODAY)),
        (None, date(2026, 1, 31), Days(date(2026, 1, 2), date(2026, 1, 31))),
        (None, date.min, Days(date.min, date.min)),
        (TODAY - timedelta(days=MOST_DAYS - 1), TODAY, Days(TODAY - timedelta(days=MOST_DAYS - 1), TODAY)),
    ],
)
def test_it_reports_these_days(first: date | None, last: date | None, days: Days) -> None:
    assert days_of(first, last, TODAY) == days


@pytest.mark.parametrize("first", [TODAY + timedelta(days=1), TODAY - timedelta(days=MOST_DAYS)])
def test_it_refuses_no_period_and_a_long_one(first: date) -> None:
    with pytest.raises(Malformed) as refused:
        days_of(first, TODAY, TODAY)

    assert refused.value.code == "invalidParameter"
