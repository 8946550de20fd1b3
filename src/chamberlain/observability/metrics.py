"""The figures of operation: how fast calls are answered and how jobs get on. /metrics shows them.

They belong to the process. A figure for a tenant or a person may not be here: labels are few and known beforehand.
"""

from collections.abc import Mapping
from functools import lru_cache

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# A registry of our own: the library's has collectors that are registered by being imported.
_registry = CollectorRegistry()
ProcessCollector(registry=_registry)
# What is read from the database when somebody asks, and not told while nobody can know it. It is counted no further
# than queue/models.py says.
_of_database = CollectorRegistry()

_calls = Histogram(
    "chamberlain_http_request_duration_seconds",
    "Time from a call's first byte to the end of its answer.",
    ("endpoint", "method", "status"),
    registry=_registry,
    # From an answer out of memory to one that waited for `Prefer: wait=30`.
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
_jobs_held = Gauge(
    "chamberlain_jobs_held", "Jobs that wait for somebody to look at them, at most 10,000.", registry=_of_database
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
    # From a receiver next door to the time-out.
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
    """Note how many connections are open."""
    _connections.set(count)


def connections_allowed(count: int) -> None:
    """Note how many connections may be open."""
    _connections_allowed.set(count)


def connection_refused(reason: str) -> None:
    """Count one connection that the service closed. Reasons are those of http/connections.py."""
    _connections_refused.labels(reason).inc()


def call_answered(endpoint: str, method: str, status: int, *, seconds: float) -> None:
    """Count one answer. `endpoint` is the path with its placeholders, never the path that was called."""
    _calls_of(endpoint, method, status).observe(seconds)


def submissions_written(count: int) -> None:
    """Count one commit of the batcher."""
    _batches.observe(count)


def jobs_seen(*, queued: int, oldest_seconds: float, held: int) -> None:
    """Note how the queue stood when it was last looked at."""
    _jobs_queued.set(queued)
    _jobs_oldest.set(oldest_seconds)
    _jobs_held.set(held)


def deliveries_seen(*, due: int, oldest_seconds: float) -> None:
    """Note how many calls of webhooks were due when they were last counted, and for how long the oldest had been."""
    _deliveries_due.set(due)
    _deliveries_oldest.set(oldest_seconds)


def findings_seen(open_by_kind: Mapping[str, int]) -> None:
    """Note how many findings were open when they were last counted. Every kind is named, those that have none too."""
    for kind, number in open_by_kind.items():
        _findings_open.labels(kind).set(number)


def jobs_done(kind: str, outcome: str, count: int = 1) -> None:
    """Count runs of jobs of one kind that ended the same way."""
    _jobs_done_of(kind, outcome).inc(count)


def clock_seen(*, difference_seconds: float, retention_paused: bool) -> None:
    """Set the gauges of a reading of the database's clock."""
    _clock_difference.set(difference_seconds)
    _retention_paused.set(int(retention_paused))


def rows_removed(table: str, count: int) -> None:
    """Count rows that retention removed from a table."""
    _retention_removed.labels(table).inc(count)


def delivery_run(outcome: str, seconds: float | None) -> None:
    """Count what became of one run of a delivery; the call took so long, if there was one."""
    _deliveries.labels(outcome).inc()
    if seconds is not None:
        _webhook_calls.observe(seconds)


def exposition() -> bytes:
    """All figures, in the text format of Prometheus: those of the database as they were noted just now."""
    _database_up.set(1)
    return generate_latest(_registry) + generate_latest(_of_database)


def exposition_without_database() -> bytes:
    """The process's own figures, when the database does not answer: older ones of it would look like news."""
    _database_up.set(0)
    return generate_latest(_registry)


# Finding the series of some labels costs more than counting in it, and there are few (endpoints times statuses).
@lru_cache(maxsize=4096)
def _calls_of(endpoint: str, method: str, status: int) -> Histogram:
    return _calls.labels(endpoint, method, str(status))


@lru_cache(maxsize=4096)
def _jobs_done_of(kind: str, outcome: str) -> Counter:
    return _jobs_done.labels(kind, outcome)
