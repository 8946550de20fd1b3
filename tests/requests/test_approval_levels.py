# SPDX-License-Identifier: Apache-2.0
"""Levels of approval, as tables: what each decision, each departure and each look makes of them."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import pytest

from chamberlain.auth.models import Actor, ActorType
from chamberlain.core.ids import UserId
from chamberlain.directory.models import NamedPerson, PeopleAnswer, Relations
from chamberlain.requests.approvals import (
    Levels,
    attend,
    current_level,
    decide,
    has_decided,
    has_run_out,
    has_to_decide,
    name_approvers,
    run_out,
    waited_for,
    was_asked,
)
from chamberlain.requests.models import (
    ApprovalLevel,
    ApprovalMode,
    ApprovalRecord,
    ApprovalRule,
    ApprovalState,
    Approver,
    ApproverType,
    Decision,
    DecisionOutcome,
    blocked_by,
)
from tests.groups.group_values import ADA, BEN, CLEO, DARA, ELI, STAFF, person

pytestmark = pytest.mark.pure

NOW = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
ANY, ALL = ApprovalMode.ANY, ApprovalMode.ALL
MANAGER = Approver(ApproverType.MANAGER, None)
OF_STAFF = Approver(ApproverType.GROUP, STAFF)

# The decisions, level by level: the user, and whether it is an approval.
Said = tuple[UserId, bool]


def named(user: UserId) -> Approver:
    return Approver(ApproverType.USER, user)


def rule(*levels: tuple[ApprovalMode, tuple[Approver, ...]], days: int | None = None) -> ApprovalRule:
    return ApprovalRule(tuple(ApprovalLevel(mode, approvers) for mode, approvers in levels), days)


def three(*modes: ApprovalMode) -> ApprovalRule:
    """Three levels, each of Dara and Ben."""
    return rule(*[(mode, (named(DARA), named(BEN))) for mode in modes])


def begun(asked: ApprovalRule) -> Levels:
    return tuple(
        ApprovalRecord(number, level.mode, ApprovalState.NOT_REACHED)
        for number, level in enumerate(asked.levels, start=1)
    )


def there(*users: UserId, manager: UserId | None = None, staff: Iterable[UserId] = ()) -> PeopleAnswer:
    """The answer of a directory with these users."""
    return PeopleAnswer(
        people={user: person(user) for user in users},
        relations=Relations(
            manager=None if manager is None else NamedPerson(manager, "Somebody"),
            members={STAFF: tuple(NamedPerson(user, "Somebody") for user in staff)},
        ),
    )


def looked(
    asked: ApprovalRule, levels: Levels, answer: PeopleAnswer, *, requester: UserId = ADA, now: datetime = NOW
) -> Levels:
    return attend(asked, levels, answer, requester=requester, now=now)


def said(user: UserId, *, yes: bool) -> Decision:
    outcome = DecisionOutcome.APPROVED if yes else DecisionOutcome.REJECTED
    return Decision(Actor(ActorType.USER, user, "Somebody"), outcome, None, NOW)


def states(levels: Levels) -> list[str]:
    return [str(each.state) for each in levels]


def played(asked: ApprovalRule, *everything: Said) -> Levels:
    """The levels after all of this was said, by people whose turn it was; each opens when it can."""
    everybody = there(ADA, BEN, CLEO, DARA, ELI)
    levels = looked(asked, begun(asked), everybody)
    for user, yes in everything:
        assert has_to_decide(levels, user)
        levels = decide(levels, said(user, yes=yes))
        current = current_level(levels)
        if current is not None and current.state is ApprovalState.NOT_REACHED:
            levels = looked(asked, levels, everybody)
    return levels


YES, NO = True, False


@pytest.mark.parametrize(
    ("modes", "everything", "expected"),
    [
        ((ANY, ANY, ANY), [], ["pending", "notReached", "notReached"]),
        ((ANY, ANY, ANY), [(DARA, YES)], ["approved", "pending", "notReached"]),
        ((ANY, ANY, ANY), [(BEN, YES), (DARA, YES)], ["approved", "approved", "pending"]),
        ((ANY, ANY, ANY), [(BEN, YES), (DARA, YES), (BEN, YES)], ["approved", "approved", "approved"]),
        ((ANY, ANY, ANY), [(BEN, NO)], ["rejected", "notReached", "notReached"]),
        ((ANY, ANY, ANY), [(BEN, YES), (BEN, NO)], ["approved", "rejected", "notReached"]),
        ((ANY, ANY, ANY), [(BEN, YES), (BEN, YES), (DARA, NO)], ["approved", "approved", "rejected"]),
        ((ALL, ALL, ALL), [(DARA, YES)], ["pending", "notReached", "notReached"]),
        ((ALL, ALL, ALL), [(DARA, YES), (BEN, YES)], ["approved", "pending", "notReached"]),
        ((ALL, ALL, ALL), [(DARA, YES), (BEN, NO)], ["rejected", "notReached", "notReached"]),
        ((ALL, ALL, ALL), [(DARA, YES), (BEN, YES)] * 2, ["approved", "approved", "pending"]),
        ((ALL, ALL, ALL), [(DARA, YES), (BEN, YES)] * 3, ["approved", "approved", "approved"]),
        ((ALL, ANY, ALL), [(DARA, YES), (BEN, YES), (DARA, YES)], ["approved", "approved", "pending"]),
        ((ALL, ANY, ALL), [(DARA, YES), (BEN, YES), (DARA, NO)], ["approved", "rejected", "notReached"]),
        ((ANY, ALL, ANY), [(DARA, YES), (BEN, YES)], ["approved", "pending", "notReached"]),
        (
            (ANY, ALL, ANY),
            [(DARA, YES), (BEN, YES), (DARA, YES), (BEN, YES)],
            ["approved", "approved", "approved"],
        ),
    ],
)
def test_it_works(modes: tuple[ApprovalMode, ...], everything: list[Said], expected: list[str]) -> None:
    levels = played(three(*modes), *everything)

    assert states(levels) == expected
    assert sum(len(each.decisions) for each in levels) == len(everything)


@pytest.mark.parametrize(
    ("approver", "answer", "requester", "found"),
    [
        pytest.param(MANAGER, there(manager=BEN), ADA, [BEN], id="the manager"),
        pytest.param(MANAGER, there(manager=ADA), ADA, [], id="a manager who is the requester"),
        pytest.param(MANAGER, there(), ADA, [], id="no manager"),
        pytest.param(OF_STAFF, there(staff=[BEN, ADA, CLEO]), ADA, [BEN, CLEO], id="a group with the requester"),
        pytest.param(OF_STAFF, there(staff=[ADA]), ADA, [], id="a group of the requester alone"),
        pytest.param(named(DARA), there(DARA), DARA, [], id="the requester by name"),
        pytest.param(named(DARA), there(), ADA, [], id="somebody who has left before"),
    ],
)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_each_level_finds_its_approvers_when_it_opens(
    approver: Approver, answer: PeopleAnswer, requester: UserId, *, found: list[UserId], place: int
) -> None:
    levels: list[tuple[ApprovalMode, tuple[Approver, ...]]] = [(ANY, (named(ELI),))] * 3
    levels[place] = (ANY, (approver,))
    asked = rule(*levels)
    reached = begun(asked)
    for _ in range(place):
        reached = decide(looked(asked, reached, there(ELI)), said(ELI, yes=True))

    opened = looked(asked, reached, answer, requester=requester)

    current = current_level(opened)
    assert current is not None
    assert (current.level, [each.id for each in current.approvers]) == (place + 1, found)
    assert current.state == ("pending" if found else "blocked")
    assert blocked_by(opened) == (None if found else "noApprover")


@pytest.mark.parametrize(
    ("mode", "before", "left", "expected"),
    [
        pytest.param(ANY, [], [DARA], "pending", id="any: one of two has left"),
        pytest.param(ANY, [], [DARA, BEN], "blocked", id="any: both have left"),
        pytest.param(ALL, [], [DARA], "pending", id="all: one of two has left"),
        pytest.param(ALL, [DARA], [BEN], "approved", id="all: who has not decided has left"),
        pytest.param(ALL, [DARA], [DARA], "pending", id="all: who has decided has left"),
        pytest.param(ALL, [DARA], [DARA, BEN], "approved", id="all: both have left, one after deciding"),
        pytest.param(ALL, [], [DARA, BEN], "blocked", id="all: both have left without a word"),
    ],
)
def test_a_look_sees_who_has_left(mode: ApprovalMode, before: list[UserId], left: list[UserId], expected: str) -> None:
    asked = rule((mode, (named(DARA), named(BEN))))
    levels = played(asked, *[(user, YES) for user in before])

    (level,) = looked(asked, levels, there(*{DARA, BEN} - set(left)))

    assert level.state == expected
    assert [decision.by.id for decision in level.decisions] == before


@pytest.mark.parametrize(
    ("mode", "gone", "expected"),
    [(ANY, [], "approved"), (ALL, [], "pending"), (ALL, [BEN], "pending"), (ALL, [BEN, CLEO], "approved")],
)
def test_a_decision_does_not_wait_for_those_who_have_left(
    mode: ApprovalMode, gone: list[UserId], expected: str
) -> None:
    levels = played(rule((mode, (named(DARA), named(BEN), named(CLEO)))))

    (level,) = decide(levels, said(DARA, yes=True), gone=gone)

    assert level.state == expected


def test_a_rejection_counts_whoever_else_has_left() -> None:
    levels = played(rule((ALL, (named(DARA), named(BEN)))))

    (level,) = decide(levels, said(DARA, yes=False), gone=[BEN])

    assert level.state == "rejected"


def test_turns_are_those_of_the_open_level() -> None:
    asked = rule((ALL, (named(DARA), named(BEN))), (ANY, (named(CLEO),)))
    levels = played(asked, (DARA, YES))

    assert [has_to_decide(levels, each) for each in (DARA, BEN, CLEO, None)] == [False, True, False, False]
    assert [has_decided(levels, each) for each in (DARA, BEN, CLEO, None)] == [True, False, False, False]
    assert [was_asked(levels, each) for each in (DARA, BEN, CLEO, None)] == [True, True, False, False]
    assert waited_for(levels) == {BEN}


def test_deadlines_count_from_when_a_level_opens_or_is_found_blocked() -> None:
    asked = rule((ANY, (named(DARA),)), (ANY, (OF_STAFF,)), days=2)
    first = looked(asked, begun(asked), there(DARA))
    later = NOW + timedelta(days=1)
    blocked = looked(asked, decide(first, said(DARA, yes=True)), there(DARA), now=later)
    opened = looked(asked, blocked, there(staff=[BEN]), now=later + timedelta(days=1))

    assert [each.deadline for each in first] == [NOW + timedelta(days=2), None]
    assert [each.deadline for each in blocked] == [NOW + timedelta(days=2), later + timedelta(days=2)]
    assert [each.deadline for each in opened] == [each.deadline for each in blocked]
    assert states(opened) == ["approved", "pending"]


@pytest.mark.parametrize(("late", "expected"), [(-1, False), (0, True), (1, True)])
def test_the_time_is_over_at_the_deadline(late: int, expected: bool) -> None:  # noqa: FBT001 - one column of a table
    levels = played(rule((ANY, (named(DARA),)), days=1))

    assert has_run_out(levels, NOW + timedelta(days=1, microseconds=late)) is expected


def test_without_a_deadline_the_time_is_never_over() -> None:
    levels = played(rule((ANY, (named(DARA),))))

    assert not has_run_out(levels, NOW + timedelta(days=100_000))


def test_who_is_named_opens_the_blocked_level_and_no_other() -> None:
    asked = rule((ANY, (OF_STAFF,)), (ANY, (named(DARA),)), days=1)
    blocked = looked(asked, begun(asked), there())

    levels = name_approvers(blocked, [NamedPerson(BEN, "Ben")])

    assert states(levels) == ["pending", "notReached"]
    assert (levels[0].approvers, levels[0].deadline) == ((NamedPerson(BEN, "Ben"),), blocked[0].deadline)


def test_nobody_has_to_decide_when_the_time_is_over() -> None:
    levels = run_out(played(rule((ANY, (named(DARA),)), days=1)))

    assert states(levels) == ["notReached"]
    assert not has_to_decide(levels, DARA)
    assert was_asked(levels, DARA)
    assert levels[0].deadline == NOW + timedelta(days=1)
