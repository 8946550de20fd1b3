# SPDX-License-Identifier: Apache-2.0
"""Does the adapter of Microsoft 365 keep its promises in a hostile fake of Graph?

Three parts: the conformance suite under many seeds, a kill after every request under many seeds, and the use of the
published limits by two tenants in real time.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID, uuid5

from chamberlain.core.errors import TryAgain
from chamberlain.core.ids import RequestId, TenantId
from chamberlain.directory.budgets import Budgets
from chamberlain.directory.microsoft365.connection import Microsoft365, open_microsoft365
from chamberlain.directory.port import GroupWork, Work
from tests.databases import Databases, migrated_database
from tests.directory.group_work import work
from tests.directory.sample_directory import ADA, BEN, OTHER_TENANT, TENANT, ZOE
from tests.microsoft365.fake.application import FakeMicrosoft365
from tests.microsoft365.fake.clock import Clock
from tests.microsoft365.fake.sample import sample_fake
from tests.microsoft365.stage import settings
from tests.postgres import running_postgres

GROUPS, TEAMS = 1_000, 200
# The used part of the tightest budget: 16 writes a second for each directory, 80 % of the published limit.
WRITES_PER_SECOND = 16.0
LEAST_USE, MOST_REFUSED, MOST_DIFFERENCE = 0.8, 0.01, 0.1
PEOPLE = {TENANT: (ADA, BEN), OTHER_TENANT: (ZOE,)}


class RealClock(Clock):
    """The clock of the fake in real time."""

    def __call__(self) -> datetime:
        return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Provisioned:
    """A provisioned tenant: seconds, and the objects that exist."""

    seconds: float
    groups: int
    teams: int


def main() -> int:
    """Run the parts. The result is 1 if one of them fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, help="of the conformance suite; default 200")
    parser.add_argument("--kill-seeds", type=int, default=50, help="of the kills; default 50")
    parser.add_argument("--part", action="append", choices=["seeds", "kills", "limits"], help="repeatable")
    asked = parser.parse_args()
    parts: Mapping[str, Callable[[], bool]] = {
        "seeds": lambda: _tests("tests/directory", "microsoft365-", CHAMBERLAIN_TEST_GRAPH_SEEDS=asked.seeds),
        "kills": lambda: _tests("tests/microsoft365/test_kills.py", "", CHAMBERLAIN_TEST_GRAPH_KILLS=asked.kill_seeds),
        "limits": _limits,
    }
    failed = [name for name in asked.part or parts if not _timed(name, parts[name])]
    return int(bool(failed))


def _timed(name: str, part: Callable[[], bool]) -> bool:
    begin = time.monotonic()
    passed = part()
    print(f"{name}: {'passed' if passed else 'FAILED'} in {time.monotonic() - begin:.0f} s", flush=True)
    return passed


def _tests(path: str, names: str, **counts: int) -> bool:
    command = [sys.executable, "-m", "pytest", "-q", "-m", "", "-k", names, path]
    environment = {**os.environ, **{name: str(count) for name, count in counts.items()}}
    return subprocess.run(command, env=environment, check=False).returncode == 0


def _limits() -> bool:
    with running_postgres() as server:

        async def measure() -> bool:
            async with migrated_database(server) as databases:
                return await _measure(databases)

        return asyncio.run(measure())


async def _measure(databases: Databases) -> bool:
    """Provision in both tenants at the same time, and compare with the limits that the fake has counted."""
    fake = sample_fake(clock=RealClock())
    budgets = Budgets(databases.worker, time.monotonic)
    begin = time.monotonic()
    tenants = await asyncio.gather(*[_provision(fake, each, budgets, begin) for each in PEOPLE])
    refused = sum(fake.limits.refused.values())
    first, second = (each.seconds for each in tenants)
    use = [(each.groups + each.teams) / each.seconds / WRITES_PER_SECOND for each in tenants]
    print(f"calls: {fake.limits.calls}, refused: {refused}", flush=True)
    for each, used in zip(tenants, use, strict=True):
        print(f"{each.groups} groups and {each.teams} teams in {each.seconds:.1f} s, {used:.0%} of the writes")
    expected = [GROUPS // 2, TEAMS // 2]
    return (
        refused < MOST_REFUSED * fake.limits.calls
        and min(use) > LEAST_USE
        and abs(first - second) <= MOST_DIFFERENCE * max(first, second)
        and all([each.groups, each.teams] == expected for each in tenants)
    )


async def _provision(fake: FakeMicrosoft365, tenant_id: TenantId, budgets: Budgets, begin: float) -> Provisioned:
    microsoft365 = open_microsoft365(
        settings(tenant_id), tenant_id, budgets, transport=fake.transport(), sign_in=fake.http_client()
    )
    works = list(_works(tenant_id))
    await asyncio.gather(*[_finish(microsoft365, each) for each in works])
    seconds = time.monotonic() - begin
    await microsoft365.close()
    tenant = fake.tenants[str(tenant_id)]
    teams = len(tenant.created("team"))
    return Provisioned(seconds, len(tenant.created("group")) - teams, teams)


def _works(tenant_id: TenantId) -> Sequence[GroupWork]:
    people = PEOPLE[tenant_id]
    # Among each other: otherwise only one budget is in use at a time.
    count, share = (GROUPS + TEAMS) // 2, (GROUPS + TEAMS) // TEAMS
    kinds: list[tuple[str, ...] | None] = [None if number % share else ("General",) for number in range(count)]
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


async def _finish(microsoft365: Microsoft365, wanted: GroupWork) -> None:
    """Provision a group as a worker does: record completed steps, and wait as long as the fault says."""
    left = wanted.steps
    while left:
        [outcome] = await microsoft365.adapters.directory.ensure([Work(wanted.wanted, left)])
        left = tuple(step for step in left if step not in outcome.done)
        if isinstance(outcome.fault, TryAgain):
            await asyncio.sleep(outcome.fault.after.total_seconds())
        elif outcome.fault is not None:
            raise outcome.fault


if __name__ == "__main__":
    sys.exit(main())
