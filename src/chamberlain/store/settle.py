"""Settling: what came of claimed jobs is written with their requests, events and deliveries, in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from chamberlain.rules.events import Event
from chamberlain.rules.ids import RequestId
from chamberlain.rules.jobs import Claim, Job, Postponed
from chamberlain.rules.progress import Settlement
from chamberlain.store import deliveries, events, jobs, request_tasks
from chamberlain.store.database import Database, Transaction


@dataclass(frozen=True, slots=True)
class Settled:
    """How a request is put down, and the event that tells of it, if one does."""

    settlement: Settlement
    event: Event | None


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
    ours = await jobs.complete(tx, claim.lease_id, ended) | await jobs.postpone(tx, claim.lease_id, waits)
    kept = [by_subject[_request(job)] for job in claim.jobs if job.id in ours and _request(job) in by_subject]
    await request_tasks.put_down(tx, [each.settlement for each in kept])
    told = [each.event for each in kept if each.event is not None]
    await events.append(tx, told)
    await deliveries.accept(tx, told)
    return [each.settlement.request_id for each in kept]


def _request(job: Job) -> RequestId:
    return RequestId(job.subject)
