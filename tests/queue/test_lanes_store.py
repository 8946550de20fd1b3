# SPDX-License-Identifier: Apache-2.0
"""How much waits in lanes."""

from datetime import timedelta
from uuid import UUID

from chamberlain.core.ids import TenantId
from chamberlain.queue import jobs as queue_jobs
from tests.databases import Databases
from tests.estates import ESTATE, OTHER_HOUSE
from tests.query_plans import rows_looked_at

ONE, OTHER = UUID(int=1), UUID(int=2)


async def queue(
    databases: Databases, lane: UUID | None, number: int, *, age: timedelta, tenant: TenantId = ESTATE
) -> None:
    """Calls of one webhook, or jobs that are in no lane."""
    async with databases.worker.across_tenants() as tx:
        await tx.execute(
            "INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id, lane, run_at) "
            "SELECT $1, 'webhookDeliver', gen_random_uuid(), '', $2, now() - $3::interval "
            "FROM generate_series(1, $4::integer)",
            tenant,
            lane,
            age,
            number,
        )


async def test_it_works(databases: Databases) -> None:
    async with databases.worker.across_tenants() as tx:
        empty = await queue_jobs.measure_lanes(tx)
    await queue(databases, ONE, 3, age=timedelta(minutes=5))
    await queue(databases, OTHER, 2, age=timedelta())
    await queue(databases, ONE, 1, age=timedelta(minutes=20), tenant=OTHER_HOUSE)

    async with databases.worker.across_tenants() as tx:
        depth = await queue_jobs.measure_lanes(tx)

    assert (empty.due, empty.oldest) == (0, timedelta())
    assert depth.due == 6
    assert timedelta(minutes=20) <= depth.oldest < timedelta(minutes=21)


async def test_what_rests_or_is_held_or_in_no_lane_does_not_count(databases: Databases) -> None:
    await queue(databases, None, 1, age=timedelta(minutes=5))
    await queue(databases, ONE, 1, age=timedelta(minutes=5))
    await queue(databases, ONE, 1, age=timedelta(minutes=5), tenant=OTHER_HOUSE)
    async with databases.worker.across_tenants() as tx:
        await tx.execute(
            "UPDATE chamberlain.job SET held_reason = 'A bug' WHERE lane = $1 AND tenant_id = $2", ONE, ESTATE
        )
        await tx.execute(
            "INSERT INTO chamberlain.tenant (tenant_id, name, domains, suspended) VALUES ($1, 'Other', '{}', true)",
            OTHER_HOUSE,
        )

        depth = await queue_jobs.measure_lanes(tx)

    assert depth.due == 0


async def test_it_does_not_look_at_what_waits_for_its_next_attempt(databases: Databases) -> None:
    await queue(databases, ONE, 20_000, age=timedelta(hours=-1))
    await queue(databases, OTHER, 3, age=timedelta())

    async with databases.worker.across_tenants() as tx:
        depth = await queue_jobs.measure_lanes(tx)
        looked_at = await rows_looked_at(tx, queue_jobs.MEASURE_LANES, 100)

    assert depth.due == 3
    assert looked_at <= 20


async def test_no_more_are_counted_than_somebody_waits_for(databases: Databases) -> None:
    """However many are due; and the oldest is reported all the same, in any lane."""
    await queue(databases, ONE, 20_000, age=timedelta(minutes=5))
    await queue(databases, OTHER, 20_000, age=timedelta(minutes=5))
    await queue(databases, OTHER, 1, age=timedelta(minutes=20), tenant=OTHER_HOUSE)

    async with databases.worker.across_tenants() as tx:
        depth = await queue_jobs.measure_lanes(tx, most=10)
        looked_at = await rows_looked_at(tx, queue_jobs.MEASURE_LANES, 10)

    assert depth.due == 10
    assert timedelta(minutes=20) <= depth.oldest < timedelta(minutes=21)
    assert looked_at <= 20
