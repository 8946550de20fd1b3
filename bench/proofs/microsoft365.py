# SPDX-License-Identifier: Apache-2.0
"""Does the adapter of Microsoft 365 keep its promises in a hostile fake of Graph?

Four parts: the conformance suite under many seeds, a kill after every request under many seeds, the use of the
published limits by two tenants, and their shares of one directory.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID, uuid5

import httpx2

from chamberlain.core.errors import TryAgain
from chamberlain.core.ids import RequestId, TenantId
from chamberlain.directory.budgets import Budgets
from chamberlain.directory.microsoft365.connection import Microsoft365, open_microsoft365
from chamberlain.directory.microsoft365.wire.pace import SHARE
from chamberlain.directory.port import GroupWork, Work
from chamberlain.queue.lanes import Places
from tests.databases import Databases, migrated_database
from tests.directory.group_work import work
from tests.directory.sample_directory import ADA, BEN, OTHER_TENANT, TENANT, ZOE
from tests.microsoft365.fake.application import FakeMicrosoft365
from tests.microsoft365.fake.sample import APP, sample_fake
from tests.microsoft365.fake.tenant import Tenant
from tests.microsoft365.simulated_time import CountedDatabase, SimulatedClock
from tests.microsoft365.stage import settings
from tests.postgres import running_postgres

GROUPS, TEAMS = 1_000, 200
# More than Graph permits in a second for one team.
CHANNELS = ("General", "Plans", "Meetings", "Archive", "Questions", "Reports")
# Of the tightest budget, of all calls, and of the writes of a tenant. A budget is SHARE of a published limit.
LEAST_USE, MOST_REFUSED, MOST_DIFFERENCE = 0.8, 0.01, 0.1
ANSWER_SECONDS = 0.2
PEOPLE = {TENANT: (ADA, BEN), OTHER_TENANT: (ZOE,)}
# Groups of two tenants that share a directory.
UNEQUAL = {TENANT: 200, OTHER_TENANT: 600}


class DistantServer(httpx2.AsyncBaseTransport):
    """Take some time for each answer."""

    def __init__(self, transport: httpx2.AsyncBaseTransport, clock: SimulatedClock) -> None:
        self._transport = transport
        self._clock = clock

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a request."""
        await self._clock.sleep(ANSWER_SECONDS)
        return await self._transport.handle_async_request(request)


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of the work of a tenant.

    `use` is the used part of each published limit until then, the fullest first. `writes` are those of both tenants.
    """

    seconds: float
    use: Sequence[tuple[float, str]]
    writes: Mapping[TenantId, int]


def main() -> int:
    """Run the parts. The result is 1 if one of them fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, help="of the conformance suite; default 200")
    parser.add_argument("--kill-seeds", type=int, default=50, help="of the kills; default 50")
    parser.add_argument("--part", action="append", choices=["seeds", "kills", "limits", "shares"], help="repeatable")
    asked = parser.parse_args()
    parts: Mapping[str, Callable[[], bool]] = {
        "seeds": lambda: _tests("tests/directory", "microsoft365-", CHAMBERLAIN_TEST_GRAPH_SEEDS=asked.seeds),
        "kills": lambda: _tests("tests/microsoft365/test_kills.py", "", CHAMBERLAIN_TEST_GRAPH_KILLS=asked.kill_seeds),
        "limits": lambda: _in_database(_measure),
        "shares": lambda: _in_database(_share),
    }
    failed = [name for name in asked.part or parts if not _timed(name, parts[name])]
    return int(bool(failed))


def _timed(name: str, part: Callable[[], bool]) -> bool:
    begin = time.monotonic()
    passed = part()
    print(f"{name}: {'passed' if passed else 'FAILED'} in {time.monotonic() - begin:.0f} s", flush=True)
    return passed


def _tests(path: str, names: str, **counts: int) -> bool:
    # The counts are those of a proof, so a busy machine needs more than the usual time limit of a test.
    options = ("-q", "-m", "", "-n", "2", "--dist", "load", "--timeout=900", "-k", names)
    command = [sys.executable, "-m", "pytest", *options, path]
    environment = {**os.environ, **{name: str(count) for name, count in counts.items()}}
    return subprocess.run(command, env=environment, check=False).returncode == 0


def _in_database(part: Callable[[Databases], Awaitable[bool]]) -> bool:
    with running_postgres() as server:

        async def measure() -> bool:
            async with migrated_database(server) as databases:
                return await part(databases)

        return asyncio.run(measure())


async def _measure(databases: Databases) -> bool:
    """Provision in both tenants at the same time, and compare with the limits as the fake counts them."""
    clock = SimulatedClock()
    fake = sample_fake(clock=clock)
    database = CountedDatabase(databases.worker, clock)
    budgets = Budgets(database, clock.monotonic, at=clock, sleep=clock.sleep)
    running = asyncio.create_task(clock.run())
    ended: dict[TenantId, Ended] = {}
    await asyncio.gather(*[_provision(fake, each, budgets, clock, ended) for each in PEOPLE])
    running.cancel()
    refused = sum(fake.limits.refused.values())
    print(f"{fake.limits.calls} calls, {refused} refused: {dict(fake.limits.refused)}", flush=True)
    tightest = [_report(fake.tenants[str(each)], ended[each]) for each in ended]
    [first, second] = next(iter(ended.values())).writes.values()
    print(f"writes of the tenants until the first one ended: {first} and {second}")
    return (
        refused < MOST_REFUSED * fake.limits.calls
        and min(tightest) > LEAST_USE
        and abs(first - second) <= MOST_DIFFERENCE * max(first, second)
        and all(_is_complete(fake.tenants[str(each)]) for each in PEOPLE)
    )


async def _share(databases: Databases) -> bool:
    """Provision for two tenants in one directory until the one with less work ends. Their budgets are the same."""
    clock = SimulatedClock()
    fake = sample_fake(clock=clock)
    budgets = Budgets(CountedDatabase(databases.worker, clock), clock.monotonic, at=clock, sleep=clock.sleep)
    running = asyncio.create_task(clock.run())
    created = dict.fromkeys(UNEQUAL, 0)

    async def provision(tenant_id: TenantId) -> None:
        transport = DistantServer(fake.transport(), clock)
        microsoft365 = open_microsoft365(
            settings(TENANT), tenant_id, budgets, transport=transport, sign_in=fake.http_client(), sleep=clock.sleep
        )
        # More work is also more jobs at a time, as in several processes.
        places = asyncio.Semaphore(Places().fast_of_one * UNEQUAL[tenant_id] // UNEQUAL[TENANT])

        async def one(number: int) -> None:
            request_id = RequestId(uuid5(UUID(int=number), str(tenant_id)))
            await _finish(microsoft365, work(tenant_id=tenant_id, request_id=request_id), clock, places)
            created[tenant_id] += 1

        try:
            await asyncio.gather(*[one(number) for number in range(UNEQUAL[tenant_id])])
        finally:
            await microsoft365.close()

    tasks = [asyncio.create_task(provision(each)) for each in UNEQUAL]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    first, second = created.values()
    for each in tasks:
        each.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    running.cancel()
    print(f"one directory: {first} groups of the first tenant, and {second} of the second with three times the work")
    return first == UNEQUAL[TENANT] and abs(first - second) <= MOST_DIFFERENCE * max(first, second)


def _report(tenant: Tenant, end: "Ended") -> float:
    """Print the fullest budgets, and return the use of the first one."""
    groups, teams = len(tenant.created("group")), len(tenant.created("team"))
    print(f"{groups - teams} groups and {teams} teams in {end.seconds:.1f} s. Use of budget and of published limit:")
    # At the beginning, a budget holds the calls of a second.
    of_budget = end.seconds / (end.seconds + 1) / SHARE
    for use, name in end.use[:3]:
        print(f"  {name}: {use * of_budget:.0%}, {use:.0%}")
    return end.use[0][0] * of_budget


def _is_complete(tenant: Tenant) -> bool:
    teams = len(tenant.created("team"))
    return [len(tenant.created("group")) - teams, teams] == [GROUPS // 2, TEAMS // 2]


async def _provision(
    fake: FakeMicrosoft365,
    tenant_id: TenantId,
    budgets: Budgets,
    clock: SimulatedClock,
    ended: dict[TenantId, "Ended"],
) -> None:
    transport = DistantServer(fake.transport(), clock)
    microsoft365 = open_microsoft365(
        settings(tenant_id), tenant_id, budgets, transport=transport, sign_in=fake.http_client(), sleep=clock.sleep
    )
    # The concurrent jobs of a worker process for one tenant.
    places = asyncio.Semaphore(Places().fast_of_one)
    await asyncio.gather(*[_finish(microsoft365, each, clock, places) for each in _works(tenant_id)])
    seconds, limits = clock.monotonic(), fake.limits
    # Counted by the fake, and divided by the calls that the published limit permits in this time.
    use = sorted(
        [
            (used / (limits.rates[key] * seconds), key[1] if key[0] == "teams" else key[0])
            for key, used in limits.used_by.items()
            if str(tenant_id) in key
        ],
        reverse=True,
    )
    writes = {each: limits.used_by["writes", str(APP), str(each)] for each in PEOPLE}
    ended[tenant_id] = Ended(seconds, use, writes)
    await microsoft365.close()


def _works(tenant_id: TenantId) -> Sequence[GroupWork]:
    people = PEOPLE[tenant_id]
    # Among each other: otherwise only one budget is in use at a time.
    count, share = (GROUPS + TEAMS) // 2, (GROUPS + TEAMS) // TEAMS
    kinds: list[tuple[str, ...] | None] = [None if number % share else CHANNELS for number in range(count)]
    return [
        work(
            tenant_id=tenant_id,
            request_id=RequestId(uuid5(UUID(int=number), str(tenant_id))),
            owners=people[:1],
            members=people,
            channels=channels,
        )
        for number, channels in enumerate(kinds)
    ]


async def _finish(
    microsoft365: Microsoft365, wanted: GroupWork, clock: SimulatedClock, places: asyncio.Semaphore
) -> None:
    """Provision a group as a worker does: record completed steps, and wait as long as the fault says."""
    left = wanted.steps
    while left:
        async with places:
            [outcome] = await microsoft365.adapters.directory.ensure([Work(wanted.wanted, left)])
        left = tuple(step for step in left if step not in outcome.done)
        if isinstance(outcome.fault, TryAgain):
            await clock.sleep(outcome.fault.after.total_seconds())
        elif outcome.fault is not None:
            raise outcome.fault


if __name__ == "__main__":
    sys.exit(main())
