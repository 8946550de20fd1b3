# SPDX-License-Identifier: Apache-2.0
"""Figures of a tenant, and percentiles of templates."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from chamberlain.core.ids import TemplateId, TenantId
from chamberlain.requests.models import RequestKind, RequestState


class Since(StrEnum):
    """The moment from which the time to ready counts.

    A request without approval counts from its acceptance in both.
    """

    ACCEPTANCE = "acceptance"
    APPROVAL = "approval"


@dataclass(frozen=True, slots=True)
class Days:
    """Days of UTC, both included."""

    first: date
    last: date


@dataclass(frozen=True, slots=True)
class DayCount:
    """Requests of one kind, state and day."""

    day: date
    kind: RequestKind
    state: RequestState
    count: int


@dataclass(frozen=True, slots=True)
class BucketCount:
    """Times in one bucket of the histogram of a template and day."""

    template_id: TemplateId
    day: date
    since: Since
    bucket: int
    count: int


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Median and 95th percentile in milliseconds."""

    p50_ms: int
    p95_ms: int


@dataclass(frozen=True, slots=True)
class ReadyTimes:
    """Time to ready of the objects of one template and day.

    The name is None once the template is deleted.
    """

    template_id: TemplateId
    template_name: str | None
    day: date
    count: int
    from_acceptance: Percentiles
    from_approval: Percentiles


@dataclass(frozen=True, slots=True)
class Backlog:
    """Present counts of a tenant, each up to the limit of queue/models.py."""

    jobs_due: int
    oldest_seconds: int
    jobs_held: int
    findings_open: int
    deliveries_failing: int


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of a tenant. Templates beyond the limit are left out."""

    days: Sequence[DayCount]
    time_to_ready: Sequence[ReadyTimes]
    is_truncated: bool
    backlog: Backlog


@dataclass(frozen=True, slots=True)
class TemplateTimes:
    """Recent time to ready of one template, for `/metrics`."""

    tenant_id: TenantId
    template_id: TemplateId
    since: Since
    count: int
    percentiles: Percentiles
