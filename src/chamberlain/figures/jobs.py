# SPDX-License-Identifier: Apache-2.0
"""Count ended requests every minute, in the worker.

One job for the whole installation queues itself again. The position of the count moves in the transaction that counts,
so a repeated run counts nothing twice.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from chamberlain.core.ids import TraceId
from chamberlain.database.transactions import Database
from chamberlain.figures import store
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import Claim, JobKind, Postponed
from chamberlain.queue.worker import JobTable

# From the draw of a sequence to the commit of its transaction. A statement has a timeout of 30 seconds, and few of them
# follow the one that writes events.
SETTLED_AFTER: Final = timedelta(minutes=5)
PAUSE: Final = timedelta(minutes=1)
SHORT_PAUSE: Final = timedelta(seconds=1)
# Sequences of events of one transaction, which then takes some hundred milliseconds.
BATCH: Final = 10_000
# Transactions of one run, so that it ends soon when the worker stops.
BATCHES: Final = 20


@dataclass(frozen=True, slots=True)
class FigureJobs:
    """Counts the ended requests of all tenants, as the worker's role."""

    database: Database
    after: timedelta = SETTLED_AFTER
    batch: int = BATCH

    async def begin(self, trace_id: TraceId) -> None:
        """Queue the one job unless it is queued. Raises Unavailable."""
        async with self.database.across_tenants() as tx:
            await queue_jobs.queue_the_one(tx, JobKind.FIGURES_COUNT, trace_id)

    async def count(self, claim: Claim) -> None:
        """Count what has ended. Raises Unavailable."""
        for job in claim.jobs:
            pause = SHORT_PAUSE if await self._count() else PAUSE
            async with self.database.across_tenants() as tx:
                await queue_jobs.postpone(tx, claim.lease_id, [Postponed(job.id, pause)])

    async def _count(self) -> bool:
        """Count some batches, and return whether there may be more."""
        for _ in range(BATCHES):
            async with self.database.across_tenants() as tx:
                if await store.count(tx, after=self.after, most=self.batch) < self.batch:
                    return False
        return True


JOBS = JobTable(FigureJobs, {JobKind.FIGURES_COUNT: FigureJobs.count})
