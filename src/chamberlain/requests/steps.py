# SPDX-License-Identifier: Apache-2.0
"""Steps and timelines of requests, and the tasks of their worker."""

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from chamberlain.auth.models import Actor
from chamberlain.core.errors import Cause, Fault, NotPossible, OutsideFault, Rejected, TryAgain
from chamberlain.core.ids import ClientId, RequestId, TemplateId, TenantId, TraceId, UserId
from chamberlain.core.reasons import Reason
from chamberlain.core.waits import Waited
from chamberlain.directory.models import Person
from chamberlain.directory.port import Shortfall
from chamberlain.directory.steps import Step
from chamberlain.requests.events import RequestSummary
from chamberlain.requests.models import (
    ENDED,
    ApprovalRecord,
    Progress,
    RequestError,
    RequestKind,
    RequestRecord,
    RequestResult,
    RequestState,
    StepRecord,
    StepState,
    Waiting,
)
from chamberlain.requests.retries import After, GiveUp, retry_step

# The detail of an error has at most this many faults; `errors` has all. Our choice.
MOST_TOLD = 3

# Final states of a step.
FINISHED = frozenset({StepState.SUCCEEDED, StepState.WARNING})


def after_outcome(
    records: Sequence[StepRecord],
    *,
    done: Collection[Step],
    fault: OutsideFault | None,
    started_at: datetime,
    now: datetime,
) -> Progress:
    """Return the progress of a request after a run of its job.

    The run began at `started_at`. `done` has the finished steps, including those that the directory already showed.
    Without a fault all steps are done. A fault belongs to the first step that is not done; later steps have not
    started.
    """
    steps = [finish(record, started_at, now) if is_true(record, done, fault) else record for record in records]
    if fault is None:
        return Progress(RequestState.SUCCEEDED, tuple(steps))
    index = next((index for index, record in enumerate(steps) if record.state not in FINISHED), None)
    if index is None:
        raise ValueError("A fault came with steps that are all done; an outcome says one or the other.") from fault
    return stop(steps, index, fault, started_at=started_at, now=now)


def after_faults(
    records: Sequence[StepRecord], faults: Sequence[Fault], *, started_at: datetime, now: datetime
) -> Progress:
    """Return the progress of a request whose body is invalid.

    Only the worker has found that.
    """
    refusal = NotPossible(faults)
    rejected = Rejected(refusal.code, reasons(refusal))
    failed = after_outcome(records, done=(), fault=rejected, started_at=started_at, now=now)
    return replace(failed, error=failed.error and replace(failed.error, faults=refusal.faults))


def reasons(refusal: NotPossible) -> str:
    """Describe the first faults of an accepted body, and the fix."""
    told = [fault.detail for fault in refusal.faults[:MOST_TOLD]]
    if more := len(refusal.faults) - len(told):
        least = "more than " if refusal.are_truncated else ""
        told.append(f"There are {least}{more} reasons more.")
    return " ".join([*told, "The body cannot be changed: cancel this request and send another."])


def is_true(record: StepRecord, done: Collection[Step], fault: OutsideFault | None) -> bool:
    """Return whether this run has finished a step."""
    return record.state not in FINISHED and (fault is None or record.step in done)


def finish(record: StepRecord, started_at: datetime, now: datetime) -> StepRecord:
    """Return the record of a finished step."""
    return StepRecord(record.step, StepState.SUCCEEDED, record.attempts + 1, record.started_at or started_at, now)


def stop(steps: list[StepRecord], index: int, fault: OutsideFault, *, started_at: datetime, now: datetime) -> Progress:
    """Return the progress after a fault stopped a step.

    A broken connection and a wait for a budget are no attempts.
    """
    record = steps[index]
    step, first = record.step, record.started_at or started_at
    is_attempt = not isinstance(fault, TryAgain) or fault.is_attempt
    attempts = record.attempts + is_attempt
    match retry_step(step, fault, attempt=attempts, first=first, now=now, before=_waited_before(record)):
        case After(at=at, reason=reason, ends_at=ends_at, waited=waited):
            said, cause = reason.sentence, reason.cause
            waiting = Waiting(step, said, attempts, at, ends_at, cause)
            steps[index] = StepRecord(
                step, StepState.WAITING, attempts, first, reason=said, next_attempt_at=at, cause=cause, waited=waited
            )
            return Progress(RequestState.WAITING, tuple(steps), waiting=waiting)
        case GiveUp(code=code, detail=detail):
            steps[index] = StepRecord(step, StepState.FAILED, attempts, first, now, error=detail)
            return Progress(RequestState.FAILED, tuple(steps), error=RequestError(step, code, detail))


# Reasons that name the cause of a wait, for rows of an older version.
_UNAVAILABLE = {"directoryBusy": Cause.BUSY, "directoryNotAvailable": Cause.AWAY}


def _waited_before(record: StepRecord) -> Waited | None:
    """Return the time that a step has waited before this run.

    In a row of an older version all of it belongs to the reason of the last wait.
    """
    if record.waited is not None or record.cause is None or record.started_at is None:
        return record.waited
    return Waited(record.started_at, _UNAVAILABLE.get(record.cause.code, Cause.NOT_YET))


def warn(progress: Progress, step: Step, reason: Reason) -> Progress:
    """Turn a finished step into a warning.

    The reason says how to resolve it.
    """
    steps = [
        replace(record, state=StepState.WARNING, reason=reason.sentence, cause=reason.cause)
        if record.step is step and record.state in FINISHED
        else record
        for record in progress.steps
    ]
    return replace(progress, steps=tuple(steps))


def fall_short(progress: Progress, shortfalls: Mapping[Step, Reason]) -> Progress:
    """Turn steps with a shortfall into warnings."""
    for step, reason in shortfalls.items():
        progress = warn(progress, step, reason)
    return progress


def reasons_by_step(shortfalls: Sequence[Shortfall], recorded: Collection[Step]) -> Mapping[Step, Reason]:
    """Return one reason for each step with shortfalls.

    Recorded steps have their reason already. Several shortfalls of a step become one reason.
    """
    by_step: dict[Step, list[Reason]] = {}
    for each in shortfalls:
        if each.step not in recorded:
            by_step.setdefault(each.step, []).append(each.reason)
    return {step: reasons[0] if len(reasons) == 1 else _joined(reasons) for step, reasons in by_step.items()}


def _joined(reasons: Sequence[Reason]) -> Reason:
    return Reason.build("partNotSet", problem=" ".join([each.sentence for each in reasons]))


def abandon(records: Sequence[StepRecord]) -> tuple[StepRecord, ...]:
    """Return the steps of a cancelled request.

    Waiting steps become pending; there is no retry.
    """
    return tuple(
        [
            replace(record, state=StepState.PENDING, reason=None, next_attempt_at=None, cause=None, waited=None)
            if record.state is StepState.WAITING
            else record
            for record in records
        ]
    )


def shown_steps(record: RequestRecord) -> tuple[StepRecord, ...]:
    """Return the current steps of a request.

    The running step, or the one that waits for an administrator, is derived from the state of the request.
    """
    return shown_in(record.steps, record.state, record.waiting, updated_at=record.updated_at)


def shown_in(
    records: tuple[StepRecord, ...], state: RequestState, waiting: Waiting | None, *, updated_at: datetime
) -> tuple[StepRecord, ...]:
    """Return the current steps by the state of the request."""
    steps = list(records)
    index = next((index for index, step in enumerate(steps) if step.state not in FINISHED), None)
    if index is None:
        return records
    step = steps[index]
    begun = step.started_at or updated_at
    if state is RequestState.RUNNING:
        steps[index] = StepRecord(step.step, StepState.RUNNING, step.attempts + 1, begun)
    elif state is RequestState.WAITING and waiting is not None:
        again = waiting.next_attempt_at
        steps[index] = StepRecord(
            step.step,
            StepState.WAITING,
            waiting.attempt,
            begun,
            reason=waiting.reason,
            next_attempt_at=again,
            cause=waiting.cause,
        )
    return tuple(steps)


def restart(records: Sequence[StepRecord]) -> tuple[StepRecord, ...]:
    """Return the steps for a retry.

    Finished steps stay; the others start again with their full time.
    """
    return tuple(
        record if record.state in FINISHED else StepRecord(record.step, StepState.PENDING) for record in records
    )


CANCELLED = Reason.build("assignmentCancelled")


@dataclass(frozen=True, slots=True)
class Effects:
    """The progress of the request of the last change."""

    steps: tuple[StepRecord, ...]
    state: RequestState
    waiting: Waiting | None
    updated_at: datetime

    @property
    def shown(self) -> tuple[StepRecord, ...]:
        """Return the current steps. Cancelled ones have a reason."""
        steps = shown_in(self.steps, self.state, self.waiting, updated_at=self.updated_at)
        if self.state is not RequestState.CANCELLED:
            return steps
        said, cause = CANCELLED.sentence, CANCELLED.cause
        return tuple([step if step.state in FINISHED else replace(step, reason=said, cause=cause) for step in steps])

    @property
    def is_left_undone(self) -> bool:
        """Return whether the request has ended with unfinished steps."""
        return self.state in ENDED and any(step.state not in FINISHED for step in self.steps)


# A wait of a day has more than a thousand retries. Only the count of older entries is kept.
MOST_ENTRIES = 200


class EntryKind(StrEnum):
    """The kind of an entry: the name of its server-sent event."""

    STATE = "state"
    STEP = "step"
    APPROVAL = "approval"


@dataclass(frozen=True, slots=True)
class StateEntry:
    """A transition of the request: the new state, its time and details."""

    state: RequestState
    at: datetime
    waiting: Waiting | None = None
    error: RequestError | None = None
    result: RequestResult | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry.

    The kind says which of `state`, `step` and `approval` is set.
    """

    kind: EntryKind
    state: StateEntry | None = None
    step: StepRecord | None = None
    approval: ApprovalRecord | None = None


@dataclass(frozen=True, slots=True)
class Timeline:
    """The history of a request.

    It has the first entry, and those from number `start` on. `state` and `warnings` are current.
    """

    state: RequestState
    first: Entry
    start: int
    entries: tuple[Entry, ...]
    warnings: tuple[Reason, ...] = ()

    @property
    def newest(self) -> int:
        """Return the number of the last entry."""
        return self.start + len(self.entries) - 1

    @property
    def has_ended(self) -> bool:
        """Return whether only a user can change the request."""
        return self.state in ENDED

    @property
    def result(self) -> RequestResult | None:
        """Return the result, if there is one."""
        last = self.entries[-1].state if self.entries else None
        return None if last is None else last.result

    def after(self, number: int) -> Sequence[tuple[int, Entry]]:
        """Return the entries after a number, with their numbers; 0 returns all."""
        known = [(1, self.first), *enumerate(self.entries, start=self.start)]
        return [(each, entry) for each, entry in known if each > number]


@dataclass(frozen=True, slots=True)
class Happening:
    """An event of a request, for watchers.

    It is of a step, of a level of approval, or of the request at that time.
    """

    number: int
    what: StepRecord | ApprovalRecord | RequestRecord


# New events in order. An empty batch is a heartbeat.
Happenings = AsyncGenerator[tuple[Happening, ...], None]


def entries_of(
    before: Sequence[StepRecord], progress: Progress, *, result: RequestResult | None, at: datetime
) -> tuple[Entry, ...]:
    """Return the entries of a run: changed steps, then the state."""
    state = StateEntry(progress.state, at, waiting=progress.waiting, error=progress.error, result=result)
    return (*_changed_steps(before, progress.steps), Entry(EntryKind.STATE, state=state))


def entries_of_move(before: RequestRecord, after: RequestRecord) -> tuple[Entry, ...]:
    """Return the entries of an action: changed steps, levels and state.

    The time of a reminder is not shown.
    """
    levels = zip(before.approvals, after.approvals, strict=True)
    approvals = [
        Entry(EntryKind.APPROVAL, approval=new)
        for old, new in levels
        if old != replace(new, reminded_at=old.reminded_at)
    ]
    news = (*_changed_steps(before.steps, after.steps), *approvals)
    if after.state is before.state:
        return news
    state = StateEntry(after.state, after.updated_at, error=after.error)
    return (*news, Entry(EntryKind.STATE, state=state))


def happenings_of(record: RequestRecord, entries: Sequence[tuple[int, Entry]]) -> tuple[Happening, ...]:
    """Convert numbered entries to events."""
    return tuple([Happening(number, _what(record, entry)) for number, entry in entries])


def approvals_after(before: Sequence[ApprovalRecord], news: Sequence[Happening]) -> tuple[ApprovalRecord, ...]:
    """Return the levels of approval after these events."""
    told = {each.what.level: each.what for each in news if isinstance(each.what, ApprovalRecord)}
    return tuple([told.get(level.level, level) for level in before])


def as_it_was(record: RequestRecord, then: StateEntry) -> RequestRecord:
    """Return the request as it was after a transition.

    It has the steps and body of `record`.
    """
    return replace(
        record,
        state=then.state,
        waiting=then.waiting,
        blocked=record.blocked if then.state is RequestState.PENDING_APPROVAL else None,
        error=then.error,
        result=then.result,
        updated_at=then.at,
        finished_at=then.at if then.state in ENDED else None,
    )


def _changed_steps(before: Sequence[StepRecord], after: Sequence[StepRecord]) -> list[Entry]:
    # The time of waits is of the worker only. It would lengthen each entry of a long wait.
    return [
        Entry(EntryKind.STEP, step=replace(new, waited=None) if new.waited else new)
        for old, new in zip(before, after, strict=True)
        if old != new
    ]


def _what(record: RequestRecord, entry: Entry) -> StepRecord | ApprovalRecord | RequestRecord:
    if entry.step is not None:
        return entry.step
    if entry.approval is not None:
        return entry.approval
    if entry.state is not None:
        return as_it_was(record, entry.state)
    raise ValueError(f"An entry of kind {entry.kind} holds nothing.")


@dataclass(frozen=True, slots=True)
class Task:
    """A request to provision. `body` is the JSON that was sent.

    `caller` may be an application for mailboxes. `is_new` means that no run has started before. `made` is the id in the
    directory of an object that an earlier run created.
    """

    request_id: RequestId
    tenant_id: TenantId
    kind: RequestKind
    display_name: str
    mail_nickname: str
    mail: str
    template_id: TemplateId
    template_revision: int
    body: bytes
    people_checked: bool
    steps: tuple[StepRecord, ...]
    client_id: ClientId
    caller: UserId
    created_by: Actor
    trace_id: TraceId
    created_at: datetime
    extension_prefix: str
    is_new: bool
    made: UUID | None = None

    @property
    def recorded(self) -> frozenset[Step]:
        """Return the steps that earlier runs have finished."""
        return frozenset([record.step for record in self.steps if record.state in FINISHED])


@dataclass(frozen=True, slots=True)
class Settlement:
    """The outcome of a run, as it is written.

    The object in the directory is in `result` after success, else in `made`. `caller_name` is set if this run read it
    from the directory. `warnings` are new ones.
    """

    request_id: RequestId
    progress: Progress
    result: RequestResult | None
    people_checked: bool
    at: datetime
    timeline: tuple[Entry, ...]
    made: RequestResult | None = None
    caller_name: str | None = None
    warnings: tuple[Reason, ...] = ()

    @property
    def finished_at(self) -> datetime | None:
        """Return the time of the end, None while the request waits."""
        return None if self.progress.state is RequestState.WAITING else self.at

    @property
    def may_come_again(self) -> bool:
        """Return whether retries may lengthen the timeline."""
        return self.progress.state is not RequestState.SUCCEEDED


def summary_of_task(task: Task, progress: Progress) -> RequestSummary:
    """Summarize a request with its progress for events."""
    return RequestSummary(
        request_id=task.request_id,
        tenant_id=task.tenant_id,
        kind=task.kind,
        state=progress.state,
        display_name=task.display_name,
        error=progress.error,
        created_by=task.created_by,
    )


def with_caller(task: Task, person: Person | None) -> Task:
    """Add the caller's name if the directory did not answer at submission."""
    if person is None or task.created_by.display_name:
        return task
    return replace(task, created_by=replace(task.created_by, display_name=person.display_name))


def learned_name(task: Task) -> str | None:
    """Return the caller's name if this run read it from the directory."""
    return None if task.people_checked else task.created_by.display_name or None
