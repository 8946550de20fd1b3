# SPDX-License-Identifier: Apache-2.0
"""The log of an outage: its begin, its cause, and its end."""

import pytest

from chamberlain.core.outages import Outage
from chamberlain.database.connection import OutageRecord, log_outage

AGAIN = "The database can be used again."


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_it_works(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    record = OutageRecord("pool", report=log_outage, clock=clock)

    for _ in range(3):
        record.failed(Outage.REFUSED)
    clock.now += 10
    record.worked()

    first, last = caplog.records
    assert (first.__dict__["reasonCode"], first.__dict__["pool"]) == ("connectionRefused", "pool")
    assert (last.getMessage(), last.__dict__["failures"]) == (AGAIN, 3)
    assert record.current is None


def test_an_outage_that_lasts_is_logged_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    record = OutageRecord("pool", report=log_outage, clock=clock)

    for clock.now in (100.0, 130.0, 159.0, 160.0, 200.0):
        record.failed(Outage.DISK_FULL)

    assert [each.__dict__["failures"] for each in caplog.records] == [1, 4]


def test_calls_that_fail_and_succeed_in_turn_do_not_flood_the_log(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    record = OutageRecord("pool", report=log_outage, clock=clock)

    for _ in range(50):
        clock.now += 0.1
        record.failed(Outage.POOL)
        record.failed(Outage.NO_ANSWER)
        record.worked()

    assert [each.__dict__["reasonCode"] for each in caplog.records] == ["poolExhausted", "noAnswer"]


def test_another_cause_is_logged_at_once(caplog: pytest.LogCaptureFixture) -> None:
    record = OutageRecord("pool", report=log_outage, clock=Clock())

    record.failed(Outage.LOST)
    record.failed(Outage.STARTING)

    assert [each.__dict__["reasonCode"] for each in caplog.records] == ["connectionLost", "databaseStarting"]


def test_reads_that_work_do_not_end_an_outage_of_writes(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    record = OutageRecord("pool", report=log_outage, clock=clock)
    record.failed(Outage.DISK_FULL)

    seen = []
    for clock.now in (109.0, 110.0):
        record.worked()
        seen.append(record.current)

    assert seen == [Outage.DISK_FULL, None]
    assert [each.getMessage() == AGAIN for each in caplog.records] == [False, True]


def test_a_better_cause_is_noted_and_answered() -> None:
    record = OutageRecord("pool", refine=lambda _: Outage.DISK_FULL)

    assert record.failed(Outage.REFUSED) is Outage.DISK_FULL
    assert record.current is Outage.DISK_FULL
