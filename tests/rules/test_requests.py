import pytest

from chamberlain.rules.plans import Step
from chamberlain.rules.requests import RequestState, StepRecord, StepState, begin_steps, may_move

# The line of SHAPES.md, "Request", as it stands there.
DRAWN = (
    "pendingApproval -> queued, rejected, cancelled, expired · queued -> running, cancelled · "
    "running -> waiting, succeeded, failed · waiting -> running, failed, cancelled · failed -> queued, cancelled"
)
ALLOWED = {
    (RequestState(old), RequestState(new))
    for old, _, news in (move.partition(" -> ") for move in DRAWN.split(" · "))
    for new in news.split(", ")
}


@pytest.mark.parametrize("old", RequestState)
@pytest.mark.parametrize("new", RequestState)
def test_it_works(old: RequestState, new: RequestState) -> None:
    assert may_move(old, new) is ((old, new) in ALLOWED)


def test_it_begins_with_nothing_done() -> None:
    assert begin_steps([Step.CREATE_GROUP, Step.SET_LABEL]) == (
        StepRecord(Step.CREATE_GROUP, StepState.PENDING),
        StepRecord(Step.SET_LABEL, StepState.PENDING),
    )
