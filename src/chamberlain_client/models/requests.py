"""Requests: what was asked for, how far it has come, and who decides on it."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from chamberlain_client.models.actors import Actor, Named, Person
from chamberlain_client.models.faults import Fault
from chamberlain_client.models.model import Model
from chamberlain_client.models.open_enums import OpenStrEnum


class RequestKind(OpenStrEnum):
    """What a request is to bring about."""

    SHARED = "shared"
    EQUIPMENT = "equipment"
    ROOM = "room"
    GROUP = "group"
    TEAM = "team"
    ASSIGNMENT = "assignment"


class RequestState(OpenStrEnum):
    """How far a request has come."""

    PENDING_APPROVAL = "pendingApproval"
    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    REJECTED = "rejected"
    CANCELLED = "cancelled"
    EXPIRED = "expired"

    @property
    def has_ended(self) -> bool:
        """Whether it goes on no further by itself; one that has failed may be retried."""
        return self in _ENDED


_ENDED = frozenset({"succeeded", "failed", "rejected", "cancelled", "expired"})


class StepState(OpenStrEnum):
    """How far a step has come."""

    PENDING = "pending"
    RUNNING = "running"
    WAITING = "waiting"
    SUCCEEDED = "succeeded"
    WARNING = "warning"
    FAILED = "failed"


class ApprovalMode(OpenStrEnum):
    """How many of the approvers of a level have to approve."""

    ANY = "any"
    ALL = "all"


class ApprovalState(OpenStrEnum):
    """How far a level of approval has come."""

    NOT_REACHED = "notReached"
    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    BLOCKED = "blocked"


class DecisionOutcome(OpenStrEnum):
    """Which way somebody has decided."""

    APPROVED = "approved"
    REJECTED = "rejected"


class Action(OpenStrEnum):
    """What the caller may do with a request now."""

    APPROVE = "approve"
    REJECT = "reject"
    CANCEL = "cancel"
    RETRY = "retry"


class Waiting(Model, frozen=True):
    """Why a request waits, and until when. Both times are None while it waits for an administrator."""

    step: str
    reason: str
    attempt: int
    next_attempt_at: datetime | None
    ends_at: datetime | None = None


class RequestError(Model, frozen=True):
    """Why a request failed; `errors` are there when its body could be checked only after it was accepted."""

    step: str
    code: str
    detail: str
    errors: tuple[Fault, ...] = ()


class Result(Model, frozen=True):
    """What a request has brought about; `type` is mailbox, group or team."""

    type: str
    id: UUID
    display_name: str
    mail: str | None


class RequestStep(Model, frozen=True):
    """One step on the way; `title` is for people."""

    name: str
    title: str
    state: StepState
    attempts: int
    started_at: datetime | None
    finished_at: datetime | None
    reason: str | None
    next_attempt_at: datetime | None
    error: str | None


class Decision(Model, frozen=True):
    """What somebody has decided."""

    by: Actor
    outcome: DecisionOutcome
    comment: str | None
    decided_at: datetime


class Approval(Model, frozen=True):
    """One level of approval; `blocked` is one where nobody was found who may decide."""

    level: int
    mode: ApprovalMode
    state: ApprovalState
    deadline: datetime | None
    approvers: tuple[Person, ...]
    decisions: tuple[Decision, ...]


class RequestSummary(Model, frozen=True, kw_only=True):
    """A request as lists and timelines have it."""

    request_id: UUID
    tenant_id: UUID
    approval_required: bool
    kind: RequestKind
    state: RequestState
    display_name: str
    template: Named | None
    waiting: Waiting | None
    blocked: str | None
    error: RequestError | None
    warnings: tuple[str, ...]
    result: Result | None
    actions: tuple[Action, ...]
    created_at: datetime
    created_by: Actor
    updated_at: datetime
    finished_at: datetime | None

    @property
    def has_ended(self) -> bool:
        """Whether it goes on no further by itself."""
        return self.state.has_ended or (not self.state.is_known and self.finished_at is not None)


class Request(RequestSummary, frozen=True, kw_only=True):
    """A request, whole. `body` is what was sent."""

    body: Mapping[str, object]
    steps: tuple[RequestStep, ...]
    approvals: tuple[Approval, ...]


class StateChanged(Struct, frozen=True):
    """A request has come into another state. `number` counts what happens to one request, from 1."""

    number: str
    request: RequestSummary


class StepChanged(Struct, frozen=True):
    """A step has come into another state."""

    number: str
    step: RequestStep


class ApprovalChanged(Struct, frozen=True):
    """A level of approval has."""

    number: str
    approval: Approval


Happening = StateChanged | StepChanged | ApprovalChanged
