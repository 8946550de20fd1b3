# SPDX-License-Identifier: Apache-2.0
"""The queue: fair to tenants, leased by the database's clock, and nothing is ever done by two or lost."""

import asyncio
import json
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

from chamberlain.core.ids import JobId, TenantId
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import NOBODY, USING_DIRECTORY, Claim, JobKind, Postponed
from tests.databases import Databases
from tests.estates import ESTATE, OTHER_HOUSE, TRACE, rows
from tests.query_plans import rows_looked_at

LEASE = timedelta(seconds=10)


async def queue(databases: Databases, tenant: TenantId, number: int, *, age: timedelta = timedelta()) -> None:
    """Add jobs of one tenant, each due a little later than the one before."""
    async with databases.worker.across_tenants() as tx:
        await tx.execute(
            "INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id, run_at) "
            "SELECT $1, 'groupProvision', gen_random_uuid(), '', now() - $3::interval - (n || ' us')::interval "
            "FROM generate_series(1, $2::integer) n",
            tenant,
            number,
            age,
        )


async def claim(databases: Databases, most: int = 100, *, tenant_limit: int = 1000) -> Claim:
    """Lease jobs as a worker does."""
    lease_id = uuid4()
    async with databases.worker.across_tenants() as tx:
        taken = await queue_jobs.claim(tx, lease_id, kinds=JobKind, most=most, lease=LEASE, tenant_limit=tenant_limit)
    return Claim(lease_id, tuple(taken))


async def expire(databases: Databases, taken: Claim) -> None:
    """Let the lease be over, as after eleven seconds of silence."""
    async with databases.worker.across_tenants() as tx:
        await tx.execute(
            "UPDATE chamberlain.job SET lease_until = now() - interval '1 s' WHERE lease_id = $1", taken.lease_id
        )


def ids(taken: Claim) -> set[JobId]:
    return {job.id for job in taken.jobs}


async def test_it_works(databases: Databases) -> None:
    await queue(databases, ESTATE, 3)

    taken = await claim(databases)
    async with databases.worker.across_tenants() as tx:
        finished = await queue_jobs.complete(tx, taken.lease_id, list(ids(taken)))

    assert [(job.tenant_id, job.kind, job.attempts) for job in taken.jobs] == [(ESTATE, JobKind.GROUP_PROVISION, 0)] * 3
    assert finished == ids(taken)
    assert await rows(databases, "SELECT FROM chamberlain.job") == []


async def test_one_job_of_one_tenant_is_in_the_first_claim_beside_ten_thousand_of_another(databases: Databases) -> None:
    await queue(databases, ESTATE, 10_000, age=timedelta(minutes=5))
    await queue(databases, OTHER_HOUSE, 1)

    taken = await claim(databases)

    assert Counter(job.tenant_id for job in taken.jobs) == {ESTATE: 50, OTHER_HOUSE: 1}


async def test_with_more_tenants_than_a_claim_takes_each_has_its_turn(databases: Databases) -> None:
    tenants = [TenantId(UUID(int=number)) for number in range(1, 41)]
    for tenant in tenants:
        await queue(databases, tenant, 50, age=timedelta(minutes=5))
    await queue(databases, OTHER_HOUSE, 1)

    served = [each for _ in range(100) for each in (await claim(databases, 10)).jobs]

    assert OTHER_HOUSE in {job.tenant_id for job in served}
    assert len({job.tenant_id for job in served}) == 41


async def test_jobs_of_the_installation_do_not_wait_for_those_of_many_tenants(databases: Databases) -> None:
    for number in range(1, 41):
        await queue(databases, TenantId(UUID(int=number)), 50, age=timedelta(minutes=5))
    await queue(databases, NOBODY, 1)

    assert NOBODY in {job.tenant_id for job in (await claim(databases, 10)).jobs}


async def test_the_oldest_are_taken_first(databases: Databases) -> None:
    await queue(databases, ESTATE, 5)
    await queue(databases, ESTATE, 5, age=timedelta(hours=1))

    taken = await claim(databases, 5)

    oldest = await rows(databases, "SELECT job_id FROM chamberlain.job ORDER BY run_at LIMIT 5")
    assert {(each,) for each in ids(taken)} == set(oldest)


async def test_two_claims_at_once_share_nothing(databases: Databases) -> None:
    await queue(databases, ESTATE, 300)

    taken = await asyncio.gather(*(claim(databases, 60) for _ in range(4)))

    assert sum(len(each.jobs) for each in taken) == len(set().union(*map(ids, taken)))


async def test_a_claim_passes_by_what_another_one_is_just_taking(databases: Databases) -> None:
    await queue(databases, ESTATE, 20)
    async with databases.worker.across_tenants() as tx:
        first = await queue_jobs.claim(tx, uuid4(), kinds=JobKind, most=10, lease=LEASE, tenant_limit=100)
        second = await claim(databases, 15)

    assert len(first) == 10
    assert len(second.jobs) == 10
    assert ids(second).isdisjoint(job.id for job in first)


async def test_what_is_not_due_or_held_or_of_another_kind_is_left(databases: Databases) -> None:
    await queue(databases, ESTATE, 1)
    await queue(databases, ESTATE, 1, age=timedelta(hours=-1))
    async with databases.worker.across_tenants() as tx:
        await tx.execute(
            "INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id, held_reason) VALUES "
            "($1, 'groupProvision', $1, '', 'A bug'), ($1, 'ofTheFuture', $1, '', NULL)",
            ESTATE,
        )

    taken = await claim(databases)

    assert len(taken.jobs) == 1
    async with databases.worker.across_tenants() as tx:
        depth = await queue_jobs.measure(tx)
    assert (depth.due, depth.held) == (2, 1)


async def test_a_lease_that_ran_out_is_taken_over_and_its_former_holder_has_no_say(databases: Databases) -> None:
    await queue(databases, ESTATE, 2)
    former = await claim(databases)
    nothing = await claim(databases)
    await expire(databases, former)

    latter = await claim(databases)
    async with databases.worker.across_tenants() as tx:
        finished = await queue_jobs.complete(tx, former.lease_id, list(ids(former)))
        postponed = await queue_jobs.postpone(
            tx, former.lease_id, [Postponed(each, timedelta(hours=1)) for each in ids(former)]
        )
        await queue_jobs.hold(tx, former.lease_id, former.jobs[0].id, "mine")
        await queue_jobs.renew(tx, [former], timedelta(hours=9))
        given_back = await queue_jobs.give_back(tx, [former])

    assert nothing.jobs == ()
    assert ids(latter) == ids(former)
    assert [job.attempts for job in latter.jobs] == [1, 1]
    assert (finished, postponed, given_back) == (frozenset(), frozenset(), 0)
    left = await rows(
        databases,
        "SELECT lease_id, held_reason, lease_until < now() + interval '11 s', run_at <= now() FROM chamberlain.job",
    )
    assert left == [(latter.lease_id, None, True, True)] * 2


async def test_a_renewed_lease_goes_on(databases: Databases) -> None:
    await queue(databases, ESTATE, 2)
    taken = await claim(databases)
    await expire(databases, taken)

    async with databases.worker.across_tenants() as tx:
        await queue_jobs.renew(tx, [taken], LEASE)

    assert (await claim(databases)).jobs == ()


async def test_a_renewal_waits_for_nobody(databases: Databases) -> None:
    await queue(databases, ESTATE, 2)
    taken = await claim(databases)
    finishing, other = taken.jobs

    async with databases.worker.across_tenants() as tx:
        await queue_jobs.complete(tx, taken.lease_id, [finishing.id])
        async with databases.worker.across_tenants() as another:
            await queue_jobs.renew(another, [taken], timedelta(hours=1))

    left = await rows(databases, "SELECT job_id, lease_until > now() + interval '30 min' FROM chamberlain.job")
    assert left == [(other.id, True)]


async def test_a_postponed_job_comes_back_when_it_is_time_and_that_is_no_attempt(databases: Databases) -> None:
    await queue(databases, ESTATE, 1)
    first = await claim(databases)
    await expire(databases, first)
    taken = await claim(databases)

    async with databases.worker.across_tenants() as tx:
        postponed = await queue_jobs.postpone(tx, taken.lease_id, [Postponed(taken.jobs[0].id, timedelta(minutes=1))])
    too_early = await claim(databases)
    async with databases.worker.across_tenants() as tx:
        await tx.execute("UPDATE chamberlain.job SET run_at = run_at - interval '1 min'")
    in_time = await claim(databases)

    assert taken.jobs[0].attempts == 1
    assert postponed == ids(taken)
    assert too_early.jobs == ()
    assert [job.attempts for job in in_time.jobs] == [0]


async def test_what_is_given_back_is_free_at_once_and_that_is_no_attempt(databases: Databases) -> None:
    await queue(databases, ESTATE, 5)
    taken = await claim(databases)

    async with databases.worker.across_tenants() as tx:
        count = await queue_jobs.give_back(tx, [taken])
    again = await claim(databases)

    assert count == 5
    assert [job.attempts for job in again.jobs] == [0] * 5


async def test_a_held_job_waits_for_a_person(databases: Databases) -> None:
    await queue(databases, ESTATE, 1)
    taken = await claim(databases)

    async with databases.worker.across_tenants() as tx:
        await queue_jobs.hold(tx, taken.lease_id, taken.jobs[0].id, "A bug.")

    assert (await claim(databases)).jobs == ()
    assert await rows(databases, "SELECT held_reason, lease_id FROM chamberlain.job") == [("A bug.", None)]


async def test_a_tenant_has_no_more_than_its_limit_leased(databases: Databases) -> None:
    await queue(databases, ESTATE, 100)
    await queue(databases, OTHER_HOUSE, 5)

    first = await claim(databases, 60, tenant_limit=20)
    second = await claim(databases, 60, tenant_limit=20)
    async with databases.worker.across_tenants() as tx:
        await queue_jobs.complete(tx, first.lease_id, [job.id for job in first.jobs][:10])
    third = await claim(databases, 60, tenant_limit=20)

    assert Counter(job.tenant_id for job in first.jobs) == {ESTATE: 20, OTHER_HOUSE: 5}
    assert second.jobs == ()
    assert 5 <= len(third.jobs) <= 10


async def test_the_way_to_jobs_is_an_index_even_by_a_plan_of_an_empty_queue(databases: Databases) -> None:
    async with databases.worker.across_tenants() as tx:
        await tx.execute("ANALYZE chamberlain.job")
    await queue(databases, ESTATE, 10_000)

    async with databases.worker.across_tenants() as tx:
        plans = [
            await tx.fetch(
                f"EXPLAIN (FORMAT JSON) {queue_jobs.CLAIM}", uuid4(), 100, LEASE, 500, ["groupProvision"], []
            ),
            await tx.fetch(f"EXPLAIN (FORMAT JSON) {queue_jobs.RENEW}", [uuid4()], [1, 2], LEASE),
            await tx.fetch(f"EXPLAIN (FORMAT JSON) {queue_jobs.COMPLETE}", uuid4(), [1, 2]),
            await tx.fetch(f"EXPLAIN (FORMAT JSON) {queue_jobs.GIVE_BACK}", [uuid4()], [1, 2]),
        ]

    for (row,) in plans:
        assert "Seq Scan" not in json.dumps(json.loads(row[0]))


async def test_the_end_of_an_acceptance_is_found_without_a_look_at_other_jobs(databases: Databases) -> None:
    kind, subject = JobKind.FINDING_REOPEN, uuid4()
    await queue(databases, ESTATE, 10_000)
    async with databases.worker.across_tenants() as tx:
        await queue_jobs.queue_at(replace(tx, tenant_id=ESTATE), kind, subject, TRACE, at=datetime.now(UTC))
        await tx.execute("ANALYZE chamberlain.job")

    async with databases.worker.across_tenants() as tx:
        newer = await rows_looked_at(tx, queue_jobs.NEWER[kind], ESTATE, subject, 1)
        withdrawn = await rows_looked_at(tx, queue_jobs.WITHDRAW[kind], ESTATE, subject)

    assert newer <= 1
    assert withdrawn <= 1
    assert await rows(databases, "SELECT kind FROM chamberlain.job WHERE kind = 'findingReopen'") == []


async def test_how_much_waits_is_reported_without_a_look_at_what_is_not_due(databases: Databases) -> None:
    await queue(databases, ESTATE, 20_000, age=timedelta(hours=-1))
    await queue(databases, ESTATE, 3, age=timedelta(minutes=5))
    await queue(databases, OTHER_HOUSE, 2)

    async with databases.worker.across_tenants() as tx:
        depth = await queue_jobs.measure(tx)
        looked_at = await rows_looked_at(tx, queue_jobs.MEASURE, 100, list(USING_DIRECTORY))

    assert (depth.due, depth.held) == (5, 0)
    assert depth.oldest >= timedelta(minutes=5)
    assert looked_at <= 20


async def test_no_more_are_counted_than_somebody_waits_for(databases: Databases) -> None:
    """However many are due or held; and the oldest is reported all the same, of any tenant."""
    await queue(databases, ESTATE, 20_000)
    await queue(databases, OTHER_HOUSE, 1, age=timedelta(minutes=5))
    await queue(databases, ESTATE, 20_000)
    async with databases.worker.across_tenants() as tx:
        await tx.execute(
            "UPDATE chamberlain.job SET held_reason = 'A bug.' WHERE tenant_id = $1 AND job_id % 2 = 0", ESTATE
        )

        depth = await queue_jobs.measure(tx, most=10)
        looked_at = await rows_looked_at(tx, queue_jobs.MEASURE, 10, list(USING_DIRECTORY))

    assert (depth.due, depth.held) == (10, 10)
    assert timedelta(minutes=5) <= depth.oldest < timedelta(minutes=6)
    assert looked_at <= 20


async def test_the_seal_of_a_suspended_tenant_is_counted_and_nothing_else_of_it(databases: Databases) -> None:
    await queue(databases, OTHER_HOUSE, 20_000, age=timedelta(hours=1))
    async with databases.worker.across_tenants() as tx:
        await tx.execute(
            "INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id, run_at) "
            "VALUES ($1, 'auditSeal', $1, '', now() - interval '5 minutes')",
            OTHER_HOUSE,
        )
        await tx.execute(
            "INSERT INTO chamberlain.tenant (tenant_id, name, domains, suspended) VALUES ($1, 'Other', '{}', true)",
            OTHER_HOUSE,
        )

        depth = await queue_jobs.measure(tx)
        looked_at = await rows_looked_at(tx, queue_jobs.MEASURE, 100, list(USING_DIRECTORY))

    assert (depth.due, depth.held) == (1, 0)
    assert timedelta(minutes=5) <= depth.oldest < timedelta(minutes=6)
    assert looked_at <= 20
