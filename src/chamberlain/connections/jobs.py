# SPDX-License-Identifier: Apache-2.0
"""Check broken connections again, in the worker.

One job for the whole installation queues itself again. An administrator who repairs a connection checks it at once; the
job notices repairs on the side of the directory.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from chamberlain.auth.models import SERVICE, Editor
from chamberlain.connections import store
from chamberlain.connections.models import Target
from chamberlain.connections.service import Check
from chamberlain.connections.states import ConnectionStates
from chamberlain.core.errors import ConnectionBroken, TryAgain
from chamberlain.core.ids import TraceId
from chamberlain.database.notify import Notifier
from chamberlain.database.transactions import Database
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import Claim, JobKind, Postponed
from chamberlain.queue.worker import JobTable

# Pause between two searches for due checks. The first check of a broken connection is due after a minute.
PAUSE: Final = timedelta(seconds=30)
# Checks of one run. Each takes some seconds if the directory does not answer.
BATCH: Final = 10


@dataclass(frozen=True, slots=True)
class ConnectionJobs:
    """Checks broken connections of all tenants, as the worker's role.

    `processes` are notified of a connection that is ready, `workers` of jobs that can continue.
    """

    database: Database
    check_target: Check
    processes: Notifier
    workers: Notifier
    new_id: Callable[[], UUID]
    now: Callable[[], datetime]

    async def begin(self, trace_id: TraceId) -> None:
        """Queue the one job unless it is queued. Raises Unavailable."""
        async with self.database.across_tenants() as tx:
            await queue_jobs.queue_the_one(tx, JobKind.CONNECTION_CHECK, trace_id)

    async def check(self, claim: Claim) -> None:
        """Check connections whose check is due. Raises Unavailable."""
        for job in claim.jobs:
            async with self.database.across_tenants() as tx:
                due = await store.find_due(tx, BATCH)
            for target in due:
                await self._check(target, Editor(SERVICE, None, job.trace_id, None))
            async with self.database.across_tenants() as tx:
                await queue_jobs.postpone(tx, claim.lease_id, [Postponed(job.id, PAUSE)])

    async def _check(self, target: Target, editor: Editor) -> None:
        connection, states = target.connection, ConnectionStates(self.new_id, self.now)
        try:
            described = await self.check_target(target)
        except ConnectionBroken as error:
            async with self.database.across_tenants() as tx:
                await states.stay_broken(tx, connection, error)
            return
        except TryAgain:
            async with self.database.across_tenants() as tx:
                await store.postpone(tx, connection)
            return
        async with self.database.across_tenants() as tx:
            await states.make_ready(tx, connection, described, editor)
        self.processes.flag()
        self.workers.flag()


JOBS = JobTable(ConnectionJobs, {JobKind.CONNECTION_CHECK: ConnectionJobs.check})
