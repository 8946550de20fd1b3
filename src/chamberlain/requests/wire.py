# SPDX-License-Identifier: Apache-2.0
"""JSON of requests, steps and approvals, and of dry runs."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Raw, Struct, structs

from chamberlain.auth.models import Actor as RecordedActor
from chamberlain.changes.models import format_time
from chamberlain.core.errors import Fault
from chamberlain.core.reasons import Reason
from chamberlain.core.sentences import Values
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
    LevelSubstitute,
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

    The first retry that fails for the same cause after `endsAt` is the last. It is null while the tenant's connection
    to its directory is broken. Both times are null while the request waits for an administrator to release its job.
    `reasonCode` and `reasonValues` are those of `reason`; they are null if an older version of the service wrote it.
    """

    step: Step
    reason: str
    attempt: int
    next_attempt_at: Time | None
    ends_at: Time | None
    reason_code: str | None
    reason_values: Values | None


class RequestFault(Struct, frozen=True, omit_defaults=True):
    """An error in the body, found after acceptance.

    `values` has the numbers and words of `detail` by name.
    """

    pointer: str
    code: str
    detail: str
    values: Values = {}


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


class StepShortfall(Struct, frozen=True):
    """A part of a completed step that was left undone.

    `detail` says how to get the rest.
    """

    code: str
    detail: str
    values: Values


class RequestStep(Struct, rename="camel", frozen=True, omit_defaults=True):
    """One step of a request.

    `reasonCode` and `reasonValues` are those of `reason`; they are null if an older version of the service wrote it.
    """

    name: Step
    title: str
    state: StepState
    attempts: int
    started_at: Time | None
    finished_at: Time | None
    reason: str | None
    next_attempt_at: Time | None
    error: str | None
    reason_code: str | None
    reason_values: Values | None
    shortfall: StepShortfall | None = None


class RequestWarning(Struct, rename="camel", frozen=True):
    """A warning.

    `code` and `values` are null if an older version of the service wrote it.
    """

    code: str | None
    detail: str
    values: Values | None


class NamedApprover(Struct, rename="camel", frozen=True):
    """A user who may decide."""

    id: UUID
    display_name: str


class ApprovalDecision(Struct, rename="camel", frozen=True, omit_defaults=True):
    """The decision of an approver, or of a substitute.

    `onBehalfOf` is the approver for whom a substitute decided.
    """

    by: Actor
    outcome: DecisionOutcome
    comment: str | None
    decided_at: Time
    on_behalf_of: NamedApprover | None = None


class ApprovalSubstitute(Struct, rename="camel", frozen=True):
    """A user who may decide for an approver until a time."""

    id: UUID
    display_name: str
    approver_id: UUID
    until: Time


class Approval(Struct, rename="camel", frozen=True, omit_defaults=True):
    """One level of approval.

    Approvers are found when the level opens; it is `blocked` without approvers. `substitutes` may decide for an
    approver, and are omitted if there are none.
    """

    level: int
    mode: ApprovalMode
    state: ApprovalState
    deadline: Time | None
    approvers: tuple[NamedApprover, ...]
    decisions: tuple[ApprovalDecision, ...]
    substitutes: tuple[ApprovalSubstitute, ...] = ()


class RequestSummary(Struct, rename="camel", frozen=True, omit_defaults=True):
    """A request without body, steps and approvals, for lists and timelines.

    `shortfalls` counts the steps that left a part undone, after success.
    """

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
    warning_reasons: tuple[RequestWarning, ...]
    shortfalls: int = 0


class RequestField(Struct, frozen=True):
    """A custom field of the template, with its label at submission.

    `value` is as people read it: the label of a choice, the name of a user.
    """

    key: str
    label: str
    value: str | bool


class Request(Struct, rename="camel", frozen=True, omit_defaults=True):
    """A request. `body` is the JSON that was sent.

    `shortfalls` counts the steps that left a part undone, after success. `fields` are the custom fields with a value.
    """

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
    warning_reasons: tuple[RequestWarning, ...]
    shortfalls: int = 0
    fields: tuple[RequestField, ...] = ()


class ReplyDecision(Struct, rename="camel", frozen=True):
    """The decision of a reply by mail, and its request's state."""

    request_id: UUID
    outcome: DecisionOutcome
    state: RequestState


def warning_texts(warnings: Iterable[Reason]) -> tuple[str, ...]:
    """Encode warnings as sentences."""
    return tuple([each.sentence for each in warnings])


def warning_reasons(warnings: Iterable[Reason]) -> tuple[RequestWarning, ...]:
    """Encode warnings with their codes and values."""
    return tuple([RequestWarning(each.code, each.sentence, each.values) for each in warnings])


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
        warnings=warning_texts(record.warnings),
        result=_result(record),
        actions=view.actions,
        created_at=format_time(record.created_at),
        created_by=_actor(record.created_by),
        updated_at=format_time(record.updated_at),
        finished_at=_time_or_none(record.finished_at),
        warning_reasons=warning_reasons(record.warnings),
        shortfalls=_count_shortfalls(record),
    )


def request_of(view: RequestView) -> Request:
    """Encode a request."""
    record = view.record
    return Request(
        **structs.asdict(summary_of(view)),
        body=Raw(record.body),
        steps=tuple(map(step_of, record.steps)),
        approvals=tuple(map(approval_of, record.approvals)),
        fields=tuple([RequestField(each.key, each.label, each.value) for each in view.fields]),
    )


def step_of(record: StepRecord) -> RequestStep:
    """Encode a step."""
    reason = record.shown_reason
    return RequestStep(
        name=record.step,
        title=title(record.step),
        state=record.state,
        attempts=record.attempts,
        started_at=_time_or_none(record.started_at),
        finished_at=_time_or_none(record.finished_at),
        reason=None if reason is None else reason.sentence,
        next_attempt_at=_time_or_none(record.next_attempt_at),
        error=record.error,
        reason_code=None if reason is None else reason.code,
        reason_values=None if reason is None else reason.values,
        shortfall=shortfall_of(record),
    )


def shortfall_of(record: StepRecord) -> StepShortfall | None:
    """Encode the part that a step left undone, if there is one."""
    reason = record.shortfall
    if reason is None or reason.code is None:
        return None
    return StepShortfall(reason.code, reason.sentence, reason.values or {})


def approval_of(record: ApprovalRecord) -> Approval:
    """Encode a level of approval."""
    return Approval(
        level=record.level,
        mode=record.mode,
        state=record.state,
        deadline=_time_or_none(record.deadline),
        approvers=tuple([NamedApprover(person.id, person.display_name) for person in record.approvers]),
        decisions=tuple(map(_decision, record.decisions)),
        substitutes=tuple(map(_substitute, record.substitutes)),
    )


def _decision(decision: Decision) -> ApprovalDecision:
    by, approver = _actor(decision.by), decision.on_behalf_of
    on_behalf_of = None if approver is None else NamedApprover(approver.id, approver.display_name)
    return ApprovalDecision(by, decision.outcome, decision.comment, format_time(decision.decided_at), on_behalf_of)


def _substitute(substitute: LevelSubstitute) -> ApprovalSubstitute:
    return ApprovalSubstitute(
        substitute.id, substitute.display_name, substitute.approver, format_time(substitute.until)
    )


def _error(record: RequestRecord) -> RequestError | None:
    error = record.error
    if error is None:
        return None
    return RequestError(error.step, error.code, error.detail, tuple(map(request_fault, error.faults)))


def request_fault(fault: Fault) -> RequestFault:
    """Encode an error in the body of an accepted request."""
    return RequestFault(fault.pointer, fault.code, fault.detail, fault.values)


def _waiting(record: RequestRecord) -> Waiting | None:
    if record.waiting is None:
        return None
    waiting = record.waiting
    reason = waiting.shown_reason
    return Waiting(
        waiting.step,
        reason.sentence,
        waiting.attempt,
        _time_or_none(waiting.next_attempt_at),
        _time_or_none(waiting.ends_at),
        reason.code,
        reason.values,
    )


def _count_shortfalls(record: RequestRecord) -> int:
    if record.state is not RequestState.SUCCEEDED:
        return 0
    return sum(step.state is StepState.WARNING for step in record.steps)


def _result(record: RequestRecord) -> Result | None:
    if record.result is None:
        return None
    return Result(record.result.type, record.result.id, record.result.display_name, record.result.mail)


DRY_RUN = Parameter(
    "dryRun",
    {"type": "boolean"},
    "`true` is a dry run: nothing is written, and the answer shows the result. An `Idempotency-Key` is ignored then.",
)


class DryRunTemplate(Struct, rename="camel", frozen=True):
    """The template that would be used."""

    id: UUID
    name: str


class DryRunPerson(Struct, rename="camel", frozen=True):
    """A user. The name is empty if the directory does not answer."""

    id: UUID
    display_name: str


class DryRunLevel(Struct, rename="camel", frozen=True):
    """A level of approval, with the users who could decide now."""

    level: int
    mode: ApprovalMode
    approvers: tuple[DryRunPerson, ...]


class DryRunStep(Struct, rename="camel", frozen=True):
    """One step that would be taken."""

    name: Step
    title: str


class DryRunConflict(Struct, rename="camel", frozen=True, omit_defaults=True):
    """A conflict that the request would get now, by 409 or 429.

    `values` has the numbers and words of `detail` by name.
    """

    code: str
    pointer: str
    detail: str
    values: Values = {}


def _person(person: NamedPerson) -> DryRunPerson:
    return DryRunPerson(person.id, person.display_name)


def _level(level: LevelDryRun) -> DryRunLevel:
    return DryRunLevel(level.level, level.mode, tuple(map(_person, level.approvers)))


def _conflict(fault: Fault) -> DryRunConflict:
    return DryRunConflict(fault.code, fault.pointer, fault.detail, fault.values)


def _actor(actor: RecordedActor) -> Actor:
    return Actor(actor.type, actor.id, actor.display_name)


def _time_or_none(value: datetime | None) -> str | None:
    return None if value is None else format_time(value)
