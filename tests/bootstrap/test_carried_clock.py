"""The database's clock between two readings of it."""

from datetime import UTC, datetime, timedelta

from chamberlain.bootstrap.clocks import ClockWatch
from chamberlain.bootstrap.origins import CarriedClock
from tests.databases import Databases

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)


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
