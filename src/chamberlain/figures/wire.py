# SPDX-License-Identifier: Apache-2.0
"""JSON of figures."""

from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from chamberlain.figures.models import Figures as TenantFigures
from chamberlain.figures.models import ReadyTimes as TemplateReadyTimes
from chamberlain.requests.models import RequestKind, RequestState

Day = Annotated[str, Meta(extra_json_schema={"format": "date"}, description="A day of UTC")]


class DayCount(Struct, rename="camel", frozen=True):
    """Requests of one kind and state.

    An ended request belongs to the day on which it ended. One that failed and was retried belongs to the days of both
    ends. A request that waits, also for approval, belongs to the day of its acceptance. Queued and running requests are
    left out. An assignment is `succeeded` from its acceptance, unless it failed.
    """

    day: Day
    kind: RequestKind
    state: RequestState
    count: int


class ReadyTimes(Struct, rename="camel", frozen=True):
    """Time to ready of the objects of a template and day.

    They became ready on that day. Median and 95th percentile are in milliseconds, from acceptance and from the last
    approval. Without approval, both count from acceptance. They differ from the exact values by at most 2.5 %.
    `templateName` is null once the template is deleted.
    """

    template_id: UUID
    template_name: str | None
    day: Day
    count: int
    p50_ms: int
    p95_ms: int
    from_approval_p50_ms: int
    from_approval_p95_ms: int


class QueueFigures(Struct, rename="camel", frozen=True):
    """Due jobs, and held jobs.

    `oldestSeconds` is the age of the oldest due job. Counts end at 10,000.
    """

    due: int
    oldest_seconds: int
    held: int


class FindingFigures(Struct, rename="camel", frozen=True):
    """Open findings, at most 10,000."""

    open: int


class DeliveryFigures(Struct, rename="camel", frozen=True):
    """Deliveries of webhooks whose last attempt failed, at most 10,000."""

    failing: int


class Figures(Struct, rename="camel", frozen=True):
    """Figures of the tenant.

    `timeToReadyTruncated` is true if the oldest days of some templates are left out.
    """

    days: tuple[DayCount, ...]
    time_to_ready: tuple[ReadyTimes, ...]
    time_to_ready_truncated: bool
    queue: QueueFigures
    findings: FindingFigures
    deliveries: DeliveryFigures


def to_figures(figures: TenantFigures) -> Figures:
    """Return the JSON of figures."""
    backlog = figures.backlog
    return Figures(
        days=tuple(DayCount(each.day.isoformat(), each.kind, each.state, each.count) for each in figures.days),
        time_to_ready=tuple(map(_ready_times, figures.time_to_ready)),
        time_to_ready_truncated=figures.is_truncated,
        queue=QueueFigures(backlog.jobs_due, backlog.oldest_seconds, backlog.jobs_held),
        findings=FindingFigures(backlog.findings_open),
        deliveries=DeliveryFigures(backlog.deliveries_failing),
    )


def _ready_times(times: TemplateReadyTimes) -> ReadyTimes:
    return ReadyTimes(
        template_id=times.template_id,
        template_name=times.template_name,
        day=times.day.isoformat(),
        count=times.count,
        p50_ms=times.from_acceptance.p50_ms,
        p95_ms=times.from_acceptance.p95_ms,
        from_approval_p50_ms=times.from_approval.p50_ms,
        from_approval_p95_ms=times.from_approval.p95_ms,
    )
