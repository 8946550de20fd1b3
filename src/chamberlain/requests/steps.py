"""Steps: how far a request has come after its steps were worked on."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

from chamberlain.core.errors import Fault, NotPossible, OutsideFault, Rejected
from chamberlain.directory.steps import Step
from chamberlain.requests.models import (
    Progress,
    RequestError,
    RequestRecord,
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
