# SPDX-License-Identifier: Apache-2.0
"""The loop that serves lanes: a slow or dead lane delays no other, and nothing is lost."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from uuid import UUID, uuid4

import pytest

from chamberlain.database.notify import REQUESTS_CHANNEL, Notifier
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.lanes import LaneLoop, Places
from chamberlain.queue.models import Claim, JobKind
from chamberlain.queue.worker import Handler
from chamberlain.requests.finish import RequestJobHolder
from tests.databases import Databases
from tests.estates import ESTATE, OTHER_HOUSE, open_estate, rows, until
from tests.queue.fake_jobs import HELD_AFTER_BUG, HELD_AFTER_CRASHES
from tests.queue.test_loop import Clock

PLACES = Places(
    poll=timedelta(milliseconds=20),
    look=timedelta(milliseconds=20),
    pause=timedelta(milliseconds=20),
    # Long enough that a busy machine makes no lane slow whose door is open.
    slow_after=timedelta(seconds=1),
)
LEFT = "SELECT FROM chamberlain.job WHERE held_reason IS NULL AND lane = $1 LIMIT 1"


class LaneHandler:
    """A handler that finishes jobs, but for those of lanes whose door is shut, and of those that meet a bug."""

    def __init__(self, databases: Databases, *shut: UUID) -> None:
        self._databases = databases
        self.shut = {lane: asyncio.Event() for lane in shut}
        self.lanes: dict[UUID, UUID] = {}
        self.done: Counter[UUID] = Counter()
        self.running: Counter[UUID] = Counter()
        self.most: defaultdict[UUID, int] = defaultdict(int)
        self.bad: set[UUID] = set()

    async def __call__(self, claim: Claim) -> None:
        (job,) = claim.jobs
        lane = self.lanes[job.subject]
        self.running[lane] += 1
        self.most[lane] = max(self.most[lane], self.running[lane])
        try:
            if lane in self.shut:
                await self.shut[lane].wait()
            if job.subject in self.bad:
                raise ValueError("a bug")
            async with self._databases.worker.across_tenants() as tx:
                done = await queue_jobs.complete(tx, claim.lease_id, [job.id])
            self.done[lane] += len(done)
        finally:
            self.running[lane] -= 1

    async def queue(self, lane: UUID, number: int, tenant_id: UUID = ESTATE) -> list[UUID]:
        subjects = [uuid4() for _ in range(number)]
        self.lanes.update(dict.fromkeys(subjects, lane))
        await rows(
            self._databases,
            "INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id, lane) "
            "SELECT $1, 'webhookDeliver', subject, '', $2 FROM unnest($3::uuid[]) subject RETURNING 1",
            tenant_id,
            lane,
            subjects,
        )
        return subjects


@asynccontextmanager
async def serving(
    databases: Databases, handler: Handler, places: Places = PLACES, *, may_claim: Callable[[], bool] = lambda: True
) -> AsyncIterator[LaneLoop]:
    loop = LaneLoop(
        database=databases.worker,
        handlers={JobKind.WEBHOOK_DELIVER: handler},
        wake=asyncio.Event(),
        new_id=uuid4,
        holder=RequestJobHolder(databases.worker, Notifier(databases.addresses.application, REQUESTS_CHANNEL)),
        observe=lambda *_: None,
        may_claim=may_claim,
        pace=places,
    )
    task = asyncio.create_task(loop.run())
    try:
        yield loop
    finally:
        loop.stop()
        await task


async def test_it_works(databases: Databases) -> None:
    lane_handler, lane = LaneHandler(databases), uuid4()
    await lane_handler.queue(lane, 300)
    async with serving(databases, lane_handler):
        await until(lambda: is_empty(databases, lane))

    assert lane_handler.done == {lane: 300}
    assert lane_handler.most[lane] <= PLACES.fast_of_one


async def test_a_worker_with_a_wrong_clock_claims_nothing_until_the_clock_is_right(databases: Databases) -> None:
    lane_handler, clock, lane = LaneHandler(databases), Clock(), uuid4()
    await lane_handler.queue(lane, 1)
    async with serving(databases, lane_handler, may_claim=clock):
        await until(clock.was_asked_often)
        done_before = lane_handler.done[lane]
        clock.is_right = True
        await until(lambda: is_empty(databases, lane))

    assert (done_before, lane_handler.done[lane]) == (0, 1)


@pytest.mark.heavy
async def test_lanes_that_hang_delay_nobody_else(databases: Databases) -> None:
    hanging, well, late = [uuid4() for _ in range(40)], uuid4(), uuid4()
    lane_handler = LaneHandler(databases, *hanging)
    for lane in hanging:
        await lane_handler.queue(lane, 50)
    await lane_handler.queue(well, 200)
    async with serving(databases, lane_handler, PLACES):
        await until(lambda: is_empty(databases, well), seconds=60)
        # Now that they are known, not even the first of another lane waits for them.
        await lane_handler.queue(late, 200, OTHER_HOUSE)
        await until(lambda: is_empty(databases, late))

        assert (lane_handler.done[well], lane_handler.done[late]) == (200, 200)
        assert sum(lane_handler.running[lane] for lane in hanging) <= PLACES.all
        for door in lane_handler.shut.values():
            door.set()
        for lane in hanging:
            await until(partial(is_empty, databases, lane))

    assert sum(lane_handler.done.values()) == 40 * 50 + 400


async def test_a_lane_that_is_slow_has_few_places(databases: Databases) -> None:
    slow, other = uuid4(), uuid4()
    lane_handler = LaneHandler(databases, slow)
    # Everything is slow here.
    places = Places(fast_of_one=4, slow_of_one=2, poll=PLACES.poll, look=PLACES.look, slow_after=timedelta())
    await lane_handler.queue(slow, 4)
    async with serving(databases, lane_handler, places):

        async def has_begun() -> bool:
            return lane_handler.running[slow] == 4

        await until(has_begun)
        await lane_handler.queue(slow, 30)
        await lane_handler.queue(other, 30)
        # Others come and go, but there is no place for more of it as long as these run.
        await until(partial(is_empty, databases, other))
        assert (lane_handler.running[slow], lane_handler.most[slow]) == (4, 4)
        lane_handler.shut[slow].set()
        await until(partial(is_empty, databases, slow))

    assert lane_handler.done == {slow: 34, other: 30}
    assert lane_handler.most[other] <= 4


async def test_a_job_that_meets_a_bug_is_held_and_the_others_are_done(databases: Databases) -> None:
    lane_handler, lane = LaneHandler(databases), uuid4()
    (bad, *_) = await lane_handler.queue(lane, 5)
    lane_handler.bad.add(bad)
    async with serving(databases, lane_handler):
        await until(lambda: is_empty(databases, lane))

    held = await rows(databases, "SELECT subject, held_reason FROM chamberlain.job")
    assert held == [(bad, HELD_AFTER_BUG)]


async def test_a_job_that_was_cut_short_too_often_is_held(databases: Databases) -> None:
    lane_handler, lane = LaneHandler(databases), uuid4()
    await lane_handler.queue(lane, 1)
    await rows(databases, "UPDATE chamberlain.job SET attempts = 20 RETURNING 1")
    async with serving(databases, lane_handler):
        await until(lambda: is_empty(databases, lane))

    assert await rows(databases, "SELECT held_reason FROM chamberlain.job") == [(HELD_AFTER_CRASHES,)]


async def test_a_stop_gives_back_what_hangs(databases: Databases) -> None:
    lane = uuid4()
    lane_handler = LaneHandler(databases, lane)
    await lane_handler.queue(lane, 10)
    places = Places(poll=PLACES.poll, look=PLACES.look, grace=timedelta(milliseconds=50))
    async with serving(databases, lane_handler, places):

        async def has_begun() -> bool:
            return lane_handler.running[lane] == 10

        await until(has_begun)

    assert await rows(databases, "SELECT DISTINCT lease_id, attempts FROM chamberlain.job") == [(None, 0)]


async def test_a_suspended_tenant_rests(databases: Databases) -> None:
    await open_estate(databases)
    lane_handler, lane, other = LaneHandler(databases), uuid4(), uuid4()
    await rows(databases, "UPDATE chamberlain.tenant SET suspended = true WHERE tenant_id = $1 RETURNING 1", ESTATE)
    await lane_handler.queue(lane, 1)
    await lane_handler.queue(other, 1, OTHER_HOUSE)
    async with serving(databases, lane_handler):
        await until(lambda: is_empty(databases, other))

    assert lane_handler.done == {other: 1}


async def test_what_waits_in_lanes_is_not_claimed_by_others(databases: Databases) -> None:
    lane_handler = LaneHandler(databases)
    await lane_handler.queue(uuid4(), 3)

    async with databases.worker.across_tenants() as tx:
        taken = await queue_jobs.claim(
            tx, uuid4(), kinds=JobKind, most=10, lease=timedelta(seconds=10), tenant_limit=10
        )

    assert taken == []


async def is_empty(databases: Databases, lane: UUID) -> bool:
    return not await rows(databases, LEFT, lane)
