"""Retention: for how long what is done with is kept, and how a sweep goes about it."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from chamberlain.database.clock_clocks import PAUSE
from chamberlain.drift.pages_drift_repairs import HOLDS_AFTER

# A client that has no answer after a week has given up (docs/reference/api.md, "Headers").
KEYS = timedelta(days=7)
# So long a delivery of a webhook can be looked at and sent again, at least: it goes with all of its week
# (docs/reference/webhooks.md).
DELIVERIES = timedelta(days=30)
# What was found and has ended can be looked at for as long as a finished request is by default, and so can an adoption
# that was undone (docs/reference/retention.md). Findings are not gone before the requests: a group is compared with its
# request, and they say whom a policy has removed of those who were asked for.
FINDINGS = timedelta(days=400)
ADOPTIONS = timedelta(days=400)

# What one transaction takes: little enough that nobody waits for its locks.
BATCH = 1_000
# What one run takes of that, so that it is over soon when the worker stops.
BATCHES = 20
SHORT_PAUSE = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Retention:
    """How long a failed request waits for somebody, how long a finished one can be looked at, and for how long events
    are told to those who come late."""

    failed_requests: timedelta
    finished_requests: timedelta
    events: timedelta


@dataclass(frozen=True, slots=True)
class Cutoffs:
    """The moments of a sweep: rows older than these have been kept for long enough."""

    now: datetime
    keys: datetime
    failed_requests: datetime
    finished_requests: datetime
    events: datetime
    deliveries: datetime
    findings: datetime
    repairs: datetime
    adoptions: datetime


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
    )


def _week_of(moment: datetime) -> datetime:
    """When its week began: on Monday, 0:00 UTC (database/sql/delivery_weeks.sql)."""
    day = moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return day - timedelta(days=day.weekday())


def next_sweep(*, swept: int) -> timedelta:
    """How long to wait when the fullest of the last batches of a run had so many in it."""
    return SHORT_PAUSE if swept >= BATCH else PAUSE
