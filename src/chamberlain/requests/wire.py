"""JSON of requests, steps and approvals, and of dry runs."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Raw, Struct, structs

from chamberlain.auth.models import Actor as RecordedActor
from chamberlain.changes.models import format_time
from chamberlain.core.errors import Fault
from chamberlain.directory.models import NamedPerson
from chamberlain.directory.steps import Step, title
from chamberlain.http.request import Parameter
from chamberlain.http.wire import Actor, Time
from chamberlain.requests.approvals import LevelDryRun
from chamberlain.requests.models import (
    ApprovalMode,
    ApprovalRecord,
    ApprovalState,
    Decision,
    DecisionOutcome,
    RequestKind,
    RequestRecord,
    RequestState,
    StepRecord,
    StepState,
)
from chamberlain.requests.rules import Action, RequestView


class Template(Struct, rename="camel", frozen=True):
    """A template, with its name at submission."""

    id: UUID
    name: str


class Waiting(Struct, rename="camel", frozen=True):
    """The reason and the times of a wait.

    The first retry that fails after `endsAt` is the last. Both times are null while the request waits for an
    administrator to release its job.
    """

    step: Step
    reason: str
    attempt: int
    next_attempt_at: Time | None
    ends_at: Time | None


class RequestFault(Struct, frozen=True):
    """An error in the body, found after acceptance."""

    pointer: str
    code: str
    detail: str


class RequestError(Struct, rename="camel", frozen=True, omit_defaults=True):
    """The error of a failed request.

    `errors` has the errors in its body that were found later.
    """

    step: Step
    code: str
    detail: str
    errors: tuple[RequestFault, ...] = ()


class Result(Struct, rename="camel", frozen=True):
    """The object that a request created."""

    type: str
    id: UUID
    display_name: str
    mail: str | None


class RequestStep(Struct, rename="camel", frozen=True):
    """One step of a request."""

    name: Step
    title: str
    state: StepState
    attempts: int
    started_at: Time | None
    finished_at: Time | None
    reason: str | None
    next_attempt_at: Time | None
    error: str | None


class NamedApprover(Struct, rename="camel", frozen=True):
    """A user who may decide."""

    id: UUID
    display_name: str


class ApprovalDecision(Struct, rename="camel", frozen=True):
    """The decision of an approver."""

    by: Actor
    outcome: DecisionOutcome
    comment: str | None
    decided_at: Time


class Approval(Struct, rename="camel", frozen=True):
    """One level of approval.

    Approvers are found when the level opens; it is `blocked` without approvers.
    """

    level: int
    mode: ApprovalMode
    state: ApprovalState
    deadline: Time | None
    approvers: tuple[NamedApprover, ...]
    decisions: tuple[ApprovalDecision, ...]


class RequestSummary(Struct, rename="camel", frozen=True):
    """A request without body, steps and approvals, for lists and timelines."""

    request_id: UUID
    tenant_id: UUID
    approval_required: bool
    kind: RequestKind
    state: RequestState
    display_name: str
    template: Template | None
    waiting: Waiting | None
    blocked: str | None
    error: RequestError | None
    warnings: tuple[str, ...]
    result: Result | None
    actions: tuple[Action, ...]
    created_at: Time
    created_by: Actor
    updated_at: Time
    finished_at: Time | None


class Request(Struct, rename="camel", frozen=True):
    """A request. `body` is the JSON that was sent."""

    request_id: UUID
    tenant_id: UUID
    approval_required: bool
    kind: RequestKind
    state: RequestState
    display_name: str
    template: Template | None
    body: Annotated[Raw, Meta(extra_json_schema={"type": "object"})]
    waiting: Waiting | None
    blocked: str | None
    error: RequestError | None
    warnings: tuple[str, ...]
    result: Result | None
    steps: tuple[RequestStep, ...]
    approvals: tuple[Approval, ...]
    actions: tuple[Action, ...]
    created_at: Time
    created_by: Actor
    updated_at: Time
    finished_at: Time | None


def summary_of(view: RequestView) -> RequestSummary:
    """Encode a request for lists and timelines."""
    record = view.record
    return RequestSummary(
        request_id=record.request_id,
        tenant_id=record.tenant_id,
        approval_required=record.approval_required,
        kind=record.kind,
        state=record.state,
        display_name=record.display_name,
        template=None if record.template is None else Template(record.template.id, record.template.name),
        waiting=_waiting(record),
        blocked=record.blocked,
        error=_error(record),
        warnings=record.warnings,
        result=_result(record),
        actions=view.actions,
        created_at=format_time(record.created_at),
        created_by=_actor(record.created_by),
        updated_at=format_time(record.updated_at),
        finished_at=_time_or_none(record.finished_at),
    )


def request_of(view: RequestView) -> Request:
    """Encode a request."""
    record = view.record
    return Request(
        **structs.asdict(summary_of(view)),
        body=Raw(record.body),
        steps=tuple(map(step_of, record.steps)),
        approvals=tuple(map(approval_of, record.approvals)),
    )


def step_of(record: StepRecord) -> RequestStep:
    """Encode a step."""
    return RequestStep(
        name=record.step,
        title=title(record.step),
        state=record.state,
        attempts=record.attempts,
        started_at=_time_or_none(record.started_at),
        finished_at=_time_or_none(record.finished_at),
        reason=record.reason,
        next_attempt_at=_time_or_none(record.next_attempt_at),
        error=record.error,
    )


def approval_of(record: ApprovalRecord) -> Approval:
    """Encode a level of approval."""
    return Approval(
        level=record.level,
        mode=record.mode,
        state=record.state,
        deadline=_time_or_none(record.deadline),
        approvers=tuple([NamedApprover(person.id, person.display_name) for person in record.approvers]),
        decisions=tuple(map(_decision, record.decisions)),
    )


def _decision(decision: Decision) -> ApprovalDecision:
    return ApprovalDecision(_actor(decision.by), decision.outcome, decision.comment, format_time(decision.decided_at))


def _error(record: RequestRecord) -> RequestError | None:
    error = record.error
    if error is None:
        return None
    faults = tuple(RequestFault(fault.pointer, fault.code, fault.detail) for fault in error.faults)
    return RequestError(error.step, error.code, error.detail, faults)


def _waiting(record: RequestRecord) -> Waiting | None:
    if record.waiting is None:
        return None
    waiting = record.waiting
    return Waiting(
        waiting.step,
        waiting.reason,
        waiting.attempt,
        _time_or_none(waiting.next_attempt_at),
        _time_or_none(waiting.ends_at),
    )


def _result(record: RequestRecord) -> Result | None:
    if record.result is None:
        return None
    return Result(record.result.type, record.result.id, record.result.display_name, record.result.mail)


DRY_RUN = Parameter(
    "dryRun",
    {"type": "boolean"},
    "`true` is a dry run: nothing is written, and the answer shows the result. An `Idempotency-Key` is ignored then.",
)


class RehearsedTemplate(Struct, rename="camel", frozen=True):
    """The template that would be used."""

    id: UUID
    name: str


class RehearsedPerson(Struct, rename="camel", frozen=True):
    """A user. The name is empty if the directory does not answer."""

    id: UUID
    display_name: str


class RehearsedLevel(Struct, rename="camel", frozen=True):
    """A level of approval, with the users who could decide now."""

    level: int
    mode: ApprovalMode
    approvers: tuple[RehearsedPerson, ...]


class RehearsedStep(Struct, rename="camel", frozen=True):
    """One step that would be taken."""

    name: Step
    title: str


class RehearsalConflict(Struct, rename="camel", frozen=True):
    """A conflict that the request would get as a 409 now."""

    code: str
    pointer: str
    detail: str


def _person(person: NamedPerson) -> RehearsedPerson:
    return RehearsedPerson(person.id, person.display_name)


def _level(level: LevelDryRun) -> RehearsedLevel:
    return RehearsedLevel(level.level, level.mode, tuple(map(_person, level.approvers)))


def _conflict(fault: Fault) -> RehearsalConflict:
    return RehearsalConflict(fault.code, fault.pointer, fault.detail)


def _actor(actor: RecordedActor) -> Actor:
    return Actor(actor.type, actor.id, actor.display_name)


def _time_or_none(value: datetime | None) -> str | None:
    return None if value is None else format_time(value)
