# SPDX-License-Identifier: Apache-2.0
"""Metrics of a process for `/metrics`: calls, jobs, webhooks, connections, templates.

Labels are few and known in advance, so there is none for a user. Only the time to ready has tenants and templates as
labels, and only the busiest ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# A separate registry: that of the library gets collectors by imports.
_registry = CollectorRegistry()
ProcessCollector(registry=_registry)
# Gauges of the database, shown only while it answers. Counts are limited (queue/models.py).
_of_database = CollectorRegistry()

_calls = Histogram(
    "chamberlain_http_request_duration_seconds",
    "Time from a call's first byte to the end of its answer.",
    ("endpoint", "method", "status"),
    registry=_registry,
    # From a cached response to one that waited for `Prefer: wait=30`.
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0),
)
_batches = Histogram(
    "chamberlain_submission_batch_size",
    "Submissions that were written by one commit.",
    registry=_registry,
    # The batcher sends at most 512 at once.
    buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256, 512),
)
_database_up = Gauge(
    "chamberlain_database_up", "Whether the database answered when it was asked for gauges: 1 or 0.", registry=_registry
)
_jobs_queued = Gauge(
    "chamberlain_jobs_queued", "Jobs that are due and not finished, at most 10,000.", registry=_of_database
)
_jobs_oldest = Gauge(
    "chamberlain_jobs_oldest_seconds", "How long the oldest due job has been due already.", registry=_of_database
)
_jobs_held = Gauge("chamberlain_jobs_held", "Jobs held for an administrator, at most 10,000.", registry=_of_database)
_jobs_parked = Gauge(
    "chamberlain_jobs_parked",
    "Due jobs that wait for the connection of their tenant's directory, at most 10,000.",
    registry=_of_database,
)
_directories = Gauge(
    "chamberlain_directory_connections",
    "Connections of tenants to directories, by adapter and state.",
    ("adapter", "state"),
    registry=_of_database,
)
_directories_checked = Gauge(
    "chamberlain_directory_connections_oldest_check_seconds",
    "Time since the last check of the connection that was checked the longest ago, by adapter.",
    ("adapter",),
    registry=_of_database,
)
_deliveries_due = Gauge(
    "chamberlain_webhook_deliveries_due",
    "Calls of webhooks that are due and not made, at most 10,000.",
    registry=_of_database,
)
_deliveries_oldest = Gauge(
    "chamberlain_webhook_deliveries_oldest_seconds",
    "How long the oldest due call of a webhook has been due already.",
    registry=_of_database,
)
_findings_open = Gauge(
    "chamberlain_findings_open",
    "Findings that are open, of all tenants, by kind, at most 10,000 of each.",
    ("kind",),
    registry=_of_database,
)
_ready_times = Gauge(
    "chamberlain_time_to_ready_seconds",
    "Median and 95th percentile of the last day's time until a requested object is ready, of the 100 templates with "
    "the most requests. `since` is acceptance or approval.",
    ("tenant", "template", "since", "quantile"),
    registry=_of_database,
)
_ready_counts = Gauge(
    "chamberlain_time_to_ready_requests",
    "Requests of the last day in chamberlain_time_to_ready_seconds.",
    ("tenant", "template"),
    registry=_of_database,
)
_jobs_done = Counter(
    "chamberlain_jobs_done", "Runs of jobs by kind and how they ended.", ("kind", "outcome"), registry=_registry
)
_clock_difference = Gauge(
    "chamberlain_clock_difference_seconds",
    "This machine's clock less the database's. A worker claims no jobs beyond 30 seconds.",
    registry=_registry,
)
_retention_paused = Gauge(
    "chamberlain_retention_paused",
    "Whether retention waits because the database's clock is doubted: 1 or 0.",
    registry=_registry,
)
_retention_removed = Counter(
    "chamberlain_retention_removed_rows", "Rows that retention removed, by table.", ("table",), registry=_registry
)
_deliveries = Counter(
    "chamberlain_webhook_deliveries",
    "Runs of webhook deliveries by what became of them: succeeded, again, failed, cancelled.",
    ("outcome",),
    registry=_registry,
)
_webhook_calls = Histogram(
    "chamberlain_webhook_call_duration_seconds",
    "Time from the beginning of a call of a webhook to its answer, or to giving it up.",
    registry=_registry,
    # From a receiver nearby to the timeout.
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0),
)
_connections = Gauge("chamberlain_connections", "Connections that are open, over all listeners.", registry=_registry)
_connections_allowed = Gauge(
    "chamberlain_connections_allowed", "Connections that may be open at the same time.", registry=_registry
)
_connections_refused = Counter(
    "chamberlain_connections_refused",
    "Connections that the service closed against the wish of their client, by reason.",
    ("reason",),
    registry=_registry,
)


def connections_open(count: int) -> None:
    """Set the number of open connections."""
    _connections.set(count)


def connections_allowed(count: int) -> None:
    """Set the limit of open connections."""
    _connections_allowed.set(count)


def connection_refused(reason: str) -> None:
    """Count one connection that the service closed. Reasons are those of http/connections.py."""
    _connections_refused.labels(reason).inc()


def call_answered(endpoint: str, method: str, status: int, seconds: float) -> None:
    """Count one response.

    `endpoint` is the path with placeholders, never the called path.
    """
    _calls_of(endpoint, method, status).observe(seconds)


def submissions_written(count: int) -> None:
    """Count one commit of the batcher."""
    _batches.observe(count)


def jobs_seen(*, queued: int, oldest_seconds: float, held: int, parked: int) -> None:
    """Set the gauges of the queue."""
    _jobs_queued.set(queued)
    _jobs_oldest.set(oldest_seconds)
    _jobs_held.set(held)
    _jobs_parked.set(parked)


def directories_seen(counts: Mapping[tuple[str, str], int], oldest_checks: Mapping[str, float]) -> None:
    """Set the gauges of the connections to directories.

    `counts` is by adapter and state, `oldest_checks` has seconds by adapter.
    """
    _directories.clear()
    _directories_checked.clear()
    for labels, number in counts.items():
        _directories.labels(*labels).set(number)
    for adapter, seconds in oldest_checks.items():
        _directories_checked.labels(adapter).set(seconds)


def deliveries_seen(*, due: int, oldest_seconds: float) -> None:
    """Set the gauges of due webhook deliveries."""
    _deliveries_due.set(due)
    _deliveries_oldest.set(oldest_seconds)


def findings_seen(open_by_kind: Mapping[str, int]) -> None:
    """Set the number of open findings of every kind, zeros included."""
    for kind, number in open_by_kind.items():
        _findings_open.labels(kind).set(number)


@dataclass(frozen=True, slots=True)
class ReadyTimes:
    """Time to ready of one template, in seconds.

    `since` is acceptance or approval.
    """

    tenant: str
    template: str
    since: str
    count: int
    p50_seconds: float
    p95_seconds: float


def ready_times_seen(times: Sequence[ReadyTimes]) -> None:
    """Set the gauges of the time to ready.

    Series of all other templates disappear.
    """
    _ready_times.clear()
    _ready_counts.clear()
    for each in times:
        labels = (each.tenant, each.template, each.since)
        _ready_times.labels(*labels, "0.5").set(each.p50_seconds)
        _ready_times.labels(*labels, "0.95").set(each.p95_seconds)
        _ready_counts.labels(each.tenant, each.template).set(each.count)


def jobs_done(kind: str, outcome: str, count: int = 1) -> None:
    """Count job runs of one kind and outcome."""
    _jobs_done_of(kind, outcome).inc(count)


def clock_seen(*, difference_seconds: float, retention_paused: bool) -> None:
    """Set the gauges of a reading of the database's clock."""
    _clock_difference.set(difference_seconds)
    _retention_paused.set(int(retention_paused))


def rows_removed(table: str, count: int) -> None:
    """Count rows that retention removed from a table."""
    _retention_removed.labels(table).inc(count)


def delivery_run(outcome: str, seconds: float | None) -> None:
    """Count one run of a delivery.

    `seconds` is the duration of its call, if there was one.
    """
    _deliveries.labels(outcome).inc()
    if seconds is not None:
        _webhook_calls.observe(seconds)


def exposition() -> bytes:
    """Render all metrics in the text format of Prometheus."""
    _database_up.set(1)
    return generate_latest(_registry) + generate_latest(_of_database)


def exposition_without_database() -> bytes:
    """Render the metrics without those of an unavailable database."""
    _database_up.set(0)
    return generate_latest(_registry)


# Finding a series costs more than counting, and there are few (endpoints times statuses).
@lru_cache(maxsize=4096)
def _calls_of(endpoint: str, method: str, status: int) -> Histogram:
    return _calls.labels(endpoint, method, str(status))


@lru_cache(maxsize=4096)
def _jobs_done_of(kind: str, outcome: str) -> Counter:
    return _jobs_done.labels(kind, outcome)
