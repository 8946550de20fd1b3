"""Decisions on requests: who may decide now, and what a request becomes by what its levels of approval have come to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from chamberlain.auth.models import Caller
from chamberlain.core.errors import Conflict, Fault, Forbidden, first_faults
from chamberlain.core.ids import UserId
from chamberlain.directory.models import PeopleAnswer
from chamberlain.directory.models_named_people import unknown_people
from chamberlain.requests.approvals import (
    Levels,
    current_level,
    deadline_of,
    has_run_out,
    has_to_decide,
    run_out,
    was_asked,
)
from chamberlain.requests.models import RequestRecord, RequestState
from chamberlain.requests.models_approvals import ApprovalState, DecisionOutcome, blocked_by
from chamberlain.requests.rules import Action, not_now

# So often somebody looks whether those who have to decide are still there, and whether somebody is found for what is
# blocked. Ours: a question an hour for each request that waits costs a directory nothing.
LOOK_EVERY = timedelta(hours=1)

OUTCOMES: Mapping[Action, DecisionOutcome] = {
    Action.APPROVE: DecisionOutcome.APPROVED,
    Action.REJECT: DecisionOutcome.REJECTED,
}


@dataclass(frozen=True, slots=True)
class Naming:
    """Who shall decide at which level."""

    level: int
    users: tuple[UserId, ...]


def require_approver(record: RequestRecord, caller: Caller) -> UserId:
    """Raises Forbidden when it was never this caller's to decide: nobody decides on an own request, in whatever way
    they may have become an approver of it."""
    if record.created_by.id == caller.id:
        raise Forbidden("selfApproval", "You have asked for this yourself; somebody else has to decide on it.")
    user = caller.user_id
    if user is None or not was_asked(record.approvals, user):
        raise Forbidden("notApprover", "You are no approver of this request. `approvals` says who may decide.")
    return user


def has_left() -> Forbidden:
    """What somebody is told who is not in the directory any more."""
    return Forbidden("notApprover", "You are not in the directory any more, and can decide on nothing.")


def require_turn(record: RequestRecord, user: UserId, action: Action, *, now: datetime) -> None:
    """Raises Conflict when it is not this approver's turn: the request has moved on, the level is closed, the decision
    was made already, or the time is over."""
    if record.state is not RequestState.PENDING_APPROVAL:
        raise not_now(action, record.state)
    if not has_to_decide(record.approvals, user):
        raise Conflict("stateDoesNotAllow", "What you had to decide here is decided. Decisions are final.")
    _require_time(record, now)


def require_blocked(record: RequestRecord, level: int, *, now: datetime) -> None:
    """Raises Conflict when nobody has to be named for this level."""
    current = current_level(record.approvals)
    is_waiting = record.state is RequestState.PENDING_APPROVAL
    if not is_waiting or current is None or current.level != level or current.state is not ApprovalState.BLOCKED:
        detail = f"Approvers are named for a level that is blocked, and level {level} of this request is not."
        raise Conflict("stateDoesNotAllow", detail)
    _require_time(record, now)


def naming_faults(users: Sequence[UserId], answer: PeopleAnswer) -> tuple[Fault, ...]:
    """What stands against these approvers: every one of them has to be in the directory."""
    return first_faults(unknown_people(((f"/userIds/{place}", user) for place, user in enumerate(users)), (), answer))


def require_others(record: RequestRecord, users: Sequence[UserId]) -> None:
    """Raises Forbidden when the requester is among those who shall decide."""
    if record.created_by.id in users:
        detail = f"{record.created_by.id} has asked for this and cannot decide on it. Name somebody else."
        raise Forbidden("selfApproval", detail)


def moved_on(before: RequestRecord, approvals: Levels, *, at: datetime) -> RequestRecord:
    """What a request that waits for approval is when its levels have come to this."""
    state = _state_of(approvals)
    finished_at = at if state is RequestState.REJECTED else None
    blocked = blocked_by(approvals)
    return replace(before, state=state, approvals=approvals, blocked=blocked, updated_at=at, finished_at=finished_at)


def expired(before: RequestRecord, *, at: datetime) -> RequestRecord:
    """What a request is when nobody has decided in time."""
    approvals = run_out(before.approvals)
    return replace(before, state=RequestState.EXPIRED, approvals=approvals, blocked=None, updated_at=at, finished_at=at)


def next_look(record: RequestRecord, *, now: datetime) -> timedelta:
    """How long a request that waits for approval can be left alone; zero when its next level is to be opened."""
    current = current_level(record.approvals)
    if current is None or current.state is ApprovalState.NOT_REACHED:
        return timedelta(0)
    return until_deadline(record, LOOK_EVERY, now=now)


def until_deadline(record: RequestRecord, wait: timedelta, *, now: datetime) -> timedelta:
    """The wait, cut short where the time to decide ends before."""
    deadline = deadline_of(record.approvals)
    return wait if deadline is None else max(min(wait, deadline - now), timedelta(0))


def _require_time(record: RequestRecord, now: datetime) -> None:
    if has_run_out(record.approvals, now):
        raise Conflict("stateDoesNotAllow", "The time to decide is over, and the request expires.")


def _state_of(approvals: Levels) -> RequestState:
    current = current_level(approvals)
    if current is None:
        return RequestState.QUEUED
    return RequestState.REJECTED if current.state is ApprovalState.REJECTED else RequestState.PENDING_APPROVAL
