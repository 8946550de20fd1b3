# SPDX-License-Identifier: Apache-2.0
"""The loop of a worker: in every case nothing is lost, nothing is done twice, and no job waits for long."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from chamberlain.core.ids import TenantId
from chamberlain.database.notify import JOBS_CHANNEL, REQUESTS_CHANNEL, Notifier, listen
from chamberlain.database.transactions import Database, Transaction
from chamberlain.embedded import postgres
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import HELD, Claim, JobKind
from chamberlain.queue.worker import Handler, Loop, Pace
from chamberlain.requests.finish import RequestJobHolder
from chamberlain.requests.models import RequestState
from tests.databases import Databases, migrated_database
from tests.estates import ESTATE, OTHER_GROUP, OTHER_HOUSE, ZOE, caller_of, open_estate, rows, until
from tests.postgres import connected, named_programs, short_folder
from tests.queue.fake_jobs import HELD_AFTER_BUG, HELD_AFTER_CRASHES

# No notification wakes these workers, and no test waits long for their poll.
PACE = Pace(poll=timedelta(milliseconds=20), pause=timedelta(milliseconds=20))
BAD = UUID(int=13)


class Seen:
    """The observations that a worker reports."""

    def __init__(self) -> None:
        self.outcomes: list[tuple[str, int]] = []

    def __call__(self, _kind: JobKind, outcome: str, number: int) -> None:
        self.outcomes.append((outcome, number))


@asynccontextmanager
async def working(
    databases: Databases,
    handler: Handler,
    *,
    pace: Pace = PACE,
    wake: asyncio.Event | None = None,
    seen: Seen | None = None,
    may_claim: Callable[[], bool] = lambda: True,
) -> AsyncIterator[tuple[Loop, asyncio.Task[None]]]:
    """A worker that runs for the duration of the block, and then stops."""
    handlers: Mapping[JobKind, Handler] = {JobKind.GROUP_PROVISION: handler}
    loop = Loop(
        database=databases.worker,
        handlers=handlers,
        wake=wake or asyncio.Event(),
        new_id=uuid4,
        holder=RequestJobHolder(databases.worker, Notifier(databases.addresses.application, REQUESTS_CHANNEL)),
        observe=seen or Seen(),
        may_claim=may_claim,
        pace=pace,
    )
    task = asyncio.create_task(loop.run())
    try:
        yield loop, task
    finally:
        loop.stop()
        await task


async def queue(databases: Databases, tenant: TenantId, *subjects: UUID) -> None:
    """Add jobs."""
    async with databases.worker.across_tenants() as tx:
        await tx.execute(
            "INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id) "
            "SELECT $1, 'groupProvision', subject, '' FROM unnest($2::uuid[]) subject",
            tenant,
            subjects,
        )


class FinishingHandler:
    """A handler that finishes its jobs, all of them in one go or none."""

    def __init__(self, databases: Databases) -> None:
        self._databases = databases
        self.done: list[UUID] = []

    async def __call__(self, claim: Claim) -> None:
        if any(job.subject == BAD for job in claim.jobs):
            raise ValueError("a bug")
        async with self._databases.worker.across_tenants() as tx:
            ours = await queue_jobs.complete(tx, claim.lease_id, [job.id for job in claim.jobs])
        self.done.extend(job.subject for job in claim.jobs if job.id in ours)


class BlockedHandler:
    """A handler that goes on for ever, unless it is let go."""

    def __init__(self) -> None:
        self.taken: list[UUID] = []
        self.cancelled = 0
        self.go = asyncio.Event()

    async def __call__(self, claim: Claim) -> None:
        self.taken.extend(job.subject for job in claim.jobs)
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise


class Clock:
    """Says whether a worker may claim, as the clock watch does."""

    def __init__(self) -> None:
        self.is_right = False
        self._asked = 0

    def __call__(self) -> bool:
        self._asked += 1
        return self.is_right

    async def was_asked_often(self) -> bool:
        """Whether a worker that did not listen would have claimed by now."""
        return self._asked > 10


class CountingDatabase(Database):
    """Counts transactions that do not wait for the disk, which are the claims."""

    claims = 0

    @asynccontextmanager
    async def across_tenants(self, *, before_disk: bool = False) -> AsyncIterator[Transaction]:
        self.claims += before_disk
        async with super().across_tenants(before_disk=before_disk) as tx:
            yield tx


async def forget_leases(databases: Databases) -> None:
    """Delete all leased jobs, as if each had been completed."""
    async with databases.worker.across_tenants() as tx:
        await tx.execute("DELETE FROM chamberlain.job WHERE lease_id IS NOT NULL")


async def queue_is_empty(databases: Databases) -> bool:
    return not await rows(databases, "SELECT FROM chamberlain.job WHERE held_reason IS NULL LIMIT 1")


async def test_it_works(databases: Databases) -> None:
    estate = await open_estate(databases)
    wake, seen = asyncio.Event(), Seen()
    notifying = asyncio.create_task(estate.groups.submitter.notifier.run())
    listening = asyncio.create_task(listen(databases.addresses.application, JOBS_CHANNEL, lambda _payload: wake.set()))
    # No poll comes for an hour: only the notification wakes the worker.
    pace = Pace(poll=timedelta(hours=1))
    async with working(databases, estate.provision_groups.provision, pace=pace, wake=wake, seen=seen):
        accepted = await estate.request("Apollo")
        await until(lambda: estate.group(accepted.request_id))
        await until(lambda: queue_is_empty(databases))
    for task in (notifying, listening):
        task.cancel()
    await asyncio.wait({notifying, listening})

    assert (await estate.record(accepted.request_id)).state == "succeeded"
    assert seen.outcomes == [("done", 1)]


async def test_a_stop_in_the_middle_of_three_hundred_jobs_gives_all_back(databases: Databases) -> None:
    blocked = BlockedHandler()
    await queue(databases, ESTATE, *(uuid4() for _ in range(300)))
    pace = Pace(batch=150, batches=2, grace=timedelta(milliseconds=50))
    async with working(databases, blocked, pace=pace) as (loop, task):

        async def all_taken() -> bool:
            return len(blocked.taken) == 300

        await until(all_taken)
        loop.stop()
        await asyncio.wait_for(task, 5)

    left = await rows(databases, "SELECT lease_id, lease_until, attempts, held_reason FROM chamberlain.job")
    assert left == [(None, None, 0, None)] * 300
    assert blocked.cancelled == 2


async def test_a_worker_with_a_wrong_clock_claims_nothing_until_the_clock_is_right(databases: Databases) -> None:
    finishing, clock, subject = FinishingHandler(databases), Clock(), uuid4()
    await queue(databases, ESTATE, subject)
    async with working(databases, finishing, may_claim=clock):
        await until(clock.was_asked_often)
        done_before = list(finishing.done)
        clock.is_right = True
        await until(lambda: queue_is_empty(databases))

    assert (done_before, finishing.done) == ([], [subject])


async def make_it_look(wake: asyncio.Event, *, times: int) -> None:
    """Wake the worker so many times; each time it has begun to look, and is through with the looks before."""

    async def looks() -> bool:
        return not wake.is_set()

    for _ in range(times):
        wake.set()
        await until(looks)


async def test_another_batch_goes_beside_a_full_one_though_there_was_nothing_before(databases: Databases) -> None:
    blocked, wake = BlockedHandler(), asyncio.Event()
    counting = CountingDatabase(databases.worker.pool)

    async def two_are_taken() -> bool:
        return len(blocked.taken) == 20

    async def found_nothing() -> bool:
        return counting.claims == 1

    pace = Pace(batch=10, batches=2, poll=timedelta(hours=1), grace=timedelta(0))
    async with working(replace(databases, worker=counting), blocked, pace=pace, wake=wake) as (loop, _):
        await until(found_nothing)
        await queue(databases, ESTATE, *(uuid4() for _ in range(25)))
        wake.set()
        await until(two_are_taken)
        await make_it_look(wake, times=2)
        loop.stop()

    assert len(blocked.taken) == 20


async def test_what_comes_beside_a_small_batch_waits_for_its_end(databases: Databases) -> None:
    blocked, wake = BlockedHandler(), asyncio.Event()
    first, later = [uuid4() for _ in range(3)], [uuid4() for _ in range(3)]

    async def all_are_taken() -> bool:
        return {*blocked.taken} == {*first, *later}

    async def first_are_taken() -> bool:
        return {*blocked.taken} == {*first}

    await queue(databases, ESTATE, *first)
    pace = Pace(batch=10, batches=2, poll=timedelta(hours=1), grace=timedelta(0))
    async with working(databases, blocked, pace=pace, wake=wake) as (loop, _):
        await until(first_are_taken)
        await queue(databases, ESTATE, *later)
        # When it looks for the second time, it is through with the first.
        await make_it_look(wake, times=2)
        beside = list(blocked.taken)
        blocked.go.set()
        await until(all_are_taken)
        loop.stop()

    assert {*beside} == {*first}


async def test_what_cannot_be_had_beside_a_batch_is_not_asked_for_at_each_wake_up(databases: Databases) -> None:
    blocked, wake = BlockedHandler(), asyncio.Event()
    counting = CountingDatabase(databases.worker.pool)

    async def ten_are_taken() -> bool:
        return len(blocked.taken) == 10

    async def twenty_are_taken() -> bool:
        return len(blocked.taken) == 20

    await queue(databases, ESTATE, *(uuid4() for _ in range(25)))
    # The tenant has as many as it may have.
    pace = Pace(batch=10, batches=2, tenant_limit=10, poll=timedelta(hours=1), grace=timedelta(0))
    async with working(replace(databases, worker=counting), blocked, pace=pace, wake=wake) as (loop, _):
        await until(ten_are_taken)
        await make_it_look(wake, times=9)
        claims = counting.claims
        await forget_leases(databases)
        blocked.go.set()
        await until(twenty_are_taken)
        loop.stop()

    # The one that got ten, and one that got nothing.
    assert claims == 2


async def test_a_stop_waits_for_what_ends_within_the_grace(databases: Databases) -> None:
    finishing, blocked = FinishingHandler(databases), BlockedHandler()

    async def late(claim: Claim) -> None:
        await blocked(claim)
        await finishing(claim)

    await queue(databases, ESTATE, uuid4())
    async with working(databases, late) as (loop, task):

        async def taken() -> bool:
            return bool(blocked.taken)

        await until(taken)
        loop.stop()
        blocked.go.set()
        await asyncio.wait_for(task, 5)

    assert len(finishing.done) == 1
    assert await queue_is_empty(databases)


async def test_a_bug_in_one_job_holds_that_one_and_the_others_are_done(
    databases: Databases, caplog: pytest.LogCaptureFixture
) -> None:
    finishing, seen = FinishingHandler(databases), Seen()
    good = [uuid4() for _ in range(9)]
    await queue(databases, ESTATE, *good[:5], BAD, *good[5:])

    async with working(databases, finishing, seen=seen):
        await until(lambda: rows(databases, "SELECT FROM chamberlain.job WHERE held_reason IS NOT NULL"))
        await until(lambda: queue_is_empty(databases))

    assert sorted(finishing.done) == sorted(good)
    assert await rows(databases, "SELECT subject, held_reason, lease_id FROM chamberlain.job") == [
        (BAD, HELD_AFTER_BUG, None)
    ]
    assert ("held", 1) in seen.outcomes
    assert [record.message for record in caplog.records if record.levelno == logging.ERROR] == [
        "A job cannot be run and is held."
    ]


async def test_a_request_whose_job_is_held_says_so_to_whoever_asked_for_it(databases: Databases) -> None:
    estate = await open_estate(databases)
    broken, good = await estate.request("Broken"), await estate.request("Good")
    # As a bug or an older process might have left it.
    wrong = """UPDATE chamberlain.request SET body = '{"displayName": 1}' WHERE request_id = $1"""
    await rows(databases, wrong, broken.request_id)

    async with working(databases, estate.provision_groups.provision):
        await until(lambda: queue_is_empty(databases))

    record = await estate.record(broken.request_id)
    assert (record.state, record.error) == (RequestState.WAITING, None)
    assert record.waiting is not None
    assert (record.waiting.shown_reason.sentence, record.waiting.next_attempt_at) == (HELD.sentence, None)
    assert (await estate.record(good.request_id)).state is RequestState.SUCCEEDED


async def test_a_job_whose_runs_were_cut_short_twenty_times_is_held(databases: Databases) -> None:
    finishing = FinishingHandler(databases)
    worn_out, nearly = uuid4(), uuid4()
    await queue(databases, ESTATE, worn_out, nearly)
    async with databases.worker.across_tenants() as tx:
        await tx.execute(
            "UPDATE chamberlain.job SET lease_id = gen_random_uuid(), lease_until = now() - interval '1 s', "
            "attempts = CASE subject WHEN $1 THEN 19 ELSE 18 END",
            worn_out,
        )

    async with working(databases, finishing):
        await until(lambda: queue_is_empty(databases))

    assert finishing.done == [nearly]
    assert await rows(databases, "SELECT subject, held_reason FROM chamberlain.job") == [(worn_out, HELD_AFTER_CRASHES)]


async def test_a_long_run_keeps_its_lease(databases: Databases) -> None:
    blocked = BlockedHandler()
    await queue(databases, ESTATE, uuid4())
    pace = Pace(
        lease=timedelta(seconds=1),
        renewal=timedelta(milliseconds=50),
        poll=timedelta(milliseconds=20),
        grace=timedelta(),
    )
    async with working(databases, blocked, pace=pace), working(databases, blocked, pace=pace):
        # More than a lease has passed since it was queued, and it is still leased.
        await until(lambda: rows(databases, "SELECT FROM chamberlain.job WHERE queued_at < now() - 2 * interval '1 s'"))
        still = await rows(databases, "SELECT lease_until > now(), attempts FROM chamberlain.job")

    assert still == [(True, 0)]
    assert len(blocked.taken) == 1


async def test_the_end_of_a_batch_makes_room_at_once_for_a_tenant_at_its_limit(databases: Databases) -> None:
    finishing = FinishingHandler(databases)
    await queue(databases, ESTATE, *(uuid4() for _ in range(100)))

    async with working(databases, finishing, pace=Pace(tenant_limit=10, poll=timedelta(hours=1))):
        await until(lambda: queue_is_empty(databases))

    assert len(finishing.done) == 100


async def test_a_bug_beside_a_job_is_reported_and_the_worker_goes_on(
    databases: Databases, caplog: pytest.LogCaptureFixture
) -> None:
    finishing = FinishingHandler(databases)

    def broken(_kind: JobKind, _outcome: str, _number: int) -> None:
        raise RuntimeError("a bug in what observes")

    await queue(databases, ESTATE, uuid4())
    loop = Loop(
        database=databases.worker,
        handlers={JobKind.GROUP_PROVISION: finishing},
        wake=asyncio.Event(),
        new_id=uuid4,
        holder=RequestJobHolder(databases.worker, Notifier(databases.addresses.application, REQUESTS_CHANNEL)),
        observe=broken,
        pace=PACE,
    )
    task = asyncio.create_task(loop.run())
    await until(lambda: queue_is_empty(databases))
    await queue(databases, ESTATE, uuid4())
    await until(lambda: queue_is_empty(databases))
    loop.stop()
    await task

    assert len(finishing.done) == 2
    assert "A part of the worker has ended by a bug." in [record.message for record in caplog.records]


@pytest.mark.heavy
async def test_one_job_of_one_tenant_is_done_before_two_thousand_of_another(databases: Databases) -> None:
    estate = await open_estate(databases)
    await asyncio.gather(*(estate.request(f"Group {number}") for number in range(2000)))
    one = await estate.request("One", caller=caller_of(ZOE, OTHER_HOUSE), templateId=str(OTHER_GROUP))

    async with working(databases, estate.provision_groups.provision):
        await until(lambda: estate.group(one.request_id, OTHER_HOUSE))
        ((left,),) = await rows(databases, "SELECT count(*) FROM chamberlain.job")
        await until(lambda: queue_is_empty(databases), seconds=60)

    assert int(str(left)) > 1000
    assert await rows(databases, "SELECT state, count(*) FROM chamberlain.request GROUP BY state") == [
        ("succeeded", 2001)
    ]
    assert await rows(databases, "SELECT count(*), count(DISTINCT request_id) FROM chamberlain.event") == [(2001, 2001)]


async def test_two_workers_make_each_group_once(databases: Databases) -> None:
    estate = await open_estate(databases)
    await asyncio.gather(*(estate.request(f"Group {number}") for number in range(300)))
    pace = Pace(batch=20, poll=timedelta(milliseconds=20))

    async with (
        working(databases, estate.provision_groups.provision, pace=pace),
        working(databases, estate.provision_groups.provision, pace=pace),
    ):
        await until(lambda: queue_is_empty(databases))

    assert await rows(databases, "SELECT count(*), count(DISTINCT request_id) FROM chamberlain.event") == [(300, 300)]
    assert await rows(databases, "SELECT count(*) FROM directory.groups WHERE extensions <> '{}'") == [(300,)]


class OwnServer:
    """A server of one test, which may be stopped and started."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._servers: list[postgres.Server] = []

    async def start(self) -> postgres.Server:
        server = await postgres.start(self._folder, programs=named_programs(), run_as=None)
        self._servers.append(server)
        return server

    async def stop(self) -> None:
        while self._servers:
            await self._servers.pop().stop()


@pytest.mark.heavy
async def test_it_handles_a_database_that_goes_away_and_comes_back() -> None:
    pace = replace(PACE, lease=timedelta(seconds=1), renewal=timedelta(milliseconds=100))
    blocked = BlockedHandler()

    async def taken() -> bool:
        return bool(blocked.taken)

    with short_folder() as folder:
        own = OwnServer(folder)
        async with migrated_database(await own.start()) as databases:
            estate = await open_estate(databases)

            async def noticed() -> bool:
                return databases.worker.pool.outages.current is not None

            async def held_up(claim: Claim) -> None:
                await blocked(claim)
                await estate.provision_groups.provision(claim)

            async with working(databases, held_up, pace=pace) as (_, task):
                accepted = [await estate.request(f"Group {number}") for number in range(5)]
                await until(taken)
                await own.stop()
                blocked.go.set()
                await until(noticed)
                await own.start()
                await until(lambda: queue_is_empty(databases))
                accepted.append(await estate.request("Later"))
                await until(lambda: queue_is_empty(databases))
                goes_on = not task.done()

            assert goes_on
            assert all([await estate.group(each.request_id) for each in accepted])
            assert await rows(databases, "SELECT count(*), count(DISTINCT request_id) FROM chamberlain.event") == [
                (6, 6)
            ]
        await own.stop()


async def test_it_handles_a_database_that_refuses_what_a_worker_must_do_and_says_so(
    databases: Databases, caplog: pytest.LogCaptureFixture
) -> None:
    estate = await open_estate(databases)

    async def told() -> bool:
        return "The worker cannot take jobs" in caplog.text

    async with connected(databases.addresses.owner) as owner:
        await owner.execute("REVOKE UPDATE ON chamberlain.job FROM chamberlain_worker")
        accepted = await estate.request("Apollo")
        async with working(databases, estate.provision_groups.provision):
            await until(told)
            await owner.execute("GRANT UPDATE ON chamberlain.job TO chamberlain_worker")
            await until(lambda: queue_is_empty(databases))

    assert await estate.group(accepted.request_id)
