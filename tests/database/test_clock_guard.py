# SPDX-License-Identifier: Apache-2.0
"""Retention while the database's clock is doubted, and after it was wrong."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from chamberlain.app.retention import Retention, RetentionJobs
from chamberlain.database import clock
from chamberlain.database.clock import ClockReading
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import NOBODY, Claim, JobKind
from tests.estates import ESTATE, LEASE, TRACE, Estate
from tests.requests.request_services import watchers

KEEP = Retention(failed_requests=timedelta(days=30), finished_requests=timedelta(days=400), events=timedelta(days=400))
KEYS = "SELECT key FROM chamberlain.idempotency_key ORDER BY key"


async def sweep(estate: Estate) -> dict[str, int]:
    """Run retention once; the rows that it reports, by table."""
    removed: dict[str, int] = {}
    run = RetentionJobs(estate.databases.worker, watchers(estate), KEEP, uuid4, removed.__setitem__)
    await run.begin(TRACE)
    await estate.rows("UPDATE chamberlain.job SET run_at = now() WHERE kind = 'retentionSweep'")
    lease_id = uuid4()
    async with estate.databases.worker.across_tenants() as tx:
        taken = await queue_jobs.claim(
            tx, lease_id, kinds=[JobKind.RETENTION_SWEEP], most=1, lease=LEASE, tenant_limit=10
        )
    await run.sweep(Claim(lease_id, tuple(taken)))
    return removed


async def observe(estate: Estate) -> ClockReading:
    async with estate.databases.worker.across_tenants() as tx:
        return await clock.observe(tx)


async def was_off_for(estate: Estate, days: float) -> None:
    """Let the last reading of the clock have been so long ago."""
    await observe(estate)
    await estate.rows(
        "UPDATE chamberlain.clock SET seen_at = now() - $1::interval, trusted_at = now() - $1::interval",
        timedelta(days=days),
    )


async def keep_keys(estate: Estate, names: Sequence[str], *, days_ago: float) -> None:
    for name in names:
        await estate.rows(
            "INSERT INTO chamberlain.idempotency_key (tenant_id, client_id, caller_id, key, digest, created_at) "
            "VALUES ($1, '', $1, $2, '', now() - $3::interval)",
            NOBODY,
            name,
            timedelta(days=days_ago),
        )


async def test_it_works_on_a_fresh_installation(estate: Estate) -> None:
    await keep_keys(estate, ["old"], days_ago=8)

    removed = await sweep(estate)

    assert removed == {"idempotency_key": 1}
    assert await estate.rows(KEYS) == []


async def test_a_clock_days_ahead_removes_nothing_until_it_is_confirmed(
    estate: Estate, caplog: pytest.LogCaptureFixture
) -> None:
    await keep_keys(estate, ["old"], days_ago=8)
    await was_off_for(estate, days=2.1)

    doubted = await sweep(estate), await estate.rows(KEYS)
    async with estate.databases.worker.across_tenants() as tx:
        await clock.confirm(tx, by="Test")
    confirmed = await sweep(estate), await estate.rows(KEYS)

    assert doubted == ({}, [("old",)])
    assert confirmed == ({"idempotency_key": 1}, [])
    paused = [each for each in caplog.records if each.levelname == "ERROR" and "retention confirm" in each.message]
    assert len(paused) == 1


async def test_what_is_written_during_a_jump_does_not_end_the_doubt(estate: Estate) -> None:
    await keep_keys(estate, ["old"], days_ago=8)
    await was_off_for(estate, days=500)

    await estate.request("Apollo")
    await estate.work()
    await sweep(estate)

    assert await estate.rows(KEYS) == [("old",)]
    assert (await observe(estate)).is_doubted


async def test_a_quiet_installation_whose_worker_ran_is_not_doubted(estate: Estate) -> None:
    await keep_keys(estate, ["old"], days_ago=8)
    await was_off_for(estate, days=1.9)

    assert await sweep(estate) == {"idempotency_key": 1}


async def test_an_upgraded_installation_is_judged_by_its_newest_event_audit_row_or_sweep(estate: Estate) -> None:
    await estate.rows(
        "INSERT INTO chamberlain.event (event_id, tenant_id, type, at, data) "
        "VALUES (gen_random_uuid(), $1, 'group.created', now() - interval '1 hour', '{}')",
        ESTATE,
    )

    reading = await observe(estate)

    assert not reading.is_doubted


async def test_rows_written_while_the_clock_was_behind_are_not_old(estate: Estate) -> None:
    await observe(estate)
    # The clock shows a time eight days before the last reading; then it is right again.
    await estate.rows("UPDATE chamberlain.clock SET seen_at = now() + interval '8 days', trusted_at = seen_at")
    await estate.rows("UPDATE chamberlain.clock SET trusted_at = now() + interval '8 days'")
    behind = await observe(estate)
    await estate.rows("UPDATE chamberlain.clock SET seen_at = now() - interval '8 days', trusted_at = now()")
    await estate.rows("UPDATE chamberlain.clock_fault SET from_at = from_at - interval '8 days'")
    await keep_keys(estate, ["of the fault"], days_ago=8)
    await keep_keys(estate, ["before the fault"], days_ago=9)

    await observe(estate)
    await sweep(estate)

    assert behind.is_behind
    assert await estate.rows(KEYS) == [("of the fault",)]
    fault = "SELECT resumed_at IS NOT NULL FROM chamberlain.clock_fault"
    assert await estate.rows(fault) == [(True,)]


async def test_jobs_of_a_clock_that_was_ahead_are_due_when_it_went_back(estate: Estate) -> None:
    await observe(estate)
    await estate.request("Apollo")
    await estate.rows(
        "UPDATE chamberlain.job SET run_at = now() + interval '500 days', queued_at = now() + interval '500 days', "
        "lease_until = now() + interval '500 days', lease_id = gen_random_uuid()"
    )
    await estate.rows("UPDATE chamberlain.clock SET seen_at = now() + interval '500 days'")

    reading = await observe(estate)

    assert reading.step_back > timedelta(days=499)
    due = "SELECT run_at <= now(), queued_at <= now(), lease_until < now() + interval '11 seconds' FROM chamberlain.job"
    assert await estate.rows(due) == [(True, True, True)]


async def test_processes_that_read_at_once_agree(estate: Estate) -> None:
    await was_off_for(estate, days=1)

    readings = await asyncio.gather(*[observe(estate) for _ in range(5)])

    assert not any(each.is_doubted for each in readings)
    rows = await estate.rows("SELECT trusted_at FROM chamberlain.clock")
    assert len(rows) == 1
    assert abs(datetime.now(UTC) - rows[0][0]) < timedelta(minutes=1)  # type: ignore[operator]  # A time.


async def test_a_deadline_waits_while_the_clock_is_doubted(estate: Estate) -> None:
    await was_off_for(estate, days=21)

    async with estate.databases.worker.transaction(ESTATE) as tx:
        decides_at = await clock.decision_time(tx)

    assert decides_at < datetime.now(UTC) - timedelta(days=20)
