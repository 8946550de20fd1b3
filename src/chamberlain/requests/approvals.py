# SPDX-License-Identifier: Apache-2.0
"""Levels of approval: approvers, substitutes, decisions, deadlines, order and dry runs.

A level opens when its approvers are found and ends with a decision, which is final. Approvers who have left the
directory do not block a level while another approver remains or has decided. A user decides once at a level, as an
approver or as the substitute of one.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from chamberlain.core.ids import GroupId, RequestId, TenantId, UserId
from chamberlain.core.reasons import Reason
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
    LevelSubstitute,
    approvers_of,
    substitutable_of,
)
from chamberlain.substitutes.models import Substitution

Levels = tuple[ApprovalRecord, ...]

# The reminder is sent when a quarter of the time to decide is left, and at most a day before the deadline. Our choice:
# a day is enough for an absence of a few hours, and a deadline of one day leaves time to decide before the reminder.
LONGEST_REMINDER = timedelta(days=1)
REMINDER_SHARE = 4


def current_level(approvals: Sequence[ApprovalRecord]) -> ApprovalRecord | None:
    """Return the first level that is not approved, None if all are."""
    return next((each for each in approvals if each.state is not ApprovalState.APPROVED), None)


def has_to_decide(approvals: Sequence[ApprovalRecord], user: UserId | None) -> bool:
    """Return whether it is the user's turn to decide.

    The user may be an approver or a substitute.
    """
    return any(each.state is ApprovalState.PENDING and user in deciders_of(each) for each in approvals)


def has_decided(approvals: Sequence[ApprovalRecord], user: UserId | None) -> bool:
    """Return whether the user has decided at any level.

    A decision of the user's substitute counts.
    """
    return user is not None and any(
        user in {decision.by.id, _approver_of(decision)} for each in approvals for decision in each.decisions
    )


def was_asked(approvals: Sequence[ApprovalRecord], user: UserId | None) -> bool:
    """Return whether the user is or was an approver or a substitute.

    Only levels that were open count.
    """
    return has_decided(approvals, user) or any(
        user in {*(person.id for person in each.approvers), *(person.id for person in each.substitutes)}
        for each in approvals
    )


def undecided(level: ApprovalRecord) -> tuple[NamedPerson, ...]:
    """Return the approvers of an open level who have not decided."""
    return tuple(_undecided(level)) if level.state is ApprovalState.PENDING else ()


def acting_substitutes(level: ApprovalRecord) -> tuple[LevelSubstitute, ...]:
    """Return the substitutes who may decide at an open level.

    Each of them decides for one approver.
    """
    waiting = {person.id for person in undecided(level)}
    decided = {decision.by.id for decision in level.decisions}
    found = {each.id: each for each in reversed(level.substitutes) if each.approver in waiting}
    return tuple([each for each in reversed(found.values()) if each.id not in decided])


def deciders_of(level: ApprovalRecord) -> frozenset[UserId]:
    """Return the users whose turn it is, including substitutes."""
    return frozenset([*(each.id for each in undecided(level)), *(each.id for each in acting_substitutes(level))])


def represented_by(
    approvals: Sequence[ApprovalRecord], user: UserId, *, among: Collection[UserId] | None = None
) -> NamedPerson | None:
    """Return the approver for whom the user decides.

    None means that the user decides as an approver. `among` are the approvers for whom the user is a substitute now.
    """
    level = current_level(approvals)
    if level is None or all(each.id != user for each in acting_substitutes(level)):
        return None
    represented = {each.approver for each in level.substitutes if each.id == user}
    found = [person for person in undecided(level) if person.id in represented]
    current = [person for person in found if among is not None and person.id in among]
    return next(iter(current or found), None)


def waited_for(approvals: Sequence[ApprovalRecord]) -> frozenset[UserId]:
    """Return the approvers whose turn it is to decide, without substitutes."""
    return frozenset(
        person.id for each in approvals if each.state is ApprovalState.PENDING for person in _undecided(each)
    )


def deadline_of(approvals: Sequence[ApprovalRecord]) -> datetime | None:
    """Return the deadline of the current level, if there is one."""
    current = current_level(approvals)
    return None if current is None else current.deadline


def has_run_out(approvals: Sequence[ApprovalRecord], now: datetime) -> bool:
    """Return whether the deadline has passed."""
    deadline = deadline_of(approvals)
    return deadline is not None and now >= deadline


def decide(approvals: Sequence[ApprovalRecord], decision: Decision, *, gone: Collection[UserId] = ()) -> Levels:
    """Return the levels after a decision.

    Approvers in `gone` have left the directory.
    """
    return _with_current(approvals, lambda level: _decided(level, decision, gone))


def attend(
    rule: ApprovalRule,
    approvals: Sequence[ApprovalRecord],
    answer: PeopleAnswer,
    *,
    requester: UserId,
    now: datetime,
) -> Levels:
    """Reconcile the current level with the directory.

    The level opens if approvers are found, and is blocked otherwise. If all approvers have left without a decision, it
    opens again.
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


def with_substitutes(
    rule: ApprovalRule,
    approvals: Sequence[ApprovalRecord],
    answer: PeopleAnswer,
    named: Iterable[Substitution],
    *,
    requester: UserId,
) -> Levels:
    """Return the levels with the current substitutes of the open one.

    Approvers who were found as members of a group, or have left the directory, have none. Neither the requester, nor a
    substitute of the requester, nor an approver of the level is a substitute there. `named` has the current substitutes
    of approvers and requester.
    """
    named = tuple(named)
    of_requester = {each.substitute_id for each in named if each.user_id == requester}

    def substituted(level: ApprovalRecord) -> ApprovalRecord:
        if level.state is not ApprovalState.PENDING:
            return level
        approvers = {person.id for person in level.approvers}
        represented = _substitutable(level, rule.levels[level.level - 1], answer) & answer.people.keys()
        excluded = {requester, *of_requester, *approvers}
        substitutes = [
            LevelSubstitute(
                each.substitute_id, answer.people[each.substitute_id].display_name, each.user_id, each.until
            )
            for each in named
            if each.user_id in represented
            and each.substitute_id not in excluded
            and each.substitute_id in answer.people
        ]
        return replace(level, substitutes=tuple(substitutes))

    return _with_current(approvals, substituted)


def with_reminder(rule: ApprovalRule, approvals: Sequence[ApprovalRecord], now: datetime) -> Levels:
    """Return the levels with the time of a due reminder."""

    def reminded(level: ApprovalRecord) -> ApprovalRecord:
        due = _reminder_due(rule, level)
        return level if due is None or now < due else replace(level, reminded_at=now)

    return _with_current(approvals, reminded)


def next_change(rule: ApprovalRule, approvals: Sequence[ApprovalRecord]) -> datetime | None:
    """Return the time of the next reminder or end of a substitution."""
    level = current_level(approvals)
    if level is None:
        return None
    times = [each.until for each in level.substitutes]
    if (due := _reminder_due(rule, level)) is not None:
        times.append(due)
    return min(times, default=None)


def _reminder_due(rule: ApprovalRule, level: ApprovalRecord) -> datetime | None:
    """Return the time of the reminder that was not sent yet."""
    is_open = level.state is ApprovalState.PENDING and level.reminded_at is None
    if not is_open or level.deadline is None or rule.deadline_days is None:
        return None
    return level.deadline - min(LONGEST_REMINDER, timedelta(days=rule.deadline_days) / REMINDER_SHARE)


def _substitutable(level: ApprovalRecord, asked: ApprovalLevel, answer: PeopleAnswer) -> frozenset[UserId]:
    """Return the approvers of an open level who may have a substitute.

    For a level that an older version opened, the groups of now count.
    """
    if level.substitutable is not None:
        return frozenset(level.substitutable)
    groups = map(GroupId, _ids(asked.approvers, ApproverType.GROUP))
    members = {person.id for group in groups for person in answer.relations.members.get(group, ())}
    return frozenset({person.id for person in level.approvers} - members.difference(substitutable_of(asked, answer)))


def name_approvers(approvals: Sequence[ApprovalRecord], people: Sequence[NamedPerson]) -> Levels:
    """Return the levels after an administrator named approvers of the blocked level."""
    ids = tuple([person.id for person in people])
    return _with_current(
        approvals,
        lambda level: replace(level, state=ApprovalState.PENDING, approvers=tuple(people), substitutable=ids),
    )


def run_out(approvals: Sequence[ApprovalRecord]) -> Levels:
    """Return the levels of an expired request. The deadline stays."""
    return _with_current(approvals, lambda level: replace(level, state=ApprovalState.NOT_REACHED))


def _with_current(approvals: Sequence[ApprovalRecord], change: Callable[[ApprovalRecord], ApprovalRecord]) -> Levels:
    current = current_level(approvals)
    return tuple([change(each) if each is current else each for each in approvals])


def _undecided(level: ApprovalRecord, gone: Collection[UserId] = ()) -> Sequence[NamedPerson]:
    """Return the approvers who have neither left nor decided."""
    decided = {_approver_of(decision) for decision in level.decisions}
    return [person for person in level.approvers if person.id not in decided and person.id not in gone]


def _approver_of(decision: Decision) -> UUID | None:
    return decision.by.id if decision.on_behalf_of is None else decision.on_behalf_of.id


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
    return replace(
        level,
        state=state,
        approvers=approvers,
        deadline=deadline,
        substitutable=substitutable_of(asked, answer),
    )


def _deadline(rule: ApprovalRule, level: ApprovalRecord, now: datetime) -> datetime | None:
    """Return the deadline. It counts from opening or blocking."""
    if level.state is not ApprovalState.NOT_REACHED:
        return level.deadline
    return None if rule.deadline_days is None else now + timedelta(days=rule.deadline_days)


def approvers_question(levels: Iterable[ApprovalLevel], *, tenant_id: TenantId, requester: UserId) -> PeopleQuestion:
    """Return the lookup of the approvers of these levels."""
    approvers = [approver for level in levels for approver in level.approvers]
    is_for_manager = any(approver.type is ApproverType.MANAGER for approver in approvers)
    return PeopleQuestion(
        tenant_id=tenant_id,
        users=frozenset(map(UserId, _ids(approvers, ApproverType.USER))),
        manager_of=requester if is_for_manager else None,
        members_of=frozenset(map(GroupId, _ids(approvers, ApproverType.GROUP))),
    )


def attention_question(
    rule: ApprovalRule,
    approvals: Sequence[ApprovalRecord],
    *,
    tenant_id: TenantId,
    requester: UserId,
    substitutes: Iterable[UserId] = (),
) -> PeopleQuestion:
    """Return the lookup of the current level's approvers, and of substitutes.

    They include those who may have left.
    """
    current = current_level(approvals)
    if current is None:
        return PeopleQuestion(tenant_id)
    question = approvers_question([rule.levels[current.level - 1]], tenant_id=tenant_id, requester=requester)
    return replace(question, users=question.users.union((person.id for person in current.approvers), substitutes))


def _ids(approvers: Iterable[Approver], approver_type: ApproverType) -> Iterator[UUID]:
    return (each.id for each in approvers if each.type is approver_type and each.id is not None)


# A dry run creates no id.
NO_REQUEST = RequestId(UUID(int=0))


@dataclass(frozen=True, slots=True)
class LevelDryRun:
    """One approval level, with the users who could decide now."""

    level: int
    mode: ApprovalMode
    approvers: tuple[NamedPerson, ...]


def levels_of(
    rule: ApprovalRule | None, approvers: PeopleAnswer | None, *, requester: UserId
) -> tuple[LevelDryRun, ...]:
    """Return the approval levels with the approvers in the directory."""
    if rule is None:
        return ()
    known = PeopleAnswer() if approvers is None else approvers
    return tuple(
        [
            LevelDryRun(number, level.mode, approvers_of(level, known, requester=requester))
            for number, level in enumerate(rule.levels, start=1)
        ]
    )


def named(user: UserId, answer: PeopleAnswer | None) -> NamedPerson:
    """Return the user with the directory's name, empty if unknown."""
    person = None if answer is None else answer.people.get(user)
    return NamedPerson(user, "" if person is None else person.display_name)


def missing_approvers(levels: Iterable[LevelDryRun]) -> Iterator[Reason]:
    """Yield a warning for each level without approvers."""
    for level in levels:
        if not level.approvers:
            yield Reason.build("noApprover", level=level.level)
