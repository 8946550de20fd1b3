"""The timeline of a request: every change of its state and its steps, numbered from 1, for those who watch it.

The first entry is the state at acceptance. It is known from the request itself and is not kept; what follows is.
"""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from chamberlain.requests.models import (
    ENDED,
    Progress,
    RequestError,
    RequestRecord,
    RequestResult,
    RequestState,
    StepRecord,
    Waiting,
)
from chamberlain.requests.models_approvals import ApprovalRecord

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
