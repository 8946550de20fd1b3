# SPDX-License-Identifier: Apache-2.0
"""Reopen findings at the end of their acceptance.

Each acceptance with an end has a job that is due at that end. The job reads the current end: an acceptance that got
another end has a job of its own.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from chamberlain.changes.records import record_change
from chamberlain.database.clock import ReadTime
from chamberlain.database.transactions import Database
from chamberlain.guests import finding_records
from chamberlain.guests.findings.rules import has_ended, reopened, reopening_change, subject_key
from chamberlain.guests.models import FindingRecord, FindingState
from chamberlain.guests.policies import store as policy_store
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import Claim, Job, JobKind, Postponed
from chamberlain.queue.worker import JobTable


@dataclass(frozen=True, slots=True)
class FindingJobs:
    """Job handlers of findings. They run with the worker's role."""

    database: Database
    now: ReadTime

    async def reopen(self, claim: Claim) -> None:
        """Reopen the findings of claimed jobs, one transaction each. Raises Unavailable."""
        for job in claim.jobs:
            after = await self._reopen(job)
            async with self.database.across_tenants() as tx:
                if after is None:
                    await queue_jobs.complete(tx, claim.lease_id, [job.id])
                else:
                    await queue_jobs.postpone(tx, claim.lease_id, [Postponed(job.id, after)])

    async def _reopen(self, job: Job) -> timedelta | None:
        """Return the time until the next attempt, None if there is none."""
        async with self.database.transaction(job.tenant_id) as tx:
            seen = await finding_records.find(tx, job.tenant_id, job.subject)
            if seen is None:
                return None
            # The evaluation of a policy locks the group before it writes findings.
            await policy_store.lock(tx, [subject_key(seen)])
            before = await finding_records.lock(tx, job.tenant_id, job.subject)
            if before is None:
                return None
            now = await self.now(tx)
            if not has_ended(before, now=now):
                is_replaced = await queue_jobs.has_newer(tx, job)
                return None if is_replaced else _left(before, now=now)
            after = reopened(before)
            await finding_records.save_acceptance(tx, after)
            await record_change(tx, reopening_change(before, after, job.trace_id))
            if before.policy_id is not None:
                # The timer of the policy was paused during the acceptance.
                await queue_jobs.queue(tx, JobKind.POLICY_EVALUATE, before.subject.id, job.trace_id)
            return None


def _left(record: FindingRecord, *, now: datetime) -> timedelta | None:
    """Compute how long an acceptance lasts from now."""
    acceptance = record.acceptance
    if record.state is not FindingState.ACCEPTED or acceptance is None or acceptance.until is None:
        return None
    return acceptance.until - now


JOBS = JobTable(FindingJobs, {JobKind.FINDING_REOPEN: FindingJobs.reopen})
