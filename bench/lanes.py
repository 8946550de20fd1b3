# SPDX-License-Identifier: Apache-2.0
"""Does a slow directory of one tenant delay the requests of another?

Both tenants have directories in lanes. Each call of the one takes 10 s, each call of the other 10 ms. The requests of
the other are worked off alone, and beside those of the slow one. bench/README.md says what the columns mean.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

from bench.measuring.arguments import read_arguments
from bench.measuring.report import Row, report
from chamberlain.core.ids import TenantId
from chamberlain.database.notify import REQUESTS_CHANNEL, Notifier
from chamberlain.directory.groups import GroupReference, ObservedGroup
from chamberlain.directory.port import GroupOutcome, GroupWork
from chamberlain.embedded import postgres
from chamberlain.queue.lanes import DirectoryLaneLoop
from chamberlain.queue.models import JobKind
from chamberlain.requests.finish import RequestJobHolder
from tests.databases import migrated_database
from tests.estates import ESTATE, OTHER_GROUP, OTHER_HOUSE, ZOE, Estate, caller_of, open_estate, rows, until
from tests.faulty_directory import FaultyDirectory
from tests.postgres import running_postgres

COLUMNS = {"seconds": ".2f", "per second": ".0f", "slow calls": ".0f"}
# Seconds.
SLOW, FAST = 10.0, 0.010
LANES = "UPDATE chamberlain.tenant SET directory_lanes = true RETURNING 1"
LEFT = "SELECT 1 FROM chamberlain.request WHERE tenant_id = $1 AND state <> 'succeeded' LIMIT 1"


@dataclass
class TimedDirectory(FaultyDirectory):
    """A directory whose calls take a given time for each tenant."""

    slow_calls: int = 0

    async def observe(self, references: Sequence[GroupReference]) -> Sequence[ObservedGroup | None]:
        """Observe after the time of a call."""
        await self._take(reference.tenant_id for reference in references)
        return await super().observe(references)

    async def ensure(self, works: Sequence[GroupWork]) -> Sequence[GroupOutcome]:
        """Provision after the time of a call."""
        await self._take(work.wanted.tenant_id for work in works)
        return await super().ensure(works)

    async def _take(self, tenants: Iterable[TenantId]) -> None:
        is_slow = ESTATE in set(tenants)
        self.slow_calls += is_slow
        await asyncio.sleep(SLOW if is_slow else FAST)


def main() -> None:
    """Read the arguments of the command line, measure and report."""
    asked = read_arguments(__doc__, quick={"rounds": 1, "number": 50}, rounds=5, number=400)
    rounds: dict[str, list[Mapping[str, float]]] = defaultdict(list)
    with running_postgres() as server:
        for _ in range(asked.rounds):
            for name, slow in (("alone", 0), ("beside a slow one", asked.number)):
                rounds[name].append(asyncio.run(measure_lanes(server, asked.number, slow)))
    report("lanes", [Row(*each) for each in rounds.items()], columns=COLUMNS)


async def measure_lanes(server: postgres.Server, fast: int, slow: int) -> dict[str, float]:
    """Work off the requests of the fast tenant, beside so many of the slow one."""
    async with migrated_database(server) as databases:
        estate = await open_estate(databases)
        await rows(databases, LANES)
        directory = TimedDirectory(estate.directory.directory)
        loop = make_loop(estate, directory)
        running = asyncio.create_task(loop.run())
        for number in range(slow):
            await estate.request(f"Slow {number}")
        if slow:
            await until(lambda: _has_slow_calls(directory, loop.pace.slow_of_one))
        loop.may_claim = lambda: False
        for number in range(fast):
            await estate.request(f"Fast {number}", caller=caller_of(ZOE, OTHER_HOUSE), templateId=str(OTHER_GROUP))
        begun = time.perf_counter()
        loop.may_claim = lambda: True
        loop.wake.set()
        await until(lambda: _have_ended(estate), seconds=120)
        took = time.perf_counter() - begun
        loop.stop()
        await running
    return {"seconds": took, "per second": fast / took, "slow calls": directory.slow_calls}


def make_loop(estate: Estate, directory: TimedDirectory) -> DirectoryLaneLoop:
    """Build the loop that a worker has for directories in lanes."""
    databases = estate.databases
    return DirectoryLaneLoop(
        database=databases.worker,
        handlers={JobKind.GROUP_PROVISION: replace(estate.provision_groups, directory=directory).provision},
        wake=asyncio.Event(),
        new_id=uuid4,
        holder=RequestJobHolder(databases.worker, Notifier(databases.addresses.application, REQUESTS_CHANNEL)),
        observe=lambda *_: None,
    )


async def _has_slow_calls(directory: TimedDirectory, number: int) -> bool:
    return directory.slow_calls >= number


async def _have_ended(estate: Estate) -> bool:
    return not await estate.rows(LEFT, OTHER_HOUSE)


if __name__ == "__main__":
    main()
