"""Settling: what came of claimed jobs is written with their requests, events and deliveries, in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from chamberlain.changes import record_event_log
from chamberlain.changes.models_events import Event
from chamberlain.core.ids import RequestId
from chamberlain.database.transactions import Database, Transaction
from chamberlain.events import outbox
from chamberlain.events.outbox_outbox import Telling
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import Claim, Job, Postponed
from chamberlain.requests import finish_request_tasks
from chamberlain.requests.steps_progress import Settlement, Task


@dataclass(frozen=True, slots=True)
class Settled:
    """How a request is put down, and the event that tells of it, if one does. `task` is the request itself, where the
    webhook of its template may be told."""

    settlement: Settlement
    event: Event | None
    task: Task | None

    @property
    def telling(self) -> Telling | None:
        """What the webhook is told."""
        if self.event is None or self.task is None:
            return None
        return Telling(self.event, self.task.template_id, self.task.trace_id)


async def settle(database: Database, claim: Claim, settled: Sequence[Settled], *, now: datetime) -> Sequence[RequestId]:
    """Write what came of it; gives the requests that have changed. What another worker has taken over meanwhile is left
    to that one, and a job whose request was cancelled is done."""
    async with database.across_tenants() as tx:
        return await settle_within(tx, claim, settled, now=now)


async def settle_within(
    tx: Transaction, claim: Claim, settled: Sequence[Settled], *, now: datetime
) -> Sequence[RequestId]:
    """The same, in a transaction that writes more than that."""
    by_subject = {each.settlement.request_id: each for each in settled}
    waits = [
        Postponed(job.id, again - now)
        for job in claim.jobs
        if (each := by_subject.get(_request(job)))
        and (waiting := each.settlement.progress.waiting)
        and (again := waiting.next_attempt_at)
    ]
    postponed = {wait.job_id for wait in waits}
    ended = [job.id for job in claim.jobs if job.id not in postponed]
    ours = await queue_jobs.complete(tx, claim.lease_id, ended) | await queue_jobs.postpone(tx, claim.lease_id, waits)
    kept = [by_subject[_request(job)] for job in claim.jobs if job.id in ours and _request(job) in by_subject]
    await finish_request_tasks.put_down(tx, [each.settlement for each in kept])
    await record_event_log.append(tx, [each.event for each in kept if each.event is not None])
    await outbox.accept(tx, [telling for each in kept if (telling := each.telling) is not None])
    return [each.settlement.request_id for each in kept]


def _request(job: Job) -> RequestId:
    return RequestId(job.subject)
