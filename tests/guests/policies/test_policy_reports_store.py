# SPDX-License-Identifier: Apache-2.0
"""Reports of policies in their tables: new entries are added while no worker sends them, and no run waits."""

import asyncio
from uuid import UUID, uuid4

from chamberlain.core.ids import GroupId, NoticeId, UserId
from chamberlain.database.transactions import Transaction
from chamberlain.guests.policies import report_records
from chamberlain.guests.policies.models import PolicyAction
from chamberlain.guests.policies.reports import ReportLine, RunReport
from chamberlain.guests.policies.timers import PolicyRule
from chamberlain.notifications import store as notification_store
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import Claim, JobKind
from tests.estates import ESTATE, LEASE, TRACE, Estate
from tests.query_plans import rows_looked_at

GROUP = GroupId(UUID("94000000-0000-4000-8000-000000000001"))
REMINDER = ReportLine(PolicyRule.EXPIRY, UserId(uuid4()))
REMOVAL = ReportLine(PolicyRule.EXPIRY, UserId(uuid4()), PolicyAction.REMOVE)
WRITTEN = """
SELECT (SELECT count(*) FROM chamberlain.report_line l WHERE l.notice_id = n.notice_id), j.run_at > now()
FROM chamberlain.notice n JOIN chamberlain.job j
ON j.job_id = n.job_id AND j.subject = n.notice_id AND j.kind = 'noticeSend' AND j.lane = n.tenant_id
ORDER BY n.at, 1
"""
FILL = """
WITH many AS (SELECT n, gen_random_uuid() AS notice_id FROM generate_series(1, 20000) n), queued AS (
    INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id, lane)
    SELECT $1, 'noticeSend', notice_id, '', $1 FROM many RETURNING job_id, subject
)
INSERT INTO chamberlain.notice (tenant_id, notice_id, kind, request_id, subject_id, job_id, at)
SELECT $1, many.notice_id, 'policyReport', CASE WHEN n % 2 = 0 THEN gen_random_uuid() END,
    CASE WHEN n % 2 = 1 THEN gen_random_uuid() END, queued.job_id, now()
FROM many JOIN queued ON queued.subject = many.notice_id
"""


def run(*lines: ReportLine, is_over: bool = True) -> RunReport:
    return RunReport(NoticeId(uuid4()), (ESTATE, GROUP), TRACE, lines, is_over)


async def put(estate: Estate, *runs: RunReport) -> None:
    async with estate.databases.worker.across_tenants() as tx:
        await report_records.save(tx, runs, at=estate.moment)


async def claim(tx: Transaction) -> Claim:
    lease_id, kinds = uuid4(), [JobKind.NOTICE_SEND]
    taken = await queue_jobs.claim_from_lanes(
        tx, lease_id, kinds=kinds, most=10, of_one=10, lease=LEASE, named=(), only_named=False
    )
    return Claim(lease_id, tuple(job for _, job in taken))


async def test_it_works(estate: Estate) -> None:
    """A report waits for the rest of its run, and is sent then."""
    await put(estate, run(REMINDER, is_over=False))
    assert await estate.rows(WRITTEN) == [(1, True)]

    await put(estate, run(REMOVAL))

    assert await estate.rows(WRITTEN) == [(2, False)]


async def test_it_sends_what_waits_when_nothing_more_has_come(estate: Estate) -> None:
    await put(estate, run(REMINDER, is_over=False))

    await put(estate, run())

    assert await estate.rows(WRITTEN) == [(1, False)]


async def test_it_writes_nothing_where_there_is_nothing_to_tell(estate: Estate) -> None:
    await put(estate, run(), run(is_over=False))
    await put(estate)

    assert await estate.rows(WRITTEN) == []


async def test_it_keeps_what_is_reported_once(estate: Estate) -> None:
    await put(estate, run(REMINDER))
    await put(estate, run(REMINDER, REMOVAL))

    assert await estate.rows(WRITTEN) == [(2, False)]


async def test_it_begins_another_one_where_somebody_has_begun_to_send(estate: Estate) -> None:
    first = run(REMINDER)
    await put(estate, first)
    async with estate.databases.worker.transaction(ESTATE) as tx:
        await notification_store.save_notified(tx, first.notice_id, [UserId(uuid4())])
    second = run(REMINDER)
    await put(estate, second)
    async with estate.databases.worker.transaction(ESTATE) as tx:
        await notification_store.count_attempt(tx, second.notice_id)

    await put(estate, run(REMINDER, REMOVAL))

    assert await estate.rows(WRITTEN) == [(1, False), (1, False), (2, False)]


async def test_it_does_not_wait_for_somebody_who_just_takes_it_up(estate: Estate) -> None:
    await put(estate, run(REMINDER))

    async with asyncio.timeout(10), estate.databases.worker.across_tenants() as other:
        taken = await claim(other)
        await put(estate, run(REMOVAL))

    assert len(taken.jobs) == 1
    assert await estate.rows(WRITTEN) == [(1, False), (1, False)]


async def test_nobody_takes_up_what_is_just_being_added_to(estate: Estate) -> None:
    await put(estate, run(REMINDER))

    async with asyncio.timeout(10), estate.databases.worker.across_tenants() as tx:
        await report_records.save(tx, [run(REMOVAL)], at=estate.moment)
        async with estate.databases.worker.across_tenants() as other:
            assert (await claim(other)).jobs == ()

    assert await estate.rows(WRITTEN) == [(2, False)]


async def test_lines_go_with_their_notice(estate: Estate) -> None:
    report = run(REMINDER, REMOVAL)
    await put(estate, report)

    async with estate.databases.worker.transaction(ESTATE) as tx:
        await notification_store.delete(tx, report.notice_id)

    assert await estate.rows("SELECT FROM chamberlain.report_line") == []


async def test_it_passes_by_the_notices_of_others(estate: Estate) -> None:
    await put(estate, run(REMINDER))
    async with estate.databases.worker.across_tenants() as tx:
        await tx.execute(FILL, ESTATE)

        assert await rows_looked_at(tx, report_records.PENDING, [ESTATE], [GROUP]) <= 2
