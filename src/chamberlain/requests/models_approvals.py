"""Approval: who must agree before a request is carried out, and how far they have come."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from chamberlain.auth.models import Actor
from chamberlain.core.ids import GroupId, UserId
from chamberlain.directory.models import NamedPerson, PeopleAnswer


class ApprovalMode(StrEnum):
    """Whether one approver of a level is enough."""

    ANY = "any"
    ALL = "all"


class ApproverType(StrEnum):
    """How an approver is named in a rule."""

    USER = "user"
    GROUP = "group"
    MANAGER = "manager"


class ApprovalState(StrEnum):
    """Where one level of a request's approval stands."""

    NOT_REACHED = "notReached"
    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    BLOCKED = "blocked"


class DecisionOutcome(StrEnum):
    """What an approver has decided."""

    APPROVED = "approved"
    REJECTED = "rejected"


# What a request that nobody can approve is blocked by.
NO_APPROVER = "noApprover"


@dataclass(frozen=True, slots=True)
class Approver:
    """A named user, the members of a group, or (without an id) the requester's manager."""

    type: ApproverType
    id: UUID | None


@dataclass(frozen=True, slots=True)
class ApprovalLevel:
    """One level: these approvers, one or all of them."""

    mode: ApprovalMode
    approvers: tuple[Approver, ...]


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """One to three levels, each opened when the one before has approved; `deadline_days` None means no deadline."""

    levels: tuple[ApprovalLevel, ...]
    deadline_days: int | None


@dataclass(frozen=True, slots=True)
class Decision:
    """What somebody has decided, and what they said to it."""

    by: Actor
    outcome: DecisionOutcome
    comment: str | None
    decided_at: datetime


@dataclass(frozen=True, slots=True)
class ApprovalRecord:
    """One level as it stands. Its approvers are found when it opens, and its deadline counts from then."""

    level: int
    mode: ApprovalMode
    state: ApprovalState
    deadline: datetime | None = None
    approvers: tuple[NamedPerson, ...] = ()
    decisions: tuple[Decision, ...] = ()


def approvers_of(level: ApprovalLevel, answer: PeopleAnswer, *, requester: UserId) -> tuple[NamedPerson, ...]:
    """Who may decide at a level, each once, in the order of the rule; the requester never."""
    found = {person.id: person for approver in level.approvers for person in _people(approver, answer)}
    return tuple([person for person in found.values() if person.id != requester])


def begin_approvals(
    rule: ApprovalRule, answer: PeopleAnswer | None, *, requester: UserId, now: datetime
) -> tuple[ApprovalRecord, ...]:
    """All levels at submission: the first is open, or blocked when nobody is found who may decide.

    An `answer` of None, because the directory gave none, finds nobody either.
    """
    first, *later = rule.levels
    approvers = () if answer is None else approvers_of(first, answer, requester=requester)
    opened = ApprovalRecord(
        level=1,
        mode=first.mode,
        state=ApprovalState.PENDING if approvers else ApprovalState.BLOCKED,
        deadline=None if rule.deadline_days is None else now + timedelta(days=rule.deadline_days),
        approvers=approvers,
    )
    return opened, *[
        ApprovalRecord(number, level.mode, ApprovalState.NOT_REACHED) for number, level in enumerate(later, start=2)
    ]


def close_approvals(approvals: Sequence[ApprovalRecord]) -> tuple[ApprovalRecord, ...]:
    """The levels of a request that is cancelled: nobody has to decide any more. Who was asked, and what was decided,
    stays."""
    open_states = {ApprovalState.PENDING, ApprovalState.BLOCKED}
    return tuple(
        [
            replace(each, state=ApprovalState.NOT_REACHED, deadline=None) if each.state in open_states else each
            for each in approvals
        ]
    )


def blocked_by(approvals: Sequence[ApprovalRecord]) -> str | None:
    """Why nobody can move the request on, if so."""
    return NO_APPROVER if any(each.state is ApprovalState.BLOCKED for each in approvals) else None


def _people(approver: Approver, answer: PeopleAnswer) -> Iterator[NamedPerson]:
    match approver:
        case Approver(type=ApproverType.USER, id=UUID() as user):
            if (person := answer.people.get(UserId(user))) is not None:
                yield NamedPerson(person.id, person.display_name)
        case Approver(type=ApproverType.GROUP, id=UUID() as group):
            yield from answer.relations.members.get(GroupId(group), ())
        case Approver():
            if answer.relations.manager is not None:
                yield answer.relations.manager
