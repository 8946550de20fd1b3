# SPDX-License-Identifier: Apache-2.0
"""Jobs of tenants whose directory has a lane or is parked: each alone, and no other tenant waits for them."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import uuid4

import pytest

from chamberlain.core.ids import TenantId
from chamberlain.database.notify import JOBS_CHANNEL, REQUESTS_CHANNEL, Notifier, listen
from chamberlain.directory.port import GroupOutcome, GroupWork
from chamberlain.groups.provision import GroupProvisioner
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.lanes import DirectoryLaneLoop, Places
from chamberlain.queue.models import USING_DIRECTORY, Job, JobKind, Lane, QueueDepth
from chamberlain.queue.worker import JobLoop, Loop, Pace
from chamberlain.requests.finish import RequestJobHolder
from tests.databases import Databases
from tests.estates import ESTATE, OTHER_GROUP, OTHER_HOUSE, ZOE, Estate, caller_of, open_estate, rows, until
from tests.faulty_directory import FaultyDirectory

LEASE = timedelta(seconds=10)
MILLISECONDS = timedelta(milliseconds=20)
PACE = Pace(poll=MILLISECONDS, pause=MILLISECONDS)
# No job here is long enough to make its lane a slow one by its time.
PLACES = Places(poll=MILLISECONDS, look=MILLISECONDS, pause=MILLISECONDS, fast_of_one=4, slow_after=timedelta(hours=1))
FLAGS = ["directory_lanes", "directory_parked"]


async def set_flag(databases: Databases, flag: str, *, tenant_id: TenantId = ESTATE, value: bool = True) -> None:
    statement = f"UPDATE chamberlain.tenant SET {flag} = $2 WHERE tenant_id = $1 RETURNING 1"  # noqa: S608 - our names
    await rows(databases, statement, tenant_id, value)


async def queue(databases: Databases, *kinds: JobKind, tenant_id: TenantId = ESTATE) -> None:
    """Add jobs of these kinds, due for five minutes."""
    await rows(
        databases,
        "INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id, run_at) "
        "SELECT $1, kind, gen_random_uuid(), '', now() - interval '5 minutes' FROM unnest($2::text[]) kind RETURNING 1",
        tenant_id,
        list(kinds),
    )


async def claim(databases: Databases) -> set[JobKind]:
    """Claim as the batch loop does."""
    async with databases.worker.across_tenants() as tx:
        jobs = await queue_jobs.claim(tx, uuid4(), kinds=JobKind, most=100, lease=LEASE, tenant_limit=100)
    return {job.kind for job in jobs}


async def claim_from_lanes(
    databases: Databases, *, of_one: int = 100, named: Sequence[Lane] = (), only_named: bool = False
) -> Sequence[tuple[Lane, Job]]:
    async with databases.worker.across_tenants() as tx:
        return await queue_jobs.claim_from_directory_lanes(
            tx,
            uuid4(),
            kinds=USING_DIRECTORY,
            most=100,
            of_one=of_one,
            lease=LEASE,
            named=named,
            only_named=only_named,
        )


async def measure(databases: Databases) -> QueueDepth:
    async with databases.worker.across_tenants() as tx:
        return await queue_jobs.measure(tx)


async def test_the_lane_of_a_directory_is_claimed_from_by_the_lane_loop_only(databases: Databases) -> None:
    await open_estate(databases)
    await set_flag(databases, "directory_lanes")
    await queue(databases, *JobKind)
    await queue(databases, JobKind.GROUP_PROVISION, tenant_id=OTHER_HOUSE)

    in_lanes = await claim_from_lanes(databases)
    others = await claim(databases)

    assert {job.kind for _, job in in_lanes} == USING_DIRECTORY
    assert {lane for lane, _ in in_lanes} == {(ESTATE, ESTATE)}
    assert others == set(JobKind) - USING_DIRECTORY | {JobKind.GROUP_PROVISION}


async def test_a_lane_has_as_many_leases_as_its_limit(databases: Databases) -> None:
    await open_estate(databases)
    await set_flag(databases, "directory_lanes")
    await queue(databases, *[JobKind.GROUP_PROVISION] * 10)

    first = await claim_from_lanes(databases, of_one=3)
    second = await claim_from_lanes(databases, of_one=3)

    assert (len(first), len(second)) == (3, 0)


@pytest.mark.parametrize("only_named", [False, True])
async def test_slow_lanes_are_named(databases: Databases, only_named: bool) -> None:  # noqa: FBT001 - parametrised
    await open_estate(databases)
    for tenant_id in (ESTATE, OTHER_HOUSE):
        await set_flag(databases, "directory_lanes", tenant_id=tenant_id)
        await queue(databases, JobKind.GROUP_PROVISION, tenant_id=tenant_id)

    found = await claim_from_lanes(databases, named=[(ESTATE, ESTATE)], only_named=only_named)

    assert [job.tenant_id for _, job in found] == [ESTATE if only_named else OTHER_HOUSE]


@pytest.mark.parametrize("flags", [["directory_parked"], FLAGS])
async def test_jobs_that_use_a_parked_directory_wait_and_keep_their_attempts(
    databases: Databases, flags: Sequence[str]
) -> None:
    await open_estate(databases)
    for flag in flags:
        await set_flag(databases, flag)
    await queue(databases, *JobKind)

    in_lanes, others = await claim_from_lanes(databases), await claim(databases)
    parked = await rows(databases, "SELECT DISTINCT attempts, lease_id FROM chamberlain.job WHERE lease_id IS NULL")
    await set_flag(databases, "directory_parked", value=False)
    again = {job.kind for _, job in await claim_from_lanes(databases)} | await claim(databases)

    assert in_lanes == []
    assert others == set(JobKind) - USING_DIRECTORY
    assert parked == [(0, None)]
    assert again == USING_DIRECTORY


async def test_parked_jobs_are_counted_apart(databases: Databases) -> None:
    await open_estate(databases)
    await set_flag(databases, "directory_parked")
    await queue(databases, *JobKind)
    parked = await measure(databases)
    await set_flag(databases, "directory_parked", value=False)
    due = await measure(databases)

    assert (parked.due, parked.parked) == (len(set(JobKind) - USING_DIRECTORY), len(USING_DIRECTORY))
    assert (due.due, due.parked) == (len(JobKind), 0)


async def test_a_tenant_with_parked_jobs_alone_has_no_old_jobs(databases: Databases) -> None:
    await open_estate(databases)
    await set_flag(databases, "directory_parked")
    await queue(databases, JobKind.GROUP_PROVISION)
    await rows(databases, "UPDATE chamberlain.job SET is_scheduled = true WHERE kind = 'groupProvision' RETURNING 1")
    await queue(databases, JobKind.MAILBOX_PROVISION)

    depth = await measure(databases)

    assert (depth.due, depth.parked, depth.oldest) == (0, 2, timedelta())


@pytest.mark.parametrize("flag", FLAGS)
async def test_a_change_of_a_flag_wakes_workers(databases: Databases, flag: str) -> None:
    await open_estate(databases)
    heard, listens = asyncio.Event(), asyncio.Event()

    def hear(_payload: str) -> None:
        (heard if listens.is_set() else listens).set()

    listening = asyncio.create_task(listen(databases.addresses.worker, JOBS_CHANNEL, hear))
    await listens.wait()
    await set_flag(databases, flag)
    async with asyncio.timeout(20):
        await heard.wait()
    listening.cancel()

    assert heard.is_set()


@dataclass
class ClosedDirectory(FaultyDirectory):
    """A directory whose calls for one tenant end when its door opens."""

    def __post_init__(self) -> None:
        self.door = asyncio.Event()
        self.waiting = 0

    async def ensure(self, works: Sequence[GroupWork]) -> Sequence[GroupOutcome]:
        if any(work.wanted.tenant_id == ESTATE for work in works):
            self.waiting += 1
            await self.door.wait()
        return await super().ensure(works)


@asynccontextmanager
async def working(databases: Databases, provisioner: GroupProvisioner) -> AsyncIterator[None]:
    """Run a batch loop and a lane loop, as a worker does."""
    holder = RequestJobHolder(databases.worker, Notifier(databases.addresses.application, REQUESTS_CHANNEL))
    handlers = {JobKind.GROUP_PROVISION: provisioner.provision}
    loops: Sequence[JobLoop[Pace] | JobLoop[Places]] = (
        Loop(
            database=databases.worker,
            handlers=handlers,
            wake=asyncio.Event(),
            new_id=uuid4,
            holder=holder,
            observe=lambda *_: None,
            pace=PACE,
        ),
        DirectoryLaneLoop(
            database=databases.worker,
            handlers=handlers,
            wake=asyncio.Event(),
            new_id=uuid4,
            holder=holder,
            observe=lambda *_: None,
            pace=PLACES,
        ),
    )
    tasks = [asyncio.create_task(loop.run()) for loop in loops]
    try:
        yield
    finally:
        for loop in loops:
            loop.stop()
        await asyncio.gather(*tasks)


async def states(estate: Estate, tenant_id: TenantId) -> list[tuple[object, ...]]:
    return await estate.rows(
        "SELECT state, count(*) FROM chamberlain.request WHERE tenant_id = $1 GROUP BY state", tenant_id
    )


@pytest.mark.parametrize("has_lane", [True, False])
async def test_a_tenant_ends_its_requests_while_the_directory_of_another_hangs(
    databases: Databases,
    has_lane: bool,  # noqa: FBT001 - parametrised
) -> None:
    """The other tenant has a lane as well, or its directory is that of the service."""
    estate = await open_estate(databases)
    directory = ClosedDirectory(estate.directory.directory)
    provisioner = replace(estate.provision_groups, directory=directory)
    await set_flag(databases, "directory_lanes")
    await set_flag(databases, "directory_lanes", tenant_id=OTHER_HOUSE, value=has_lane)
    for number in range(12):
        await estate.request(f"Slow {number}")

    async with working(databases, provisioner):
        await until(lambda: _are_waiting(directory, PLACES.fast_of_one))
        for number in range(12):
            await estate.request(f"Fast {number}", caller=caller_of(ZOE, OTHER_HOUSE), templateId=str(OTHER_GROUP))
        await until(lambda: _have_succeeded(estate, OTHER_HOUSE))
        slow = await states(estate, ESTATE)
        waiting = directory.waiting
        directory.door.set()
        await until(lambda: _have_succeeded(estate, ESTATE))

    assert "succeeded" not in [state for state, _ in slow]
    assert waiting == PLACES.fast_of_one


async def _are_waiting(directory: ClosedDirectory, number: int) -> bool:
    return directory.waiting >= number


async def _have_succeeded(estate: Estate, tenant_id: TenantId) -> bool:
    return await states(estate, tenant_id) == [("succeeded", 12)]
