"""Jobs: what is to be done, by whom it is being done, and what became of it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from chamberlain.rules.ids import JobId, TenantId, TraceId
from chamberlain.rules.requests import RequestKind


class JobKind(StrEnum):
    """What a job does; its subject says to what."""

    GROUP_PROVISION = "groupProvision"


def job_kind_of(kind: RequestKind) -> JobKind:
    """The job that brings about a request of this kind."""
    match kind:
        case RequestKind.GROUP | RequestKind.TEAM:
            return JobKind.GROUP_PROVISION
        case RequestKind.SHARED | RequestKind.EQUIPMENT | RequestKind.ROOM | RequestKind.ASSIGNMENT:
            raise ValueError(f"Requests of kind {kind} are not made yet.")


@dataclass(frozen=True, slots=True)
class Job:
    """A piece of work. `attempts` counts the runs that were cut short, not the waits."""

    id: JobId
    tenant_id: TenantId
    kind: JobKind
    subject: UUID
    trace_id: TraceId
    attempts: int
    queued_at: datetime


@dataclass(frozen=True, slots=True)
class Claim:
    """Jobs of one kind that one worker holds under one lease."""

    lease_id: UUID
    jobs: tuple[Job, ...]


@dataclass(frozen=True, slots=True)
class Postponed:
    """A job that is to be looked at again after a while."""

    job_id: JobId
    after: timedelta


@dataclass(frozen=True, slots=True)
class QueueDepth:
    """How much waits: jobs that are due, held ones, and the age of the oldest that is due."""

    due: int
    held: int
    oldest: timedelta
