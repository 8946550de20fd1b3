# SPDX-License-Identifier: Apache-2.0
"""The actions of each state: every state against every action."""

import pytest

from chamberlain.core.errors import Conflict, NotFound
from chamberlain.requests.models import RequestState
from chamberlain.requests.rules import DECISIONS, Action, actions_in, not_now, present, require_allowed

pytestmark = pytest.mark.pure

ALLOWED = {
    RequestState.PENDING_APPROVAL: {Action.APPROVE, Action.REJECT, Action.CANCEL},
    RequestState.QUEUED: {Action.CANCEL},
    RequestState.RUNNING: set[Action](),
    RequestState.WAITING: {Action.CANCEL},
    RequestState.SUCCEEDED: set[Action](),
    RequestState.FAILED: {Action.CANCEL, Action.RETRY},
    RequestState.REJECTED: set[Action](),
    RequestState.CANCELLED: set[Action](),
    RequestState.EXPIRED: set[Action](),
}


@pytest.mark.parametrize("state", RequestState)
def test_it_works(state: RequestState) -> None:
    assert set(actions_in(state)) == ALLOWED[state] - DECISIONS
    assert set(actions_in(state, to_decide=True)) == ALLOWED[state]


@pytest.mark.parametrize("state", RequestState)
@pytest.mark.parametrize("action", Action)
def test_it_rejects_what_a_state_does_not_allow(state: RequestState, action: Action) -> None:
    if action in ALLOWED[state]:
        require_allowed(action, state)
        return

    with pytest.raises(Conflict) as caught:
        require_allowed(action, state)

    assert caught.value.code == "stateDoesNotAllow"


@pytest.mark.parametrize(
    ("action", "says"),
    [
        (Action.APPROVE, "approved; only one that is pendingApproval."),
        (Action.REJECT, "rejected; only one that is pendingApproval."),
        (Action.CANCEL, "cancelled; only one that is failed or pendingApproval or queued or waiting."),
        (Action.RETRY, "retried; only one that is failed."),
    ],
)
def test_it_says_when_it_would_be_possible(action: Action, says: str) -> None:
    refusal = not_now(action, RequestState.SUCCEEDED)

    assert refusal.detail == f"A request that is succeeded cannot be {says}"


def test_the_actions_are_called_so_in_paths_and_answers() -> None:
    assert [*Action] == ["approve", "reject", "cancel", "retry"]


def test_a_request_that_was_removed_a_moment_ago_is_not_found() -> None:
    with pytest.raises(NotFound) as refused:
        present(None)

    assert refused.value.code == "notFound"
