# SPDX-License-Identifier: Apache-2.0
"""Cancel requests that failed long ago, and remove expired rows.

One job for the whole installation queues itself again. Each run takes a few batches. All cut-offs go by the database's
clock, read in the transaction that removes, and nothing is removed while that clock is doubted.
"""

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

from chamberlain.auth.models import SERVICE
from chamberlain.bookings import store as booking_store
from chamberlain.changes.records import record_change
from chamberlain.console import records as console_records
from chamberlain.conversations import store as conversation_store
from chamberlain.core.idempotency import Act
from chamberlain.core.ids import EventId, RequestId, TenantId, TraceId
from chamberlain.database import clock
from chamberlain.database.clock import PAUSE, ClockReading, ReadClock
from chamberlain.database.notify import Notifier
from chamberlain.database.transactions import PLANNING, Database, Record, Transaction
from chamberlain.drift.rules import HOLDS_AFTER
from chamberlain.figures import store as figure_store
from chamberlain.http import idempotency
from chamberlain.people import store as people_store
from chamberlain.people.rules import WINDOW
from chamberlain.permissions import store as permission_store
from chamberlain.queries import load_queries
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import Claim, JobKind, Postponed
from chamberlain.queue.worker import JobTable
from chamberlain.requests import records as request_records
from chamberlain.requests.actions import cancel
from chamberlain.requests.models import RequestState
from chamberlain.requests.rules import Action, Deed, change_of
from chamberlain.substitutes import records as substitute_records
from chamberlain.template_admin import webhook_secrets
from chamberlain.webhooks import store as webhook_store

SQL = load_queries(__name__)
FAILED = SQL["failed"]
REMOVE_FINISHED = SQL["remove_finished"]
REMOVE_EVENTS = SQL["remove_events"]
REMOVE_FINDINGS = SQL["remove_findings"]
REMOVE_REPAIRS = SQL["remove_repairs"]
REMOVE_ADOPTIONS = SQL["remove_adoptions"]
REMOVE_RELEASES = SQL["remove_releases"]


async def failed_before(tx: Transaction, before: datetime, most: int) -> Sequence[tuple[TenantId, RequestId]]:
    """The requests that have been failed since before this time, longest first."""
    rows = await _fetch(tx, FAILED, before, most)
    return [(TenantId(row["tenant_id"]), RequestId(row["request_id"])) for row in rows]


async def remove_finished(tx: Transaction, before: datetime, most: int) -> int:
    """Remove requests that ended before this time, and return their number.

    Their addresses are free again.
    """
    return await _remove(tx, REMOVE_FINISHED, before, most)


async def remove_events(tx: Transaction, before: datetime, most: int) -> int:
    """Remove events from before this time, and return their number."""
    return await _remove(tx, REMOVE_EVENTS, before, most)


async def remove_findings(tx: Transaction, before: datetime, most: int) -> int:
    """Remove findings that ended before this time; says how many there were."""
    return await _remove(tx, REMOVE_FINDINGS, before, most)


async def remove_repairs(tx: Transaction, before: datetime, most: int) -> int:
    """Delete repairs without a difference since this time. Returns their number."""
    return await _remove(tx, REMOVE_REPAIRS, before, most)


async def remove_adoptions(tx: Transaction, before: datetime, most: int) -> int:
    """Delete adoptions undone before this time, with their items.

    Returns the number of rows.
    """
    return await _remove(tx, REMOVE_ADOPTIONS, before, most)


async def remove_releases(tx: Transaction, before: datetime, most: int) -> int:
    """Delete releases that ended before this time, with their items.

    Returns the number of rows.
    """
    return await _remove(tx, REMOVE_RELEASES, before, most)


async def _remove(tx: Transaction, statement: str, before: datetime, most: int) -> int:
    (row,) = await _fetch(tx, statement, before, most)
    return int(row["removed"])


async def _fetch(tx: Transaction, statement: str, before: datetime, most: int) -> Sequence[Record]:
    """Force the use of the index."""
    await tx.execute(PLANNING)
    return await tx.fetch(statement, before, most)


# A client that has no answer after a week has given up (docs/reference/api.md, "Headers").
KEYS = timedelta(days=7)
# So long a delivery of a webhook can be looked at and sent again, at least: it goes with all of its week
# (docs/reference/webhooks.md).
DELIVERIES = timedelta(days=30)
# Ended findings, undone adoptions and ended releases are kept as long as finished requests by default
# (docs/reference/retention.md). Findings outlast their requests, because a group is compared with its request.
FINDINGS = timedelta(days=400)
ADOPTIONS = timedelta(days=400)
# Of ended requests, whatever the retention of the requests themselves.
FIGURES = timedelta(days=400)
# A report has 30 days, and the day of its beginning is whole.
PERMISSION_USES = timedelta(days=32)
RELEASES = timedelta(days=400)

# Rows of one transaction, so that no other transaction waits long for its locks.
BATCH = 1_000
# Transactions of one run, so that it ends soon when the worker stops.
BATCHES = 20
SHORT_PAUSE = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Retention:
    """Retention periods of failed requests, finished requests and events."""

    failed_requests: timedelta
    finished_requests: timedelta
    events: timedelta


@dataclass(frozen=True, slots=True)
class Cutoffs:
    """The cut-offs of a sweep: older rows have expired."""

    now: datetime
    keys: datetime
    failed_requests: datetime
    finished_requests: datetime
    events: datetime
    deliveries: datetime
    findings: datetime
    repairs: datetime
    adoptions: datetime
    figures: datetime
    permission_uses: datetime
    releases: datetime


def cutoffs(retention: Retention, now: datetime) -> Cutoffs:
    """The cutoffs of a sweep at this moment."""
    return Cutoffs(
        now=now,
        keys=now - KEYS,
        failed_requests=now - retention.failed_requests,
        finished_requests=now - retention.finished_requests,
        events=now - retention.events,
        deliveries=_week_of(now - DELIVERIES),
        findings=now - max(FINDINGS, retention.finished_requests),
        # One that has held counts for nothing any more.
        repairs=now - HOLDS_AFTER,
        adoptions=now - ADOPTIONS,
        figures=now - FIGURES,
        permission_uses=now - PERMISSION_USES,
        releases=now - RELEASES,
    )


def _week_of(moment: datetime) -> datetime:
    """When its week began: on Monday, 0:00 UTC (database/sql/delivery_weeks.sql)."""
    day = moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return day - timedelta(days=day.weekday())


def next_sweep(*, swept: int) -> timedelta:
    """Return the pause after a run by its fullest last batch."""
    return SHORT_PAUSE if swept >= BATCH else PAUSE


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
    """Rows removed by one run, and the size of the last batch.

    It is the fullest of the last batches.
    """

    removed: Counter[str] = field(default_factory=Counter)
    fullest: int = 0


@dataclass(frozen=True, slots=True)
class RetentionJobs:
    """Sweeps all tenants, as the worker's role.

    `watchers` are notified of changed requests. `observe` counts the rows removed from a table. `read_clock` reads the
    database's clock in a transaction.
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

    async def sweep(self, claim: Claim) -> None:
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
        await self._remove(swept, "idempotency_key", lambda tx, at: idempotency.sweep(tx, before=at.keys, most=BATCH))
        await self._cancel_failed(swept, trace_id)
        batches: dict[str, Batch] = {
            "request": lambda tx, at: remove_finished(tx, at.finished_requests, BATCH),
            "event": lambda tx, at: remove_events(tx, at.events, BATCH),
            "finding": lambda tx, at: remove_findings(tx, at.findings, BATCH),
            "drift_repair": lambda tx, at: remove_repairs(tx, at.repairs, BATCH),
            "adoption": lambda tx, at: remove_adoptions(tx, at.adoptions, BATCH),
            "figure": lambda tx, at: figure_store.remove(tx, at.figures, BATCH),
            "permission_use": lambda tx, at: permission_store.remove(tx, at.permission_uses, BATCH),
            "release": lambda tx, at: remove_releases(tx, at.releases, BATCH),
            "console_session": lambda tx, at: console_records.remove_ended(tx, at.now, BATCH),
            "substitute": lambda tx, at: substitute_records.remove_ended(tx, at.now, BATCH),
            "booking_answer": lambda tx, at: booking_store.remove_old(tx, at.now - booking_store.KEPT_FOR, BATCH),
            "question": lambda tx, at: conversation_store.remove_old(tx, at.now - conversation_store.KEPT_FOR, BATCH),
            "people_search": lambda tx, at: people_store.remove(tx, at.now - WINDOW, BATCH),
            "webhook_secret": lambda tx, at: webhook_secrets.sweep(tx, before=at.now, most=BATCH),
        }
        for table, batch in batches.items():
            await self._remove(swept, table, batch)
        async with self.database.across_tenants() as tx:
            at = await self._cutoffs(tx)
            weeks = await webhook_store.maintain_weeks(tx, now=at.now, oldest=at.deliveries)
        self._count(swept, "delivery_week", weeks)
        await self._remove(
            swept, "delivery", lambda tx, at: webhook_store.delete_old(tx, before=at.deliveries, limit=BATCH)
        )

    async def _cutoffs(self, tx: Transaction) -> Cutoffs:
        """Compute the cut-offs of this transaction. Raises ClockDoubted."""
        reading = await self.read_clock(tx)
        if reading.is_doubted:
            raise ClockDoubted(reading)
        return cutoffs(self.keep, reading.now)

    async def _remove(self, swept: Swept, table: str, batch: Batch) -> None:
        """Remove up to BATCHES batches.

        A full last batch means there may be more.
        """
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
            failed = await failed_before(tx, at.failed_requests, BATCH)
        for tenant_id, request_id in failed:
            await self._cancel(tenant_id, request_id, trace_id)
        swept.fullest = max(swept.fullest, len(failed))

    async def _cancel(self, tenant_id: TenantId, request_id: RequestId, trace_id: TraceId) -> None:
        """Cancel a request as a caller does, unless it was just retried."""
        async with self.database.transaction(tenant_id) as tx:
            before = await request_records.hold(tx, request_id)
            if before is None or before.state is not RequestState.FAILED:
                return
            at = (await self.read_clock(tx)).now
            done = await cancel(tx, before, event_id=EventId(self.new_id()), at=at)
            deed = Deed(Action.CANCEL, None, SERVICE, Act(None, None, trace_id), request_id)
            await record_change(tx, change_of(deed, before, done.after, done.event))
        self.watchers.tell([request_id])


JOBS = JobTable(RetentionJobs, {JobKind.RETENTION_SWEEP: RetentionJobs.sweep})
