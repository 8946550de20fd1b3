"""Hold a job that cannot be run: it waits for a person, and so does the request that it brings about."""

from dataclasses import dataclass

from chamberlain.rules.ids import RequestId
from chamberlain.rules.jobs import HELD, PROVISIONING, Claim, Job
from chamberlain.store import held_jobs, request_tasks
from chamberlain.store.database import Database
from chamberlain.store.notifier import Notifier


@dataclass(frozen=True, slots=True)
class HoldJob:
    """Works as the worker's role, on a job that is leased. `watchers` hear that its request has changed."""

    database: Database
    watchers: Notifier

    async def __call__(self, claim: Claim, job: Job, reason: str) -> None:
        """The reason is for administrators. What another worker has taken over is left to that one. Raises
        Unavailable."""
        async with self.database.across_tenants() as tx:
            if not await held_jobs.hold(tx, claim.lease_id, job.id, reason) or job.kind not in PROVISIONING:
                return
            await request_tasks.hold_up(tx, job.tenant_id, RequestId(job.subject), HELD)
        self.watchers.tell([RequestId(job.subject)])
