"""Jobs: what is to be done, by whom it is being done, and what became of it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Protocol
from uuid import UUID

from chamberlain.core.ids import JobId, RequestId, TenantId, TraceId


class JobKind(StrEnum):
    """What a job does; its subject says to what."""

    GROUP_PROVISION = "groupProvision"
    MAILBOX_PROVISION = "mailboxProvision"
    ASSIGNMENT_APPLY = "assignmentApply"
    APPROVAL_ATTEND = "approvalAttend"
    SUBJECT_DISCOVER = "subjectDiscover"
    POLICY_EVALUATE = "policyEvaluate"
    FINDING_REOPEN = "findingReopen"
    DRIFT_CHECK = "driftCheck"
    ADOPTION_RUN = "adoptionRun"
    RETENTION_SWEEP = "retentionSweep"
    AUDIT_SEAL = "auditSeal"
    AUDIT_SEAL_BEGIN = "auditSealBegin"
    NOTICE_SEND = "noticeSend"
    WEBHOOK_DELIVER = "webhookDeliver"


# The jobs that bring a request about.
PROVISIONING = frozenset({JobKind.GROUP_PROVISION, JobKind.MAILBOX_PROVISION, JobKind.ASSIGNMENT_APPLY})

# The jobs whose subject is a request.
OF_REQUESTS = PROVISIONING | {JobKind.APPROVAL_ATTEND}

# What a request waits for whose job is held. Whoever asked for it cannot mend the cause, but need not wait either.
HELD = "An administrator has to look at this and release it; until then it can be cancelled."

# What jobs of one lane have in common that nobody else is to wait for: of a webhook, its template.
Lane = tuple[TenantId, UUID]

# The tenant of jobs that are nobody's, and the subject of those that are about nothing in particular.
NOBODY = TenantId(UUID(int=0))

# A UUID of version 8, whose bits are ours to choose (RFC 9562, 5.8), with the number of the job in its last 62 bits.
_PUBLIC_ID = UUID("00000000-0000-8000-8000-000000000000").int
_NUMBERS = 2**62


def public_id_of(job_id: JobId) -> UUID:
    """How a job is called outside, where ids are UUIDs."""
    return UUID(int=_PUBLIC_ID + job_id)


def job_id_of(public_id: UUID) -> JobId | None:
    """The job that is called so; None when none can be."""
    number = public_id.int - _PUBLIC_ID
    return JobId(number) if 0 < number < _NUMBERS else None


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
class HeldJob:
    """A job as a person looks at it who decides whether it may run again; `held_reason` is None once it may.

    Its kind may be one that only newer workers know.
    """

    id: JobId
    tenant_id: TenantId
    kind: str
    subject: UUID
    held_reason: str | None
    attempts: int
    trace_id: TraceId
    queued_at: datetime

    @property
    def public_id(self) -> UUID:
        """How it is called outside."""
        return public_id_of(self.id)

    @property
    def request_id(self) -> RequestId | None:
        """The request that it is about, if it is about one."""
        return RequestId(self.subject) if self.kind in OF_REQUESTS else None


@dataclass(frozen=True, slots=True)
class LaneDepth:
    """How much waits in all lanes: jobs that are due, as far as they are counted, and the age of the oldest of them."""

    due: int
    oldest: timedelta


@dataclass(frozen=True, slots=True)
class QueueDepth:
    """How much waits: jobs that are due and held ones, as far as they are counted, and the age of the oldest that is
    due."""

    due: int
    held: int
    oldest: timedelta


class JobHolder(Protocol):
    """Hold jobs until an administrator releases them."""

    async def hold(self, claim: Claim, job: Job, reason: str) -> None:
        """Hold a claimed job, unless another worker has taken it over. Raises Unavailable."""
        ...


# They are asked for every few seconds and waited for as long, and to count a million rows takes longer.
MOST_COUNTED: Final = 10_000


def counted(number: int, noun: str) -> str:
    """So many of something in words; `noun` is in the singular."""
    if number >= MOST_COUNTED:
        return f"{MOST_COUNTED:,} {noun}s or more"
    return f"1 {noun}" if number == 1 else f"{number} {noun}s"
