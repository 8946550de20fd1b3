"""Steps: how far a request has come after its steps were worked on."""

from collections.abc import AsyncGenerator, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from chamberlain.auth.models import Actor
from chamberlain.core.errors import Fault, NotPossible, OutsideFault, Rejected
from chamberlain.core.ids import ClientId, RequestId, TemplateId, TenantId, TraceId, UserId
from chamberlain.directory.models import Person
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

# So many faults are told in one sentence after the other; all of them stand in the list beside. Ours.
MOST_TOLD = 3

# The states of a step that no later run touches.
FINISHED = frozenset({StepState.SUCCEEDED, StepState.WARNING})


def after_outcome(
    records: Sequence[StepRecord],
    *,
    done: Collection[Step],
    fault: OutsideFault | None,
    started_at: datetime,
    now: datetime,
) -> Progress:
    """What a run of the job, begun at `started_at`, has made of a request.

    `done` are the steps that are true by now, those included that the directory showed already. Without a fault all
    of them are done. With one, the first that is not done is the one that it stopped; those after it were not begun.
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
    """What becomes of a request whose people could be checked only now, and in which there are faults."""
    refusal = NotPossible(faults)
    rejected = Rejected(refusal.code, reasons(refusal))
    failed = after_outcome(records, done=(), fault=rejected, started_at=started_at, now=now)
    return replace(failed, error=failed.error and replace(failed.error, faults=refusal.faults))


def reasons(refusal: NotPossible) -> str:
    """Describe the first faults of an accepted body, and say what to do about it."""
    told = [fault.detail for fault in refusal.faults[:MOST_TOLD]]
    if more := len(refusal.faults) - len(told):
        least = "more than " if refusal.are_truncated else ""
        told.append(f"There are {least}{more} reasons more.")
    return " ".join([*told, "What was sent cannot be changed: cancel this request and send another."])


def is_true(record: StepRecord, done: Collection[Step], fault: OutsideFault | None) -> bool:
    """Whether this run has brought a step to its end."""
    return record.state not in FINISHED and (fault is None or record.step in done)


def finish(record: StepRecord, started_at: datetime, now: datetime) -> StepRecord:
    """A step that is done."""
    return StepRecord(record.step, StepState.SUCCEEDED, record.attempts + 1, record.started_at or started_at, now)


def stop(steps: list[StepRecord], index: int, fault: OutsideFault, *, started_at: datetime, now: datetime) -> Progress:
    """What one step that was stopped makes of all."""
    step = steps[index].step
    attempts = steps[index].attempts + 1
    first = steps[index].started_at or started_at
    match retry_step(step, fault, attempt=attempts, first=first, now=now):
        case After(at=at, reason=reason, ends_at=ends_at):
            steps[index] = StepRecord(step, StepState.WAITING, attempts, first, reason=reason, next_attempt_at=at)
            return Progress(RequestState.WAITING, tuple(steps), waiting=Waiting(step, reason, attempts, at, ends_at))
        case GiveUp(code=code, detail=detail):
            steps[index] = StepRecord(step, StepState.FAILED, attempts, first, now, error=detail)
            return Progress(RequestState.FAILED, tuple(steps), error=RequestError(step, code, detail))


def warn(progress: Progress, step: Step, reason: str) -> Progress:
    """The progress when a step that is done has left something undone; the reason says what, and what to do."""
    steps = [
        replace(record, state=StepState.WARNING, reason=reason)
        if record.step is step and record.state in FINISHED
        else record
        for record in progress.steps
    ]
    return replace(progress, steps=tuple(steps))


def abandon(records: Sequence[StepRecord]) -> tuple[StepRecord, ...]:
    """The records of a request that is cancelled: what waits, or has not begun, will not be tried again."""
    return tuple(
        [
            replace(record, state=StepState.PENDING, reason=None, next_attempt_at=None)
            if record.state is StepState.WAITING
            else record
            for record in records
        ]
    )


def shown_steps(record: RequestRecord) -> tuple[StepRecord, ...]:
    """The steps of a request as they stand now. Which one is worked on, or waits for a person, follows from the request
    itself: nothing is written for it when work begins."""
    return shown_in(record.steps, record.state, record.waiting, updated_at=record.updated_at)


def shown_in(
    records: tuple[StepRecord, ...], state: RequestState, waiting: Waiting | None, *, updated_at: datetime
) -> tuple[StepRecord, ...]:
    """The same, of what is known of a request elsewhere."""
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
            step.step, StepState.WAITING, waiting.attempt, begun, reason=waiting.reason, next_attempt_at=again
        )
    return tuple(steps)


def restart(records: Sequence[StepRecord]) -> tuple[StepRecord, ...]:
    """The records of a failed request that is to be retried: what is done stays done, the rest begins anew, and so does
    the time that each may wait."""
    return tuple(
        record if record.state in FINISHED else StepRecord(record.step, StepState.PENDING) for record in records
    )


CANCELLED = "The request was cancelled. Send the same assignment again to bring this about."


@dataclass(frozen=True, slots=True)
class Effects:
    """What is known of the request of the last change."""

    steps: tuple[StepRecord, ...]
    state: RequestState
    waiting: Waiting | None
    updated_at: datetime

    @property
    def shown(self) -> tuple[StepRecord, ...]:
        """The steps as they stand now. Of those that were cancelled each says that nobody works on it."""
        steps = shown_in(self.steps, self.state, self.waiting, updated_at=self.updated_at)
        if self.state is not RequestState.CANCELLED:
            return steps
        return tuple([step if step.state in FINISHED else replace(step, reason=CANCELLED) for step in steps])

    @property
    def is_left_undone(self) -> bool:
        """Whether something is left to do, and nobody does it."""
        return self.state in ENDED and any(step.state not in FINISHED for step in self.steps)


# A wait of a day has more than a thousand tries. Nobody reads them all: of older ones only the count is kept.
MOST_ENTRIES = 200


class EntryKind(StrEnum):
    """What an entry tells of, by the name of its server-sent event."""

    STATE = "state"
    STEP = "step"
    APPROVAL = "approval"


@dataclass(frozen=True, slots=True)
class StateEntry:
    """The request moved: where to, when, and what there was to say then."""

    state: RequestState
    at: datetime
    waiting: Waiting | None = None
    error: RequestError | None = None
    result: RequestResult | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry; `state`, `step` or `approval` is there, as the kind says."""

    kind: EntryKind
    state: StateEntry | None = None
    step: StepRecord | None = None
    approval: ApprovalRecord | None = None


@dataclass(frozen=True, slots=True)
class Timeline:
    """What is known of a request's past: the first entry, and those from number `start` on; the last is about where
    it stands now, in `state`. `warnings` are those of now, too."""

    state: RequestState
    first: Entry
    start: int
    entries: tuple[Entry, ...]
    warnings: tuple[str, ...] = ()

    @property
    def newest(self) -> int:
        """The number of the last entry."""
        return self.start + len(self.entries) - 1

    @property
    def has_ended(self) -> bool:
        """Whether nothing more happens by itself."""
        return self.state in ENDED

    @property
    def result(self) -> RequestResult | None:
        """What the request has brought about by now."""
        last = self.entries[-1].state if self.entries else None
        return None if last is None else last.result

    def after(self, number: int) -> Sequence[tuple[int, Entry]]:
        """The entries behind this number, with their own; 0 gives all."""
        known = [(1, self.first), *enumerate(self.entries, start=self.start)]
        return [(each, entry) for each, entry in known if each > number]


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that happened to a request, for those who watch: to a step, to a level of approval, or to the request
    itself, as it was then."""

    number: int
    what: StepRecord | ApprovalRecord | RequestRecord


# What happened meanwhile, in its order; nothing now and then, to say that nothing has.
Happenings = AsyncGenerator[tuple[Happening, ...], None]


def entries_of(
    before: Sequence[StepRecord], progress: Progress, *, result: RequestResult | None, at: datetime
) -> tuple[Entry, ...]:
    """What a run of the worker adds: the steps that it changed, in their order, and then the state."""
    state = StateEntry(progress.state, at, waiting=progress.waiting, error=progress.error, result=result)
    return (*_changed_steps(before, progress.steps), Entry(EntryKind.STATE, state=state))


def entries_of_move(before: RequestRecord, after: RequestRecord) -> tuple[Entry, ...]:
    """What somebody adds by whose doing a request becomes what it is after it: as a run of the worker does, and the
    levels of approval that have changed. One that stays where it is has not moved."""
    levels = zip(before.approvals, after.approvals, strict=True)
    approvals = [Entry(EntryKind.APPROVAL, approval=new) for old, new in levels if old != new]
    news = (*_changed_steps(before.steps, after.steps), *approvals)
    if after.state is before.state:
        return news
    state = StateEntry(after.state, after.updated_at, error=after.error)
    return (*news, Entry(EntryKind.STATE, state=state))


def happenings_of(record: RequestRecord, entries: Sequence[tuple[int, Entry]]) -> tuple[Happening, ...]:
    """What entries with their numbers tell of a request."""
    return tuple([Happening(number, _what(record, entry)) for number, entry in entries])


def approvals_after(before: Sequence[ApprovalRecord], news: Sequence[Happening]) -> tuple[ApprovalRecord, ...]:
    """The levels of approval as they stand when this has happened."""
    told = {each.what.level: each.what for each in news if isinstance(each.what, ApprovalRecord)}
    return tuple([told.get(level.level, level) for level in before])


def as_it_was(record: RequestRecord, then: StateEntry) -> RequestRecord:
    """A request as it was when it had just moved. Its steps and what was sent are as in `record`."""
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
    return [Entry(EntryKind.STEP, step=new) for old, new in zip(before, after, strict=True) if old != new]


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
    """A request with what was settled at its submission. `body` is the JSON that was sent; `caller` is who asked, for a
    mailbox perhaps an application. `is_new` says that nobody has ever begun with it."""

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


@dataclass(frozen=True, slots=True)
class Settlement:
    """How a request is put down: how far it came, and what exists of it by now: `result` when it has succeeded, else
    `made`, as far as this run has learned of it. `caller_name` is there when this run has learned that, too, and
    `warnings` are those that it adds."""

    request_id: RequestId
    progress: Progress
    result: RequestResult | None
    people_checked: bool
    at: datetime
    timeline: tuple[Entry, ...]
    made: RequestResult | None = None
    caller_name: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def finished_at(self) -> datetime | None:
        """When it ended, for better or worse; None while it waits."""
        return None if self.progress.state is RequestState.WAITING else self.at

    @property
    def may_come_again(self) -> bool:
        """Whether it may be tried so often, by itself or by hand, that its timeline has to be shortened."""
        return self.progress.state is not RequestState.SUCCEEDED


def summary_of_task(task: Task, progress: Progress) -> RequestSummary:
    """What events tell of a request that has come so far."""
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
    """The task when the directory has told who asked, which it did not when it was asked for."""
    if person is None or task.created_by.display_name:
        return task
    return replace(task, created_by=replace(task.created_by, display_name=person.display_name))


def learned_name(task: Task) -> str | None:
    """What the caller is called, where it was learned only while the people were checked."""
    return None if task.people_checked else task.created_by.display_name or None
