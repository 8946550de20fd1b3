"""Hold a job that cannot be run, together with its request."""

from dataclasses import dataclass

from chamberlain.core.ids import RequestId
from chamberlain.database.transactions import Database
from chamberlain.queue import jobs_held_jobs
from chamberlain.queue.models import HELD, PROVISIONING, Claim, Job
from chamberlain.queue.notifier import Notifier
from chamberlain.requests import finish_request_tasks


@dataclass(frozen=True, slots=True)
class RequestJobHolder:
    """Hold jobs until an administrator releases them.

    `database` has the worker's role. `watchers` are notified that the request has changed.
    """

    database: Database
    watchers: Notifier

    async def hold(self, claim: Claim, job: Job, reason: str) -> None:
        """Hold a claimed job, unless another worker has taken it over.

        The reason is for administrators. Raises Unavailable.
        """
        async with self.database.across_tenants() as tx:
            if not await jobs_held_jobs.hold(tx, claim.lease_id, job.id, reason) or job.kind not in PROVISIONING:
                return
            await finish_request_tasks.hold_up(tx, job.tenant_id, RequestId(job.subject), HELD)
        self.watchers.tell([RequestId(job.subject)])
