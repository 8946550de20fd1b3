"""Reopen findings whose acceptance has ended.

There is a job for each acceptance with an end, which runs then. It looks at what holds by now: an acceptance that was
given another end has a job of its own.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from chamberlain.rules.acceptances import change_of_reopening, has_ended, place_of, reopened
from chamberlain.rules.findings import FindingRecord, FindingState
from chamberlain.rules.jobs import Claim, Job, JobKind, Postponed
from chamberlain.store import acceptances, changes, findings, jobs, policy_tasks
from chamberlain.store.clocks import ReadTime
from chamberlain.store.database import Database


@dataclass(frozen=True, slots=True)
class ReopenFindings:
    """Works on a batch of claimed jobs, as the worker's role; each is a transaction of its own."""

    database: Database
    now: ReadTime

    async def __call__(self, claim: Claim) -> None:
        """Raises Unavailable."""
        for job in claim.jobs:
            after = await self._reopen(job)
            async with self.database.across_tenants() as tx:
                if after is None:
                    await jobs.complete(tx, claim.lease_id, [job.id])
                else:
                    await jobs.postpone(tx, claim.lease_id, [Postponed(job.id, after)])

    async def _reopen(self, job: Job) -> timedelta | None:
        """When to look again, None when that is not needed."""
        async with self.database.transaction(job.tenant_id) as tx:
            seen = await findings.find(tx, job.tenant_id, job.subject)
            if seen is None:
                return None
            # Whoever runs the policy of a group holds its row first, and then writes findings.
            await policy_tasks.hold(tx, [place_of(seen)])
            before = await findings.hold(tx, job.tenant_id, job.subject)
            if before is None:
                return None
            now = await self.now(tx)
            if not has_ended(before, now=now):
                is_replaced = await jobs.has_newer(tx, job)
                return None if is_replaced else _left(before, now=now)
            after = reopened(before)
            await acceptances.put(tx, after)
            await changes.record(tx, change_of_reopening(before, after, job.trace_id))
            if before.policy_id is not None:
                # Its clock has rested, and goes on.
                await jobs.queue(tx, JobKind.POLICY_EVALUATE, before.subject.id, job.trace_id)
            return None


def _left(record: FindingRecord, *, now: datetime) -> timedelta | None:
    """Compute how long an acceptance lasts from now."""
    acceptance = record.acceptance
    if record.state is not FindingState.ACCEPTED or acceptance is None or acceptance.until is None:
        return None
    return acceptance.until - now
