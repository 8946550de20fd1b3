# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin of `dev.py test`: the remaining time of a run, on a terminal.

It prints a line after the collection, and one for each twentieth of the tests.
"""

import time
from collections.abc import Sequence

import pytest

# A line for each twentieth. Short runs end before an estimate helps.
_LINES, _FEWEST_TESTS = 20, 40


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let dev.py pass the duration from its table."""
    parser.addoption("--expected-minutes", type=float, default=None, help="duration of all tests on two quiet cores")


def pytest_configure(config: pytest.Config) -> None:
    """Register the estimate, but not in the workers of pytest-xdist."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(RemainingTime(config), "remaining-time")


def remaining_seconds(share: float, elapsed: float, expected: float | None) -> float | None:
    """Estimate the remaining seconds, or None if nothing is known yet.

    `share` of the tests has ended. The expected duration counts less as the share grows, and the measured pace more.
    """
    if share == 0:
        return expected
    by_pace = elapsed / share
    total = by_pace if expected is None else (1 - share) * expected + share * by_pace
    return (1 - share) * total


class RemainingTime:
    """Counts finished tests, and prints the estimate."""

    def __init__(self, config: pytest.Config) -> None:
        minutes = config.getoption("--expected-minutes")
        self._expected = None if minutes is None else float(minutes) * 60
        self._config = config
        self._begin = 0.0
        self._finished = self._collected = 0

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Start the estimate of a run in one process."""
        self._start(len(session.items))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Start the estimate of a run in several processes, each of which collects all tests."""
        if not self._collected:
            self._start(len(ids))

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self) -> None:
        """Print the estimate if the next twentieth is complete."""
        self._finished += 1
        if self._collected >= _FEWEST_TESTS and self._finished % (self._collected // _LINES) == 0:
            self._print()

    def _start(self, count: int) -> None:
        self._collected, self._begin = count, time.monotonic()
        if count >= _FEWEST_TESTS:
            self._print()

    def _print(self) -> None:
        share = min(self._finished / self._collected, 1.0)
        left = remaining_seconds(share, time.monotonic() - self._begin, self._expected)
        if left is None or share == 1:
            return
        reporter = self._config.pluginmanager.getplugin("terminalreporter")
        if reporter is not None:
            # The reporter is in the middle of a line of dots.
            reporter.write(f"\n{share:.0%} of {self._collected} tests, about {_in_words(left)} left\n", flush=True)


def _in_words(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
