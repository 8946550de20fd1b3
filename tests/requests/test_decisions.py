# SPDX-License-Identifier: Apache-2.0
"""Permitted decisions on a request, its next check, and its next state: tables of cases."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from chamberlain.auth.models import Actor, ActorType, Caller
from chamberlain.core.errors import Conflict, Forbidden
from chamberlain.core.ids import ClientId, UserId
from chamberlain.core.reasons import Reason
from chamberlain.directory.models import NamedPerson, PeopleAnswer
from chamberlain.directory.steps import Step
from chamberlain.requests.approvals import Levels
from chamberlain.requests.models import (
    MOVES,
    ApprovalMode,
    ApprovalRecord,
    ApprovalState,
    Decision,
    DecisionOutcome,
    RequestKind,
    RequestRecord,
    RequestState,
    StepRecord,
    StepState,
)
from chamberlain.requests.rules import (
    LOOK_EVERY,
    Action,
    expired,
    has_left,
    moved_on,
    naming_faults,
    next_look,
    parked,
    require_approver,
    require_blocked,
    require_others,
    require_turn,
    until_deadline,
)
from tests.groups.group_values import ADA, BEN, CLEO, DARA, REQUEST, TENANT, person

pytestmark = pytest.mark.pure

NOW = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
DAY = timedelta(days=1)
PENDING, APPROVED, NOT_REACHED, BLOCKED, REJECTED = (
    ApprovalState.PENDING,
    ApprovalState.APPROVED,
    ApprovalState.NOT_REACHED,
    ApprovalState.BLOCKED,
    ApprovalState.REJECTED,
)


def levels(*states: ApprovalState, deadline: datetime | None = None) -> Levels:
    """Levels in these states: Dara and Ben are asked at each that was open, and Dara has decided where it has ended."""
    return tuple(_level(number, state, deadline) for number, state in enumerate(states, start=1))


def _level(number: int, state: ApprovalState, deadline: datetime | None) -> ApprovalRecord:
    approvers = () if state in {NOT_REACHED, BLOCKED} else (NamedPerson(DARA, "Dara"), NamedPerson(BEN, "Ben"))
    outcome = DecisionOutcome.REJECTED if state is REJECTED else DecisionOutcome.APPROVED
    decided = (Decision(Actor(ActorType.USER, DARA, "Dara"), outcome, None, NOW),)
    decisions = decided if state in {APPROVED, REJECTED} else ()
    return ApprovalRecord(number, ApprovalMode.ANY, state, deadline, approvers, decisions)


def record(approvals: Levels, state: RequestState = RequestState.PENDING_APPROVAL) -> RequestRecord:
    """A request of Ada's."""
    return RequestRecord(
        request_id=REQUEST,
        tenant_id=TENANT,
        approval_required=True,
        kind=RequestKind.GROUP,
        state=state,
        display_name="Apollo",
        template=None,
        body=b"{}",
        waiting=None,
        blocked=None,
        error=None,
        warnings=(),
        result=None,
        steps=(),
        created_at=NOW,
        created_by=Actor(ActorType.USER, ADA, "Ada"),
        client_id=ClientId("client"),
        updated_at=NOW,
        finished_at=None,
        approvals=approvals,
    )


def caller(id_: UUID, type_: ActorType = ActorType.USER) -> Caller:
    return Caller(TENANT, type_, id_, ClientId("client"), frozenset(), NOW)


@pytest.mark.parametrize(
    ("who", "code"),
    [
        (caller(DARA), None),
        (caller(BEN), None),
        (caller(CLEO), "notApprover"),
        (caller(ADA), "selfApproval"),
        (caller(ADA, ActorType.APPLICATION), "selfApproval"),
        (caller(DARA, ActorType.APPLICATION), "notApprover"),
    ],
)
def test_it_works(who: Caller, code: str | None) -> None:
    waiting = record(levels(PENDING))
    if code is None:
        assert require_approver(waiting, who) == who.id
        return

    with pytest.raises(Forbidden) as caught:
        require_approver(waiting, who)

    assert caught.value.code == code


def test_a_requester_is_refused_even_where_they_stand_among_the_approvers() -> None:
    (level,) = levels(PENDING)
    waiting = record((replace(level, approvers=(NamedPerson(ADA, "Ada"),)),))

    with pytest.raises(Forbidden) as caught:
        require_approver(waiting, caller(ADA))

    assert caught.value.code == "selfApproval"


@pytest.mark.parametrize(
    ("waiting", "user", "is_turn"),
    [
        pytest.param(record(levels(PENDING)), DARA, True, id="asked"),
        pytest.param(record(levels(PENDING, deadline=NOW + DAY)), DARA, True, id="in time"),
        pytest.param(record(levels(PENDING, deadline=NOW)), DARA, False, id="too late"),
        pytest.param(record(levels(PENDING)), CLEO, False, id="not asked"),
        pytest.param(record(levels(APPROVED, NOT_REACHED)), BEN, False, id="the level is closed"),
        pytest.param(record(levels(APPROVED, PENDING)), DARA, True, id="asked again at the second level"),
        pytest.param(record(levels(BLOCKED)), DARA, False, id="blocked"),
        pytest.param(record(levels(PENDING), RequestState.CANCELLED), DARA, False, id="cancelled"),
    ],
)
@pytest.mark.parametrize("action", [Action.APPROVE, Action.REJECT])
def test_it_is_somebodys_turn_or_not(waiting: RequestRecord, user: UserId, action: Action, *, is_turn: bool) -> None:
    if is_turn:
        require_turn(waiting, user, action, now=NOW)
        return

    with pytest.raises(Conflict) as caught:
        require_turn(waiting, user, action, now=NOW)

    assert caught.value.code == "stateDoesNotAllow"


@pytest.mark.parametrize(
    ("approvals", "state", "blocked"),
    [
        (levels(PENDING), RequestState.PENDING_APPROVAL, None),
        (levels(APPROVED), RequestState.QUEUED, None),
        (levels(APPROVED, NOT_REACHED), RequestState.PENDING_APPROVAL, None),
        (levels(APPROVED, BLOCKED), RequestState.PENDING_APPROVAL, "noApprover"),
        (levels(APPROVED, REJECTED, NOT_REACHED), RequestState.REJECTED, None),
        (levels(APPROVED, APPROVED, APPROVED), RequestState.QUEUED, None),
    ],
)
def test_what_levels_have_come_to_is_what_the_request_becomes(
    approvals: Levels, state: RequestState, blocked: str | None
) -> None:
    before = record(levels(*[NOT_REACHED] * len(approvals)))

    after = moved_on(before, approvals, at=NOW + DAY)

    assert (after.state, after.blocked, after.approvals, after.updated_at) == (state, blocked, approvals, NOW + DAY)
    assert after.finished_at == (NOW + DAY if state is RequestState.REJECTED else None)
    assert state is before.state or state in MOVES[before.state]


def test_one_that_expires_has_ended() -> None:
    after = expired(replace(record(levels(BLOCKED, NOT_REACHED)), blocked="noApprover"), at=NOW)

    assert (after.state, after.blocked, after.finished_at) == (RequestState.EXPIRED, None, NOW)
    assert [each.state for each in after.approvals] == [NOT_REACHED, NOT_REACHED]


@pytest.mark.parametrize(
    ("approvals", "wait"),
    [
        (levels(PENDING), LOOK_EVERY),
        (levels(BLOCKED), LOOK_EVERY),
        (levels(APPROVED, NOT_REACHED), timedelta(0)),
        (levels(PENDING, deadline=NOW + DAY), LOOK_EVERY),
        (levels(PENDING, deadline=NOW + timedelta(minutes=1)), timedelta(minutes=1)),
        (levels(PENDING, deadline=NOW - DAY), timedelta(0)),
    ],
)
def test_it_is_looked_at_again_in_time(approvals: Levels, wait: timedelta) -> None:
    assert next_look(record(approvals), now=NOW) == wait


def test_a_directory_that_is_away_for_long_does_not_put_off_the_deadline() -> None:
    waiting = record(levels(PENDING, deadline=NOW + DAY))

    assert until_deadline(waiting, timedelta(days=30), now=NOW) == DAY
    assert until_deadline(waiting, timedelta(seconds=5), now=NOW) == timedelta(seconds=5)


@pytest.mark.parametrize(
    ("waiting", "level", "is_blocked"),
    [
        (record(levels(BLOCKED)), 1, True),
        (record(levels(APPROVED, BLOCKED)), 2, True),
        (record(levels(APPROVED, BLOCKED)), 1, False),
        (record(levels(APPROVED, BLOCKED)), 3, False),
        (record(levels(PENDING)), 1, False),
        (record(levels(APPROVED, NOT_REACHED)), 2, False),
        (record(levels(BLOCKED, deadline=NOW)), 1, False),
        (record(levels(BLOCKED), RequestState.EXPIRED), 1, False),
    ],
)
def test_approvers_are_named_for_the_level_that_is_blocked(
    waiting: RequestRecord, level: int, *, is_blocked: bool
) -> None:
    if is_blocked:
        require_blocked(waiting, level, now=NOW)
        return

    with pytest.raises(Conflict) as caught:
        require_blocked(waiting, level, now=NOW)

    assert caught.value.code == "stateDoesNotAllow"


def test_whoever_asked_is_not_named() -> None:
    require_others(record(levels(BLOCKED)), [BEN])
    with pytest.raises(Forbidden) as caught:
        require_others(record(levels(BLOCKED)), [BEN, ADA])

    assert caught.value.code == "selfApproval"


def test_who_is_named_has_to_be_there() -> None:
    faults = naming_faults([BEN, CLEO, DARA], PeopleAnswer(people={CLEO: person(CLEO)}))

    assert [(fault.pointer, fault.code) for fault in faults] == [
        ("/userIds/0", "userUnknown"),
        ("/userIds/2", "userUnknown"),
    ]


def test_an_approver_who_left_the_directory_decides_nothing() -> None:
    assert has_left().code == "notApprover"


@pytest.mark.parametrize("state", RequestState)
def test_an_open_request_waits_for_a_broken_connection(state: RequestState) -> None:
    broken = Reason.build("connectionBroken", problem="Change the credential.")
    stored = replace(record((), state), steps=(StepRecord(Step.CREATE_GROUP, StepState.PENDING),))

    shown = parked(stored, broken)

    if state not in {RequestState.QUEUED, RequestState.RUNNING, RequestState.WAITING}:
        assert shown is stored
        return
    waiting = shown.waiting
    assert waiting
    assert (waiting.step, waiting.next_attempt_at, waiting.ends_at) == (Step.CREATE_GROUP, None, None)
    assert waiting.shown_reason == broken
    assert shown.state is state
