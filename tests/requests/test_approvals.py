# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from chamberlain.core.ids import UserId
from chamberlain.directory.models import NO_RELATIONS, NamedPerson, PeopleAnswer, Relations
from chamberlain.requests.models import (
    ApprovalLevel,
    ApprovalMode,
    ApprovalRecord,
    ApprovalRule,
    ApprovalState,
    Approver,
    ApproverType,
    DecisionOutcome,
    approvers_of,
    begin_approvals,
    blocked_by,
)
from tests.groups.group_values import ADA, BEN, CLEO, DARA, NOBODY, STAFF, person

pytestmark = pytest.mark.pure

NOW = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
MANAGER = Approver(ApproverType.MANAGER, None)
OF_STAFF = Approver(ApproverType.GROUP, STAFF)
ANSWER = PeopleAnswer(
    people={user: person(user) for user in (ADA, DARA)},
    relations=Relations(
        manager=NamedPerson(BEN, "Somebody"),
        members={STAFF: tuple(NamedPerson(user, "Somebody") for user in (ADA, BEN, CLEO))},
    ),
)


def named(user: UUID) -> Approver:
    return Approver(ApproverType.USER, user)


def level(*approvers: Approver) -> ApprovalLevel:
    return ApprovalLevel(ApprovalMode.ALL, approvers)


def test_it_works() -> None:
    rule = ApprovalRule((level(named(DARA)), level(MANAGER)), deadline_days=14)

    first, second = begin_approvals(rule, ANSWER, requester=ADA, now=NOW)

    approvers = (NamedPerson(DARA, "Somebody"),)
    deadline = NOW + timedelta(days=14)
    assert first == ApprovalRecord(
        1, ApprovalMode.ALL, ApprovalState.PENDING, deadline, approvers, substitutable=(DARA,)
    )
    assert second == ApprovalRecord(2, ApprovalMode.ALL, ApprovalState.NOT_REACHED)
    assert blocked_by((first, second)) is None


@pytest.mark.parametrize(
    ("approvers", "found"),
    [
        ((named(DARA),), [DARA]),
        ((MANAGER,), [BEN]),
        ((OF_STAFF,), [BEN, CLEO]),
        ((MANAGER, named(DARA), OF_STAFF), [BEN, DARA, CLEO]),
        ((named(ADA),), []),
        ((named(NOBODY),), []),
        ((Approver(ApproverType.GROUP, NOBODY),), []),
    ],
)
def test_it_finds_everybody_once_and_never_the_requester(approvers: tuple[Approver, ...], found: list[UserId]) -> None:
    assert [each.id for each in approvers_of(level(*approvers), ANSWER, requester=ADA)] == found


def test_a_requester_without_a_manager_has_nobody_there() -> None:
    assert approvers_of(level(MANAGER), replace(ANSWER, relations=NO_RELATIONS), requester=ADA) == ()


@pytest.mark.parametrize("answer", [ANSWER, None])
def test_it_is_blocked_when_nobody_is_found(answer: PeopleAnswer | None) -> None:
    rule = ApprovalRule((level(named(ADA)), level(named(DARA))), deadline_days=None)

    approvals = begin_approvals(rule, answer, requester=ADA, now=NOW)

    assert [each.state for each in approvals] == ["blocked", "notReached"]
    assert (approvals[0].approvers, approvals[0].deadline) == ((), None)
    assert blocked_by(approvals) == "noApprover"


def test_modes_types_states_and_outcomes_are_called_so_in_answers() -> None:
    assert [*ApprovalMode] == ["any", "all"]
    assert [*ApproverType] == ["user", "group", "manager"]
    assert [*ApprovalState] == ["notReached", "pending", "approved", "rejected", "blocked"]
    assert [*DecisionOutcome] == ["approved", "rejected"]
