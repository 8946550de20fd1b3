"""Effects: how far what is assigned to a group or site has come in the directory, by the request that brings it
about."""

from dataclasses import dataclass, replace
from datetime import datetime

from chamberlain.requests.models import ENDED, RequestState, StepRecord, Waiting
from chamberlain.requests.steps import FINISHED, shown_in

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
