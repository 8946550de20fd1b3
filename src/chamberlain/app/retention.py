"""Cancel requests that failed long ago, and remove rows whose time of keeping is over.

One job for the whole installation queues itself again. Each run takes a few batches. All cut-offs go by the database's
clock, read in the transaction that removes, and nothing is removed while that clock is doubted.
"""

import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from uuid import UUID

from chamberlain.app import retention_retention
from chamberlain.app.retention_rules_retention import BATCH, BATCHES, Cutoffs, Retention, cutoffs, next_sweep
from chamberlain.auth.models import SERVICE
from chamberlain.changes import record
from chamberlain.core.idempotency import Act
from chamberlain.core.ids import EventId, RequestId, TenantId, TraceId
from chamberlain.database import clock
from chamberlain.database.clock import ReadClock
from chamberlain.database.clock_clocks import ClockReading
from chamberlain.database.transactions import Database, Transaction
from chamberlain.http import idempotency_idempotency
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import Claim, JobKind, Postponed
from chamberlain.queue.notifier import Notifier
from chamberlain.requests import records as request_records
from chamberlain.requests.actions import cancel
from chamberlain.requests.models import RequestState
from chamberlain.requests.rules import Action, Deed, change_of
from chamberlain.template_admin import webhook_secrets
from chamberlain.webhooks import store as webhook_store
from chamberlain.webhooks import store_delivery_weeks

# Removes one batch with the cut-offs of its transaction, and returns the number of rows.
Batch = Callable[[Transaction, Cutoffs], Awaitable[int]]

logger = logging.getLogger(__name__)


class ClockDoubted(Exception):
    """The database's clock is too far ahead to remove anything by it."""

    def __init__(self, reading: ClockReading) -> None:
        super().__init__()
        self.reading = reading


@dataclass(slots=True)
class Swept:
    """Rows removed by one run, by table, and the size of the fullest last batch."""

    removed: Counter[str] = field(default_factory=Counter)
    fullest: int = 0


@dataclass(frozen=True, slots=True)
class SweepRetention:
    """Works as the worker's role, on all tenants. `watchers` are notified of requests that have changed.

    `observe` counts the rows removed from a table. `read_clock` reads the database's clock in a transaction.
    """

    database: Database
    watchers: Notifier
    keep: Retention
    new_id: Callable[[], UUID]
    observe: Callable[[str, int], None]
    read_clock: ReadClock = clock.observe

    async def begin(self, trace_id: TraceId) -> None:
        """Queue the one job unless it is queued. Raises Unavailable."""
        async with self.database.across_tenants() as tx:
            await queue_jobs.queue_the_one(tx, JobKind.RETENTION_SWEEP, trace_id)

    async def __call__(self, claim: Claim) -> None:
        """Raises Unavailable."""
        for job in claim.jobs:
            swept = await self._sweep(job.trace_id)
            async with self.database.across_tenants() as tx:
                await queue_jobs.postpone(tx, claim.lease_id, [Postponed(job.id, next_sweep(swept=swept.fullest))])

    async def _sweep(self, trace_id: TraceId) -> Swept:
        swept = Swept()
        try:
            async with self.database.across_tenants() as tx:
                await self.read_clock(tx)
            await self._sweep_all(swept, trace_id)
        except ClockDoubted as doubted:
            # No traceback: the code is right, and the clock is not.
            logger.error(  # noqa: TRY400
                "Retention removes nothing: the database's clock is days past its last trusted reading. "
                "Correct it, or run `chamberlain retention confirm` if it is right.",
                extra={
                    "databaseTime": str(doubted.reading.now),
                    "trustedTime": str(doubted.reading.record.trusted_at),
                    "traceId": trace_id,
                },
            )
        if swept.removed.total():
            logger.info("Retention removed rows.", extra={"removed": dict(swept.removed), "traceId": trace_id})
        return swept

    async def _sweep_all(self, swept: Swept, trace_id: TraceId) -> None:
        # Keys first: a key of a creation names its request.
        await self._remove(
            swept, "idempotency_key", lambda tx, at: idempotency_idempotency.sweep(tx, before=at.keys, most=BATCH)
        )
        await self._cancel_failed(swept, trace_id)
        batches: dict[str, Batch] = {
            "request": lambda tx, at: retention_retention.remove_finished(tx, at.finished_requests, BATCH),
            "event": lambda tx, at: retention_retention.remove_events(tx, at.events, BATCH),
            "finding": lambda tx, at: retention_retention.remove_findings(tx, at.findings, BATCH),
            "drift_repair": lambda tx, at: retention_retention.remove_repairs(tx, at.repairs, BATCH),
            "adoption": lambda tx, at: retention_retention.remove_adoptions(tx, at.adoptions, BATCH),
            "webhook_secret": lambda tx, at: webhook_secrets.sweep(tx, before=at.now, most=BATCH),
        }
        for table, batch in batches.items():
            await self._remove(swept, table, batch)
        async with self.database.across_tenants() as tx:
            at = await self._cutoffs(tx)
            weeks = await store_delivery_weeks.keep(tx, now=at.now, oldest=at.deliveries)
        self._count(swept, "delivery_week", weeks)
        await self._remove(swept, "delivery", lambda tx, at: webhook_store.sweep(tx, before=at.deliveries, most=BATCH))

    async def _cutoffs(self, tx: Transaction) -> Cutoffs:
        """Compute the cut-offs of this transaction. Raises ClockDoubted."""
        reading = await self.read_clock(tx)
        if reading.is_doubted:
            raise ClockDoubted(reading)
        return cutoffs(self.keep, reading.now)

    async def _remove(self, swept: Swept, table: str, batch: Batch) -> None:
        """Remove up to BATCHES batches. A full last batch says that there may be more."""
        size = BATCH
        for _ in range(BATCHES):
            if size < BATCH:
                break
            async with self.database.across_tenants() as tx:
                size = await batch(tx, await self._cutoffs(tx))
            self._count(swept, table, size)
        swept.fullest = max(swept.fullest, size)

    def _count(self, swept: Swept, table: str, number: int) -> None:
        if number:
            swept.removed[table] += number
            self.observe(table, number)

    async def _cancel_failed(self, swept: Swept, trace_id: TraceId) -> None:
        async with self.database.across_tenants() as tx:
            at = await self._cutoffs(tx)
            failed = await retention_retention.failed_before(tx, at.failed_requests, BATCH)
        for tenant_id, request_id in failed:
            await self._cancel(tenant_id, request_id, trace_id)
        swept.fullest = max(swept.fullest, len(failed))

    async def _cancel(self, tenant_id: TenantId, request_id: RequestId, trace_id: TraceId) -> None:
        """Cancel a request as a caller cancels it, unless it has just been retried."""
        async with self.database.transaction(tenant_id) as tx:
            before = await request_records.hold(tx, request_id)
            if before is None or before.state is not RequestState.FAILED:
                return
            at = (await self.read_clock(tx)).now
            done = await cancel(tx, before, event_id=EventId(self.new_id()), at=at)
            deed = Deed(Action.CANCEL, None, SERVICE, Act(None, None, trace_id), request_id)
            await record.record(tx, change_of(deed, before, done.after, done.event))
        self.watchers.tell([request_id])
