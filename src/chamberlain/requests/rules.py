"""Actions: what somebody may do with a request now."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache

from chamberlain.auth.models import Actor, Caller
from chamberlain.auth.permissions import Operation
from chamberlain.changes.models import Change, Event, Subject
from chamberlain.core.errors import Conflict, Fault, Forbidden, NotFound, first_faults
from chamberlain.core.idempotency import Act
from chamberlain.core.ids import ClientId, RequestId, UserId
from chamberlain.core.values import Json
from chamberlain.directory.models import PeopleAnswer, unknown_people
from chamberlain.requests.approvals import (
    Levels,
    current_level,
    deadline_of,
    has_run_out,
    has_to_decide,
    run_out,
    was_asked,
)
from chamberlain.requests.models import MOVES, ApprovalState, DecisionOutcome, RequestRecord, RequestState, blocked_by
from chamberlain.requests.steps import shown_steps


class Action(StrEnum):
    """A verb behind a request's address."""

    APPROVE = "approve"
    REJECT = "reject"
    CANCEL = "cancel"
    RETRY = "retry"


# Those of approvers; the others are those of the requester and of administrators.
DECISIONS = frozenset({Action.APPROVE, Action.REJECT})

# Where each action leads, an approval that of the last level; what leads there, and from where, is in the table of
# moves alone.
TARGETS: Mapping[Action, RequestState] = {
    Action.APPROVE: RequestState.QUEUED,
    Action.REJECT: RequestState.REJECTED,
    Action.CANCEL: RequestState.CANCELLED,
    Action.RETRY: RequestState.QUEUED,
}

PAST: Mapping[Action, str] = {
    Action.APPROVE: "approved",
    Action.REJECT: "rejected",
    Action.CANCEL: "cancelled",
    Action.RETRY: "retried",
}


def origins_of(action: Action) -> frozenset[RequestState]:
    """The states in which a request can be acted upon so."""
    target = TARGETS[action]
    origins = frozenset(state for state, following in MOVES.items() if target in following)
    match action:
        case Action.APPROVE:
            # What has failed is queued by those who retry it.
            return origins - {RequestState.FAILED}
        case Action.RETRY:
            # Nobody retries what was never tried.
            return origins - {RequestState.PENDING_APPROVAL}
        case Action.REJECT | Action.CANCEL:
            return origins


def operation_of(action: Action) -> Operation:
    """What permissions call it."""
    return Operation.DECIDE_REQUEST if action in DECISIONS else Operation.CANCEL_OR_RETRY_REQUEST


@cache
def actions_in(state: RequestState, *, to_decide: bool = False, may_end: bool = True) -> tuple[Action, ...]:
    """List the actions that a state allows to an approver whose turn it is, and to those who may end a request."""
    allowed = (DECISIONS if to_decide else frozenset()) | (frozenset(Action) - DECISIONS if may_end else frozenset())
    return tuple(action for action in Action if action in allowed and state in origins_of(action))


def require_allowed(action: Action, state: RequestState) -> None:
    """Raises Conflict when a request in this state cannot be acted upon so."""
    if state not in origins_of(action):
        raise not_now(action, state)


def not_now(action: Action, state: RequestState) -> Conflict:
    """What to say when a state does not allow an action."""
    allowed = " or ".join(sorted(origins_of(action)))
    return Conflict(
        "stateDoesNotAllow", f"A request that is {state} cannot be {PAST[action]}; only one that is {allowed}."
    )


@dataclass(frozen=True, slots=True)
class RequestView:
    """A request as one caller sees it: with what this caller may do now."""

    record: RequestRecord
    actions: tuple[Action, ...]


def viewed(record: RequestRecord, *, to_decide: bool = False, may_end: bool = True) -> RequestView:
    """A request for a caller who may see it: whether it is their turn to decide, and whether they may cancel it."""
    steps = shown_steps(record)
    # A request without a running step is shown as it is stored; that is most of them.
    shown = record if steps is record.steps else replace(record, steps=steps)
    return RequestView(shown, actions_in(record.state, to_decide=to_decide, may_end=may_end))


def viewed_by(caller: Caller, record: RequestRecord) -> RequestView:
    """A whole request for a caller who may see it. An approver is offered decisions alone."""
    user = caller.user_id
    may_end = record.created_by.id == caller.id or not was_asked(record.approvals, user)
    return viewed(record, to_decide=has_to_decide(record.approvals, user), may_end=may_end)


def present(record: RequestRecord | None) -> RequestRecord:
    """The request, or NotFound when it was removed a moment ago, its time being up."""
    if record is None:
        raise NotFound("There is no such request any more.")
    return record


def left_behind(record: RequestRecord) -> tuple[str, ...]:
    """What to say to a request that is cancelled when something of it exists."""
    made = record.made
    if made is None:
        return ()
    there = f'The {made.type} "{made.display_name}" ({made.mail}) is in the directory already and stays there'
    return (f"{there}, under the id {made.id}. Its address is free once somebody has removed it there.",)


# What most deeds have to say beside what they do.
NOTHING: Mapping[str, Json] = {}


@dataclass(frozen=True, slots=True)
class Deed:
    """Somebody acts upon a request."""

    action: Action
    client_id: ClientId | None
    actor: Actor
    act: Act
    request_id: RequestId


def change_of(
    deed: Deed, before: RequestRecord, after: RequestRecord, event: Event | None, told: Mapping[str, Json] = NOTHING
) -> Change:
    """The record of a deed, by which the request has become what it is after it; `told` is what else there is to say
    of it."""
    # What one of several approvers has said need not move it.
    has_moved = after.state is not before.state
    was: Mapping[str, Json] = {"state": before.state} if has_moved else {}
    became: Mapping[str, Json] = {"state": after.state} if has_moved else {}
    return Change(
        tenant_id=after.tenant_id,
        action=f"request.{deed.action}",
        actor=deed.actor,
        client_id=deed.client_id,
        subject=Subject("request", after.request_id, after.display_name),
        before=was,
        after={**became, **told, **deed.act.said},
        request_id=after.request_id,
        trace_id=deed.act.trace_id,
        client_address=deed.act.client_address,
        event=event,
    )


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
