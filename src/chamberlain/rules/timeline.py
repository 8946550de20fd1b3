"""The timeline of a request: every change of its state and its steps, numbered from 1, for those who watch it.

The first entry is the state at acceptance. It is known from the request itself and is not kept; what follows is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from chamberlain.rules.requests import Progress, RequestError, RequestResult, RequestState, StepRecord, Waiting

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
    """One entry; `state` or `step` is there, as the kind says."""

    kind: EntryKind
    state: StateEntry | None = None
    step: StepRecord | None = None


@dataclass(frozen=True, slots=True)
class Timeline:
    """What is known of a request's past: the first entry, and those from number `start` on."""

    first: Entry
    start: int
    entries: tuple[Entry, ...]

    def after(self, number: int) -> Sequence[tuple[int, Entry]]:
        """The entries behind this number, with their own; 0 gives all."""
        known = [(1, self.first), *enumerate(self.entries, start=self.start)]
        return [(each, entry) for each, entry in known if each > number]


def entries_of(
    before: Sequence[StepRecord], progress: Progress, *, result: RequestResult | None, at: datetime
) -> tuple[Entry, ...]:
    """What a run of the worker adds: the steps that it changed, in their order, and then the state."""
    steps = [
        Entry(EntryKind.STEP, step=after) for old, after in zip(before, progress.steps, strict=True) if old != after
    ]
    state = StateEntry(progress.state, at, waiting=progress.waiting, error=progress.error, result=result)
    return (*steps, Entry(EntryKind.STATE, state=state))
