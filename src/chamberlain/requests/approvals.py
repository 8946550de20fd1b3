"""Levels of approval: who has to decide, what a decision makes of them, and how they open one after the other.

A level is open from when its approvers were found. It ends by a decision, and what it has come to is final. Whoever has
left the directory is not waited for, as long as somebody is left who decides or has decided.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from chamberlain.core.ids import GroupId, TenantId, UserId
from chamberlain.directory.models import NamedPerson, PeopleAnswer, PeopleQuestion
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
    approvers_of,
)

Levels = tuple[ApprovalRecord, ...]


def current_level(approvals: Sequence[ApprovalRecord]) -> ApprovalRecord | None:
    """The level that has not approved yet; None when all have."""
    return next((each for each in approvals if each.state is not ApprovalState.APPROVED), None)


def has_to_decide(approvals: Sequence[ApprovalRecord], user: UserId | None) -> bool:
    """Whether it is this user's turn."""
    return any(
        each.state is ApprovalState.PENDING and any(person.id == user for person in _undecided(each))
        for each in approvals
    )


def has_decided(approvals: Sequence[ApprovalRecord], user: UserId | None) -> bool:
    """Whether this user has decided at any level."""
    return user is not None and any(decision.by.id == user for each in approvals for decision in each.decisions)


def was_asked(approvals: Sequence[ApprovalRecord], user: UserId | None) -> bool:
    """Whether this user is or was an approver of any level that has been open."""
    return has_decided(approvals, user) or any(person.id == user for each in approvals for person in each.approvers)


def waited_for(approvals: Sequence[ApprovalRecord]) -> frozenset[UserId]:
    """Everybody whose turn it is."""
    return frozenset(
        person.id for each in approvals if each.state is ApprovalState.PENDING for person in _undecided(each)
    )


def deadline_of(approvals: Sequence[ApprovalRecord]) -> datetime | None:
    """Until when somebody has to have decided, where there is such a time."""
    current = current_level(approvals)
    return None if current is None else current.deadline


def has_run_out(approvals: Sequence[ApprovalRecord], now: datetime) -> bool:
    """Whether the time to decide is over."""
    deadline = deadline_of(approvals)
    return deadline is not None and now >= deadline


def decide(approvals: Sequence[ApprovalRecord], decision: Decision, *, gone: Collection[UserId] = ()) -> Levels:
    """The levels after the decision of somebody whose turn it is; those who are `gone` are not waited for."""
    return _with_current(approvals, lambda level: _decided(level, decision, gone))


def attend(
    rule: ApprovalRule,
    approvals: Sequence[ApprovalRecord],
    answer: PeopleAnswer,
    *,
    requester: UserId,
    now: datetime,
) -> Levels:
    """The levels after a look into the directory, which was asked about the current one and all its approvers.

    The current level opens when somebody is found who may decide, and is blocked when nobody is. One whose approvers
    have all left without a word is opened anew.
    """

    def attended(level: ApprovalRecord) -> ApprovalRecord:
        if level.state is ApprovalState.PENDING:
            gone = {person.id for person in level.approvers if person.id not in answer.people}
            if _undecided(level, gone):
                return level
            if level.decisions:
                return replace(level, state=ApprovalState.APPROVED)
        asked = rule.levels[level.level - 1]
        return _opened(level, asked, answer, requester=requester, deadline=_deadline(rule, level, now))

    return _with_current(approvals, attended)


def name_approvers(approvals: Sequence[ApprovalRecord], people: Sequence[NamedPerson]) -> Levels:
    """The levels after somebody has named who decides at the current one, which is blocked."""
    return _with_current(approvals, lambda level: replace(level, state=ApprovalState.PENDING, approvers=tuple(people)))


def run_out(approvals: Sequence[ApprovalRecord]) -> Levels:
    """The levels of a request whose time is over: nobody has to decide any more. When that was stays."""
    return _with_current(approvals, lambda level: replace(level, state=ApprovalState.NOT_REACHED))


def _with_current(approvals: Sequence[ApprovalRecord], change: Callable[[ApprovalRecord], ApprovalRecord]) -> Levels:
    current = current_level(approvals)
    return tuple([change(each) if each is current else each for each in approvals])


def _undecided(level: ApprovalRecord, gone: Collection[UserId] = ()) -> Sequence[NamedPerson]:
    """The approvers who are there and have said nothing yet."""
    decided = {decision.by.id for decision in level.decisions}
    return [person for person in level.approvers if person.id not in decided and person.id not in gone]


def _decided(level: ApprovalRecord, decision: Decision, gone: Collection[UserId]) -> ApprovalRecord:
    level = replace(level, decisions=(*level.decisions, decision))
    match decision.outcome:
        case DecisionOutcome.REJECTED:
            return replace(level, state=ApprovalState.REJECTED)
        case DecisionOutcome.APPROVED:
            is_through = level.mode is ApprovalMode.ANY or not _undecided(level, gone)
            return replace(level, state=ApprovalState.APPROVED) if is_through else level


def _opened(
    level: ApprovalRecord, asked: ApprovalLevel, answer: PeopleAnswer, *, requester: UserId, deadline: datetime | None
) -> ApprovalRecord:
    approvers = approvers_of(asked, answer, requester=requester)
    state = ApprovalState.PENDING if approvers else ApprovalState.BLOCKED
    return replace(level, state=state, approvers=approvers, deadline=deadline)


def _deadline(rule: ApprovalRule, level: ApprovalRecord, now: datetime) -> datetime | None:
    """It counts from when the level opens, or is found blocked."""
    if level.state is not ApprovalState.NOT_REACHED:
        return level.deadline
    return None if rule.deadline_days is None else now + timedelta(days=rule.deadline_days)


def approvers_question(levels: Iterable[ApprovalLevel], *, tenant_id: TenantId, requester: UserId) -> PeopleQuestion:
    """Who may decide at these levels?"""
    approvers = [approver for level in levels for approver in level.approvers]
    is_for_manager = any(approver.type is ApproverType.MANAGER for approver in approvers)
    return PeopleQuestion(
        tenant_id=tenant_id,
        users=frozenset(map(UserId, _ids(approvers, ApproverType.USER))),
        manager_of=requester if is_for_manager else None,
        members_of=frozenset(map(GroupId, _ids(approvers, ApproverType.GROUP))),
    )


def attention_question(
    rule: ApprovalRule, approvals: Sequence[ApprovalRecord], *, tenant_id: TenantId, requester: UserId
) -> PeopleQuestion:
    """Who may decide at the current level, and who of its approvers is still there?"""
    current = current_level(approvals)
    if current is None:
        return PeopleQuestion(tenant_id)
    question = approvers_question([rule.levels[current.level - 1]], tenant_id=tenant_id, requester=requester)
    return replace(question, users=question.users.union(person.id for person in current.approvers))


def _ids(approvers: Iterable[Approver], approver_type: ApproverType) -> Iterator[UUID]:
    return (each.id for each in approvers if each.type is approver_type and each.id is not None)
