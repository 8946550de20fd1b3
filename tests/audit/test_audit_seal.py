# SPDX-License-Identifier: Apache-2.0
"""Sealing is an endless job of each tenant; the head of a chain is logged before rows can be cut off."""

import asyncio
import logging
from datetime import UTC, datetime, timedelta

import pytest

from chamberlain.audit.jobs import AuditJobs
from chamberlain.audit.rules import BATCH, BATCHES, LONG_PAUSE, PAUSE, SHORT_PAUSE, next_look
from chamberlain.queue.models import NOBODY, JobKind
from tests.audit.audit_fixture import AuditFixture, change, record, tamper
from tests.estates import ESTATE, OTHER_HOUSE, TRACE, Estate

MOMENT = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
JOBS = "SELECT tenant_id, kind FROM chamberlain.job WHERE kind LIKE 'auditSeal%' ORDER BY kind, tenant_id"


def sealer(estate: Estate, *, after: timedelta = timedelta()) -> AuditJobs:
    """It, as it is run so long after the first time."""
    return AuditJobs(estate.databases.worker, lambda: MOMENT + after)


async def find_tenants(estate: Estate) -> None:
    """Look once whether every tenant has its job."""
    await estate.rows("UPDATE chamberlain.job SET run_at = now() WHERE kind = 'auditSealBegin'")
    run = sealer(estate)
    await run.begin(TRACE)
    await run.find_tenants(await estate.claim(kinds=[JobKind.AUDIT_SEAL_BEGIN]))


async def work(estate: Estate, *, after: timedelta = timedelta()) -> None:
    """Run the jobs that seal, once."""
    await find_tenants(estate)
    await estate.rows("UPDATE chamberlain.job SET run_at = now() WHERE kind = 'auditSeal'")
    await sealer(estate, after=after).seal(await estate.claim(kinds=[JobKind.AUDIT_SEAL]))


async def sealed(estate: Estate) -> list[tuple[object, ...]]:
    return await estate.rows("SELECT tenant_id, count(*) FROM chamberlain.audit_seal GROUP BY 1 ORDER BY 1")


async def test_it_works(estate: Estate) -> None:
    written = await estate.rows("SELECT tenant_id, count(*) FROM chamberlain.audit GROUP BY 1 ORDER BY 1")

    await work(estate)

    assert await sealed(estate) == written
    assert len(written) == 2
    waits = "SELECT run_at > now() + $1, lease_id FROM chamberlain.job WHERE kind = 'auditSeal'"
    assert await estate.rows(waits, PAUSE / 2) == [(True, None)] * 2
    assert (await AuditFixture(estate.databases).verify()).faults == 0


async def test_each_tenant_has_one_job_however_many_look(estate: Estate) -> None:
    await asyncio.gather(*[sealer(estate).begin(TRACE) for _ in range(10)])
    await find_tenants(estate)
    await find_tenants(estate)

    assert await estate.rows(JOBS) == [
        (ESTATE, "auditSeal"),
        (OTHER_HOUSE, "auditSeal"),
        (NOBODY, "auditSealBegin"),
    ]


async def test_it_handles_a_tenant_that_is_gone(estate: Estate) -> None:
    await work(estate)
    await estate.rows("DELETE FROM chamberlain.tenant WHERE tenant_id = $1", OTHER_HOUSE)

    await work(estate)

    assert await estate.rows(JOBS) == [(ESTATE, "auditSeal"), (NOBODY, "auditSealBegin")]


async def test_running_it_twice_is_boring(estate: Estate) -> None:
    await work(estate)
    before = await sealed(estate)

    await work(estate)

    assert await sealed(estate) == before


@pytest.mark.parametrize(
    ("number", "pause"), [(0, LONG_PAUSE), (1, PAUSE), (BATCH, PAUSE), (BATCH * BATCHES, SHORT_PAUSE)]
)
def test_it_rests_as_long_as_there_was_little(number: int, pause: timedelta) -> None:
    assert next_look(sealed=number) == pause


async def test_the_head_is_logged_each_minute_while_it_moves(estate: Estate, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "chamberlain")
    logged: list[list[str]] = []
    for seconds in (0, 30, 61, 130):
        caplog.clear()
        await work(estate, after=timedelta(seconds=seconds))
        logged.append([vars(line)["head"] for line in caplog.records if vars(line).get("tenantId") == str(ESTATE)])
        if seconds == 0:
            await record(estate.databases, change())

    heads = await estate.rows("SELECT position FROM chamberlain.audit_head WHERE tenant_id = $1", ESTATE)
    verdict = await AuditFixture(estate.databases).verify()
    assert [len(lines) for lines in logged] == [1, 0, 1, 0]
    assert logged[2] == [str(verdict.head)]
    assert heads == [(verdict.head.position,)]


async def test_the_trail_of_a_suspended_tenant_is_sealed_however_much_of_it_rests(estate: Estate) -> None:
    await estate.request("Rests")
    await tamper(estate.databases, "UPDATE chamberlain.tenant SET suspended = true WHERE tenant_id = $1", ESTATE)
    await record(estate.databases, change())
    await find_tenants(estate)
    await estate.rows("UPDATE chamberlain.job SET run_at = now() WHERE kind = 'auditSeal'")

    claim = await estate.claim()
    await sealer(estate).seal(claim)

    assert [(job.tenant_id, job.kind) for job in claim.jobs if job.tenant_id == ESTATE] == [
        (ESTATE, JobKind.AUDIT_SEAL)
    ]
    verdict = await AuditFixture(estate.databases).verify()
    assert (verdict.waiting, verdict.faults) == (0, 0)
    assert verdict.head.position > 0


ASLEEP = """
SELECT tenant_id FROM chamberlain.job WHERE kind = 'auditSeal' AND run_at > now() + interval '11 hours' ORDER BY 1
"""
HOURS_AGO = "UPDATE chamberlain.audit_head SET looked_at = now() - interval '3 hours' RETURNING 1"
LOOKED_NOW = "SELECT tenant_id FROM chamberlain.audit_head WHERE looked_at > now() - interval '1 hour' ORDER BY 1"


async def test_the_job_of_a_tenant_without_new_rows_sleeps_until_it_has_some(estate: Estate) -> None:
    await work(estate)
    await work(estate)
    asleep = await estate.rows(ASLEEP)
    await find_tenants(estate)
    still = await estate.rows(ASLEEP)
    await record(estate.databases, change())
    await find_tenants(estate)

    assert asleep == still == [(ESTATE,), (OTHER_HOUSE,)]
    assert await estate.rows(ASLEEP) == [(OTHER_HOUSE,)]


async def test_a_job_does_not_sleep_before_its_head_is_logged(estate: Estate) -> None:
    await work(estate)
    await record(estate.databases, change())
    await work(estate, after=timedelta(seconds=30))
    await work(estate, after=timedelta(seconds=40))
    before = await estate.rows(ASLEEP)

    await work(estate, after=timedelta(seconds=61))

    assert (before, await estate.rows(ASLEEP)) == ([(OTHER_HOUSE,)], [(ESTATE,), (OTHER_HOUSE,)])


async def test_a_trail_without_new_rows_is_looked_at_by_the_sweep(estate: Estate) -> None:
    await work(estate)
    await estate.rows(HOURS_AGO)
    await record(estate.databases, change())

    await find_tenants(estate)

    assert await estate.rows(LOOKED_NOW) == [(OTHER_HOUSE,)]


async def test_a_row_that_is_dated_back_to_the_sleep_of_its_trail_is_suspect(estate: Estate) -> None:
    await work(estate)
    await estate.rows(HOURS_AGO)
    await find_tenants(estate)
    await record(estate.databases, change())
    await tamper(
        estate.databases,
        "UPDATE chamberlain.audit SET at = now() - interval '2 hours' WHERE tenant_id = $1 AND NOT EXISTS ("
        "SELECT FROM chamberlain.audit_seal s WHERE s.sequence = audit.sequence AND s.tenant_id = audit.tenant_id)",
        ESTATE,
    )

    await work(estate)

    verdict = await AuditFixture(estate.databases).verify()
    assert verdict.faults == 1
