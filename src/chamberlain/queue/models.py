# SPDX-License-Identifier: Apache-2.0
"""Jobs, claims and held jobs."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Protocol
from uuid import UUID

from chamberlain.core.ids import JobId, RequestId, TenantId, TraceId
from chamberlain.core.reasons import Reason


class JobKind(StrEnum):
    """Kind of a job; the kind defines its subject."""

    GROUP_PROVISION = "groupProvision"
    MAILBOX_PROVISION = "mailboxProvision"
    ASSIGNMENT_APPLY = "assignmentApply"
    APPROVAL_ATTEND = "approvalAttend"
    SUBJECT_DISCOVER = "subjectDiscover"
    SUBJECT_SWEEP = "subjectSweep"
    POLICY_EVALUATE = "policyEvaluate"
    FINDING_REOPEN = "findingReopen"
    FINDING_REPAIR = "findingRepair"
    DRIFT_CHECK = "driftCheck"
    DRIFT_WATCH = "driftWatch"
    DRIFT_REPORT = "driftReport"
    ADOPTION_RUN = "adoptionRun"
    RELEASE_RUN = "releaseRun"
    RETENTION_SWEEP = "retentionSweep"
    FIGURES_COUNT = "figuresCount"
    CONNECTION_CHECK = "connectionCheck"
    AUDIT_SEAL = "auditSeal"
    AUDIT_SEAL_BEGIN = "auditSealBegin"
    NOTICE_SEND = "noticeSend"
    WEBHOOK_DELIVER = "webhookDeliver"
    BOOKING_SWEEP = "bookingSweep"
    BOOKING_ANSWER = "bookingAnswer"
    BOOKING_MAIL = "bookingMail"
    CONVERSATION_SWEEP = "conversationSweep"
    CONVERSATION_RUN = "conversationRun"


# Jobs that carry out a request in the directory.
PROVISIONING = frozenset(
    {JobKind.GROUP_PROVISION, JobKind.MAILBOX_PROVISION, JobKind.ASSIGNMENT_APPLY, JobKind.FINDING_REPAIR}
)

# Jobs that ask or change the directory of their tenant. They wait while it is parked.
USING_DIRECTORY = PROVISIONING | {
    JobKind.APPROVAL_ATTEND,
    JobKind.SUBJECT_DISCOVER,
    JobKind.POLICY_EVALUATE,
    JobKind.DRIFT_CHECK,
    JobKind.DRIFT_WATCH,
    JobKind.ADOPTION_RUN,
    JobKind.RELEASE_RUN,
    JobKind.BOOKING_ANSWER,
    JobKind.BOOKING_MAIL,
    JobKind.CONVERSATION_RUN,
}

# Jobs whose subject is a request.
OF_REQUESTS = PROVISIONING | {JobKind.APPROVAL_ATTEND}

# Shown on a request whose job is held. Its requester cannot fix the cause, but can cancel it.
HELD: Final = Reason.build("heldForAdministrator")

# Jobs of one lane share a receiver: the webhook of a template, or the directory of a tenant, which names its lane.
Lane = tuple[TenantId, UUID]

# The tenant of jobs without one, and the subject of jobs without one.
NOBODY = TenantId(UUID(int=0))

# Longest sleep of a job that a sweep makes due when its tenant has work.
_LONGEST_SLEEP: Final = timedelta(days=1)


def sleep_time(tenant_id: TenantId) -> timedelta:
    """Return how long the job of an idle tenant sleeps.

    A sweep wakes it earlier if there is work. The time is between 12 and 24 hours by the tenant, so that jobs of many
    tenants do not wake together.
    """
    return _LONGEST_SLEEP * (1 - tenant_id.int % 1_000 / 2_000)


# UUID of version 8, whose bits are free to choose (RFC 9562, 5.8). The job id is in its last 62 bits.
_PUBLIC_ID = UUID("00000000-0000-8000-8000-000000000000").int
_NUMBERS = 2**62


def public_id_of(job_id: JobId) -> UUID:
    """Return the job's id in the API, where ids are UUIDs."""
    return UUID(int=_PUBLIC_ID + job_id)


def job_id_of(public_id: UUID) -> JobId | None:
    """Parse a job's id of the API; None if it is none."""
    number = public_id.int - _PUBLIC_ID
    return JobId(number) if 0 < number < _NUMBERS else None


@dataclass(frozen=True, slots=True)
class Job:
    """One job.

    `attempts` counts the runs that were cut short, not the waits.
    """

    id: JobId
    tenant_id: TenantId
    kind: JobKind
    subject: UUID
    trace_id: TraceId
    attempts: int
    queued_at: datetime


@dataclass(frozen=True, slots=True)
class Claim:
    """Jobs of one kind under one lease of a worker."""

    lease_id: UUID
    jobs: tuple[Job, ...]


@dataclass(frozen=True, slots=True)
class Postponed:
    """A job to run again after a delay."""

    job_id: JobId
    after: timedelta


@dataclass(frozen=True, slots=True)
class HeldJob:
    """A held job; `held_reason` is None once it is released.

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
        """Return the id in the API."""
        return public_id_of(self.id)

    @property
    def request_id(self) -> RequestId | None:
        """Return the request that it is about, if any."""
        return RequestId(self.subject) if self.kind in OF_REQUESTS else None


@dataclass(frozen=True, slots=True)
class LaneDepth:
    """Backlog of all lanes.

    Due jobs are counted up to a limit; `oldest` is the age of the oldest.
    """

    due: int
    oldest: timedelta


@dataclass(frozen=True, slots=True)
class QueueDepth:
    """Backlog of the queue.

    Due, held and parked jobs are counted up to a limit; `oldest` is the age of the oldest due job. Parked are due jobs
    that use a directory whose connection is broken; they are not among the due ones.
    """

    due: int
    held: int
    oldest: timedelta
    parked: int


class JobHolder(Protocol):
    """Hold jobs until an administrator releases them."""

    async def hold(self, claim: Claim, job: Job, reason: str) -> None:
        """Hold a claimed job, unless its lease was lost. Raises Unavailable."""
        ...


# Counts are read every few seconds, and counting a million rows takes longer.
MOST_COUNTED: Final = 10_000


def counted(number: int, noun: str) -> str:
    """Format a number with a noun in the singular."""
    if number >= MOST_COUNTED:
        return f"{MOST_COUNTED:,} {noun}s or more"
    return f"1 {noun}" if number == 1 else f"{number} {noun}s"
