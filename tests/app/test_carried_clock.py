# SPDX-License-Identifier: Apache-2.0
"""The database's clock between two readings of it."""

from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from chamberlain.app.clock_and_ids import PATIENCE, CarriedClock, ClockWatch
from chamberlain.app.processes import running
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import JobKind
from tests.databases import Databases
from tests.estates import TRACE, until

pytestmark = pytest.mark.heavy

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)
LONG_WAIT = f"SELECT FROM pg_locks WHERE waitstart < clock_timestamp() - interval '{PATIENCE.total_seconds()} s'"
MOVED = "SELECT FROM chamberlain.clock WHERE seen_at < now() + interval '1 day'"


def test_it_shows_the_last_reading_and_what_has_passed_since() -> None:
    local, monotonic = [NOON], [100.0]
    clock = CarriedClock(lambda: local[0], lambda: monotonic[0])
    first = clock()

    clock.set(NOON - timedelta(days=8))
    monotonic[0] += 2
    local[0] += timedelta(days=500)

    assert first == NOON
    assert clock() == NOON - timedelta(days=8) + timedelta(seconds=2)
    assert clock.difference == timedelta(days=508) - timedelta(seconds=2)


async def test_a_worker_may_claim_while_the_clocks_agree_and_reports_when_they_do_not(databases: Databases) -> None:
    ahead = [timedelta()]
    watch = ClockWatch(databases.worker, is_worker=True, clock=CarriedClock(lambda: datetime.now(UTC) + ahead[0]))
    reports = "SELECT is_worker FROM chamberlain.clock_report"

    await watch.read()
    right = watch.agrees()
    ahead[0] = timedelta(seconds=31)
    # Before any further reading.
    jumped = watch.agrees()
    await watch.read()
    async with databases.worker.across_tenants() as tx:
        reported = [row["is_worker"] for row in await tx.fetch(reports)]
    ahead[0] = timedelta(seconds=-20)
    await watch.read()
    async with databases.worker.across_tenants() as tx:
        withdrawn = await tx.fetch(reports)

    assert (right, jumped, watch.agrees()) == (True, False, True)
    assert (reported, withdrawn) == ([True], [])


async def test_after_a_step_back_jobs_are_moved_however_long_it_takes(databases: Databases) -> None:
    watch = ClockWatch(databases.worker, is_worker=True, clock=CarriedClock())
    await watch.read()
    async with databases.worker.across_tenants() as tx:
        await queue_jobs.queue_the_one(tx, JobKind.RETENTION_SWEEP, TRACE)
        await tx.execute("UPDATE chamberlain.job SET run_at = now() + interval '500 days'")
        await tx.execute("UPDATE chamberlain.clock SET seen_at = now() + interval '500 days'")

    # A lock takes the place of a million jobs' time.
    async with running(watch.run()):
        async with databases.worker.across_tenants() as tx:
            await tx.execute("SELECT FROM chamberlain.job FOR UPDATE")
            await until(partial(found, databases, LONG_WAIT), seconds=4 * PATIENCE.total_seconds())
        await until(partial(found, databases, MOVED))

    assert await found(databases, "SELECT FROM chamberlain.job WHERE run_at < now() + interval '1 day'")


async def found(databases: Databases, query: str) -> bool:
    async with databases.worker.across_tenants() as tx:
        return bool(await tx.fetch(query))
