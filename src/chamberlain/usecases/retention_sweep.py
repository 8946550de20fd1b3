"""Sweep: cancel what failed long ago, and remove what nobody looks at any more.

It is a job that queues itself again: there is one for the whole installation, and each run takes a few batches.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from chamberlain.rules.actions import Act, Action, Deed, change_of
from chamberlain.rules.callers import SERVICE
from chamberlain.rules.ids import EventId, RequestId, TenantId, TraceId
from chamberlain.rules.jobs import Claim, JobKind, Postponed
from chamberlain.rules.requests import RequestState
from chamberlain.rules.retention import BATCH, BATCHES, Retention, cutoffs, next_sweep
from chamberlain.store import (
    changes,
    deliveries,
    delivery_weeks,
    idempotency,
    jobs,
    requests,
    retention,
    webhook_secrets,
)
from chamberlain.store.database import Database, Transaction
from chamberlain.store.deeds import cancel
from chamberlain.store.notifier import Notifier


@dataclass(frozen=True, slots=True)
class SweepRetention:
    """Works as the worker's role, on all tenants. `watchers` hear of requests that have changed."""

    database: Database
    watchers: Notifier
    keep: Retention
    new_id: Callable[[], UUID]
    now: Callable[[], datetime]

    async def begin(self, trace_id: TraceId) -> None:
        """See to it that there is the one job. Raises Unavailable."""
        async with self.database.across_tenants() as tx:
            await jobs.queue_the_one(tx, JobKind.RETENTION_SWEEP, trace_id)

    async def __call__(self, claim: Claim) -> None:
        """Raises Unavailable."""
        for job in claim.jobs:
            swept = await self._sweep(job.trace_id)
            async with self.database.across_tenants() as tx:
                await jobs.postpone(tx, claim.lease_id, [Postponed(job.id, next_sweep(swept=swept))])

    async def _sweep(self, trace_id: TraceId) -> int:
        """Gives the size of the fullest of the last batches."""
        before = cutoffs(self.keep, self.now())
        # Keys first: one of a creation names its request.
        keys = await self._remove(lambda tx: idempotency.sweep(tx, before=before.keys, most=BATCH))
        async with self.database.across_tenants() as tx:
            failed = await retention.failed_before(tx, before.failed_requests, BATCH)
        for tenant_id, request_id in failed:
            await self._cancel(tenant_id, request_id, trace_id)
        removed = [
            await self._remove(lambda tx: retention.remove_finished(tx, before.finished_requests, BATCH)),
            await self._remove(lambda tx: retention.remove_events(tx, before.events, BATCH)),
            await self._remove(lambda tx: retention.remove_findings(tx, before.findings, BATCH)),
            await self._remove(lambda tx: retention.remove_repairs(tx, before.repairs, BATCH)),
            await self._remove(lambda tx: retention.remove_adoptions(tx, before.adoptions, BATCH)),
            await self._remove(lambda tx: webhook_secrets.sweep(tx, before=self.now(), most=BATCH)),
            await self._sweep_deliveries(before.deliveries),
        ]
        return max(keys, len(failed), *removed)

    async def _sweep_deliveries(self, before: datetime) -> int:
        """Weeks as a whole, and one by one what there is of weeks in which something waits still."""
        async with self.database.across_tenants() as tx:
            await delivery_weeks.keep(tx, now=self.now(), oldest=before)
        return await self._remove(lambda tx: deliveries.sweep(tx, before=before, most=BATCH))

    async def _remove(self, batch: Callable[[Transaction], Awaitable[int]]) -> int:
        """Gives the size of the last batch; when that was full, there may be more."""
        swept = BATCH
        for _ in range(BATCHES):
            if swept < BATCH:
                break
            async with self.database.across_tenants() as tx:
                swept = await batch(tx)
        return swept

    async def _cancel(self, tenant_id: TenantId, request_id: RequestId, trace_id: TraceId) -> None:
        """As anybody else cancels it, unless somebody has just retried it."""
        async with self.database.transaction(tenant_id) as tx:
            before = await requests.hold(tx, request_id)
            if before is None or before.state is not RequestState.FAILED:
                return
            done = await cancel(tx, before, event_id=EventId(self.new_id()), at=self.now())
            deed = Deed(Action.CANCEL, None, SERVICE, Act(None, None, trace_id), request_id)
            await changes.record(tx, change_of(deed, before, done.after, done.event))
        self.watchers.tell([request_id])
