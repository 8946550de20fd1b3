# SPDX-License-Identifier: Apache-2.0
"""Injected faults, by time and by number of calls."""

from datetime import UTC, datetime, timedelta

import pytest

from chamberlain.embedded.directory.errors import Throttled, Unreachable
from chamberlain.embedded.directory.faults import SLOW_DOWN, Faults, Injection, Outages

SECOND = timedelta(seconds=1)
# The start of an outage as configured below.
START = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
OUTAGES = Outages(lasting=5 * SECOND, every=30 * SECOND)


def test_it_works_without_any_fault() -> None:
    injection = Injection(Faults(), lambda: START)

    for _ in range(100):
        injection.take_call()

    assert injection.visible_until() == injection.known_until() == START


@pytest.mark.parametrize(
    ("after", "left"), [(0, 5), (1.5, 3.5), (4.999, 0.001), (5, 0), (29.999, 0), (30, 5), (31, 4), (-0.5, 0), (-26, 1)]
)
def test_it_has_an_outage_at_the_same_times_everywhere(after: float, left: float) -> None:
    assert OUTAGES.left(START + after * SECOND) == left * SECOND


def test_it_returns_the_remaining_time_of_an_outage() -> None:
    injection = Injection(Faults(outages=OUTAGES), lambda: START + 2 * SECOND)

    with pytest.raises(Unreachable) as looked:
        injection.answer()
    with pytest.raises(Unreachable) as wrote:
        injection.take_call()

    assert (looked.value.after, wrote.value.after) == (3 * SECOND, 3 * SECOND)


def test_it_throttles_one_call_in_so_many() -> None:
    injection = Injection(Faults(throttle=3), lambda: START)
    refused = []

    for number in range(1, 10):
        try:
            injection.take_call()
        except Throttled as fault:
            refused.append((number, fault.after))

    assert refused == [(3, SLOW_DOWN), (6, SLOW_DOWN), (9, SLOW_DOWN)]


def test_it_counts_neither_reads_nor_calls_during_an_outage() -> None:
    moment = START
    injection = Injection(Faults(throttle=2, outages=OUTAGES), lambda: moment)
    for _ in range(5):
        with pytest.raises(Unreachable):
            injection.take_call()
    moment += 10 * SECOND

    for _ in range(5):
        injection.answer()
    injection.take_call()

    with pytest.raises(Throttled):
        injection.take_call()


@pytest.mark.parametrize(("delay", "not_found", "known"), [(15, 0, 15), (15, 10, 15), (15, 20, 20), (0, 20, 20)])
def test_it_returns_the_times_of_visibility(delay: int, not_found: int, known: int) -> None:
    faults = Faults(visibility_delay=delay * SECOND, not_found_after_create=not_found * SECOND)
    injection = Injection(faults, lambda: START)

    assert injection.visible_until() == START - delay * SECOND
    assert injection.known_until() == START - known * SECOND
