# SPDX-License-Identifier: Apache-2.0
import pytest

from chamberlain.directory.steps import Step
from chamberlain.requests import models as request_models
from chamberlain.requests.models import MOVES, Accepted, RequestKind, RequestState, StepRecord, StepState, begin_steps
from tests.groups.group_values import REQUEST, TENANT

pytestmark = pytest.mark.pure

# The allowed moves in one line, as the API promises them.
PROMISED = (
    "pendingApproval -> queued, rejected, cancelled, expired · queued -> running, cancelled · "
    "running -> waiting, succeeded, failed · waiting -> running, failed, cancelled · failed -> queued, cancelled"
)
ALLOWED = {
    (RequestState(old), RequestState(new))
    for old, _, news in (move.partition(" -> ") for move in PROMISED.split(" · "))
    for new in news.split(", ")
}


@pytest.mark.parametrize("old", RequestState)
@pytest.mark.parametrize("new", RequestState)
def test_it_works(old: RequestState, new: RequestState) -> None:
    assert (new in MOVES[old]) is ((old, new) in ALLOWED)


def test_the_table_of_moves_is_as_it_is_drawn() -> None:
    drawing = (request_models.__doc__ or "").split("\n\n")[2]
    head, *rows = [line.split() for line in drawing.splitlines()]

    drawn = {
        (RequestState(old), RequestState(new))
        for old, *marks in rows
        for new, mark in zip(head, marks, strict=True)
        if mark != "."
    }

    assert drawn == {(old, new) for old, following in MOVES.items() for new in following}


def test_it_begins_with_nothing_done() -> None:
    assert begin_steps([Step.CREATE_GROUP, Step.SET_LABEL]) == (
        StepRecord(Step.CREATE_GROUP, StepState.PENDING),
        StepRecord(Step.SET_LABEL, StepState.PENDING),
    )


def test_the_api_shows_these_words() -> None:
    assert [str(each) for each in RequestKind] == [
        "shared",
        "equipment",
        "room",
        "group",
        "team",
        "assignment",
        "repair",
    ]
    assert [str(each) for each in RequestState] == [
        "pendingApproval",
        "queued",
        "running",
        "waiting",
        "succeeded",
        "failed",
        "rejected",
        "cancelled",
        "expired",
    ]
    assert [str(each) for each in StepState] == ["pending", "running", "waiting", "succeeded", "warning", "failed"]


def test_a_request_is_new_unless_it_is_said_to_be_replayed() -> None:
    accepted = Accepted(REQUEST, TENANT, approval_required=False)

    assert accepted == Accepted(REQUEST, TENANT, approval_required=False, replayed=False)
