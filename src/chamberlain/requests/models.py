"""Requests: what was asked for, and how far it has come.

Every move from one state to another, by whom it is made:

                    queued  running  waiting  succeeded  failed  rejected  cancelled  expired
    pendingApproval   a        .        .         .         .        a         c         t
    queued            .        w        .         .         .        .         c         .
    running           .        .        w         w         w        .         .         .
    waiting           .        w        .         .         w        .         c         .
    failed            r        .        .         .         .        .         c         .

    a  the approvers decide               w  the worker does its work
    c  somebody cancels it, and after     r  somebody retries it
       a time the service a failed one    t  its deadline passes

A move is a compare-and-swap on the state (requests/records.py, requests/finish.py). What is
running can be taken up once more when the worker that had it is gone; that is no move. What the worker cannot carry
out, because it meets a bug or is cut short again and again, waits for a person; so does what waited already. All that
is not in the table ends there.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from chamberlain.auth.models import Actor
from chamberlain.core.errors import Fault
from chamberlain.core.ids import ClientId, RequestId, TemplateId, TenantId
from chamberlain.core.values import value
from chamberlain.directory.steps import Step
from chamberlain.requests.models_approvals import ApprovalRecord


class RequestKind(StrEnum):
    """What a request brings about: what its template makes, or the effects of an assignment."""

    SHARED = "shared"
    EQUIPMENT = "equipment"
    ROOM = "room"
    GROUP = "group"
    TEAM = "team"
    ASSIGNMENT = "assignment"


class RequestState(StrEnum):
    """Where a request stands."""

    PENDING_APPROVAL = "pendingApproval"
    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    REJECTED = "rejected"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


class StepState(StrEnum):
    """Where one step of a request stands."""

    PENDING = "pending"
    RUNNING = "running"
    WAITING = "waiting"
    SUCCEEDED = "succeeded"
    WARNING = "warning"
    FAILED = "failed"


@value(frozen=True, slots=True)
class StepRecord:
    """One step as the caller sees it. `reason` belongs to a wait or a warning, `next_attempt_at` to a wait, and `error`
    to a failure."""

    step: Step
    state: StepState
    attempts: int = 0
    started_at: datetime | None = None
    finished_at: datetime | None = None
    reason: str | None = None
    next_attempt_at: datetime | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why a request waits, and until when: a try that fails after `ends_at` is the last. Both times are None where it
    waits for a person to release its job."""

    step: Step
    reason: str
    attempt: int
    next_attempt_at: datetime | None
    ends_at: datetime | None


@dataclass(frozen=True, slots=True)
class RequestError:
    """Why a request failed. `faults` are those of a body that could be checked only after it was accepted."""

    step: Step
    code: str
    detail: str
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class Progress:
    """What the steps say of their request. Its job runs again at `waiting.next_attempt_at`."""

    state: RequestState
    steps: tuple[StepRecord, ...]
    waiting: Waiting | None = None
    error: RequestError | None = None


@dataclass(frozen=True, slots=True)
class RequestResult:
    """What a request has brought about. `type` is mailbox, group or team."""

    type: str
    id: UUID
    display_name: str
    mail: str | None


@dataclass(frozen=True, slots=True)
class TemplateReference:
    """The template of a request, as it was called at submission."""

    id: TemplateId
    name: str


@value(frozen=True, slots=True)
class Accepted:
    """A request that is queued durably. `replayed` says that an earlier call with the same key had been accepted."""

    request_id: RequestId
    tenant_id: TenantId
    approval_required: bool
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """A request whole. `body` is the JSON that was sent; an assignment that clears has no template. `made` is what
    exists of it in the directory, by the id there, while it has not succeeded."""

    request_id: RequestId
    tenant_id: TenantId
    approval_required: bool
    kind: RequestKind
    state: RequestState
    display_name: str
    template: TemplateReference | None
    body: bytes
    waiting: Waiting | None
    blocked: str | None
    error: RequestError | None
    warnings: tuple[str, ...]
    result: RequestResult | None
    steps: tuple[StepRecord, ...]
    created_at: datetime
    created_by: Actor
    client_id: ClientId
    updated_at: datetime
    finished_at: datetime | None
    approvals: tuple[ApprovalRecord, ...] = ()
    made: RequestResult | None = None


@dataclass(frozen=True, slots=True)
class RequestFilter:
    """Which requests somebody wants to see; None is any, `mine` are those that the caller asked for, and `to_decide`
    those that it is the caller's turn to decide on."""

    state: RequestState | None = None
    kind: RequestKind | None = None
    mine: bool = False
    to_decide: bool = False


# For each state, the states that may follow it, as it is drawn on top. No other move exists.
MOVES: Mapping[RequestState, frozenset[RequestState]] = {
    RequestState.PENDING_APPROVAL: frozenset(
        {RequestState.QUEUED, RequestState.REJECTED, RequestState.CANCELLED, RequestState.EXPIRED}
    ),
    RequestState.QUEUED: frozenset({RequestState.RUNNING, RequestState.CANCELLED}),
    RequestState.RUNNING: frozenset({RequestState.WAITING, RequestState.SUCCEEDED, RequestState.FAILED}),
    RequestState.WAITING: frozenset({RequestState.RUNNING, RequestState.FAILED, RequestState.CANCELLED}),
    RequestState.FAILED: frozenset({RequestState.QUEUED, RequestState.CANCELLED}),
    RequestState.SUCCEEDED: frozenset(),
    RequestState.REJECTED: frozenset(),
    RequestState.CANCELLED: frozenset(),
    RequestState.EXPIRED: frozenset(),
}

# The states in which nothing more happens by itself.
ENDED = frozenset(
    {
        RequestState.SUCCEEDED,
        RequestState.FAILED,
        RequestState.REJECTED,
        RequestState.CANCELLED,
        RequestState.EXPIRED,
    }
)


def begin_steps(steps: Iterable[Step]) -> tuple[StepRecord, ...]:
    """The records of steps that nobody has worked on yet."""
    return tuple([StepRecord(step, StepState.PENDING) for step in steps])
