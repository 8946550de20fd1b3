# SPDX-License-Identifier: Apache-2.0
"""Effects of assignments: the visible part, and the end of the work on the rest."""

from datetime import UTC, datetime

import pytest

from chamberlain.directory.steps import Step
from chamberlain.requests.models import RequestState, StepRecord, StepState
from chamberlain.requests.steps import CANCELLED, Effects

pytestmark = pytest.mark.pure

NOW = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
DONE = StepRecord(Step.MARK_ASSIGNMENT, StepState.SUCCEEDED, 1, NOW, NOW)
LEFT = StepRecord(Step.SET_GUEST_ACCESS, StepState.PENDING)


def test_it_works() -> None:
    effects = Effects((DONE, LEFT), RequestState.CANCELLED, None, NOW)

    assert effects.shown[0] == DONE
    assert (effects.shown[1].state, effects.shown[1].shown_reason) == ("pending", CANCELLED)


@pytest.mark.parametrize(
    ("state", "steps", "is_left_undone"),
    [
        (RequestState.QUEUED, (DONE, LEFT), False),
        (RequestState.RUNNING, (DONE, LEFT), False),
        (RequestState.WAITING, (DONE, LEFT), False),
        (RequestState.SUCCEEDED, (DONE, DONE), False),
        (RequestState.FAILED, (DONE, LEFT), True),
        (RequestState.CANCELLED, (DONE, LEFT), True),
        (RequestState.CANCELLED, (DONE, DONE), False),
    ],
)
def test_it_handles_what_nobody_works_on(
    state: RequestState, steps: tuple[StepRecord, ...], *, is_left_undone: bool
) -> None:
    assert Effects(steps, state, None, NOW).is_left_undone is is_left_undone
