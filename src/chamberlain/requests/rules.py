# SPDX-License-Identifier: Apache-2.0
"""Actions on requests: who may act in which state, and their results."""

from collections.abc import Collection, Mapping, Sequence
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
from chamberlain.core.reasons import Cause, Reason
from chamberlain.core.values import Json
from chamberlain.directory.models import NamedPerson, PeopleAnswer, unknown_people
from chamberlain.directory.steps import Step
from chamberlain.requests.approvals import (
    Levels,
    current_level,
    deadline_of,
    has_run_out,
    has_to_decide,
    run_out,
    was_asked,
)
from chamberlain.requests.models import (
    MOVES,
    ApprovalState,
    DecisionOutcome,
    RequestKind,
    RequestRecord,
    RequestState,
    ShownField,
    Waiting,
    blocked_by,
)
from chamberlain.requests.steps import FINISHED, shown_steps


class Action(StrEnum):
    """An action on a request, as in the path of its endpoint."""

    APPROVE = "approve"
    REJECT = "reject"
    CANCEL = "cancel"
    RETRY = "retry"


# Actions of approvers. The others belong to the requester and administrators.
DECISIONS = frozenset({Action.APPROVE, Action.REJECT})

# The target state of each action; for an approval that of the last level. MOVES has the states that lead there.
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
    """Return the states that allow an action."""
    target = TARGETS[action]
    origins = frozenset(state for state, following in MOVES.items() if target in following)
    match action:
        case Action.APPROVE:
            # A failed request is queued by a retry.
            return origins - {RequestState.FAILED}
        case Action.RETRY:
            # A request that has not run is not retried.
            return origins - {RequestState.PENDING_APPROVAL}
        case Action.REJECT | Action.CANCEL:
            return origins


def operation_of(action: Action) -> Operation:
    """Return the operation that permissions allow."""
    return Operation.DECIDE_REQUEST if action in DECISIONS else Operation.CANCEL_OR_RETRY_REQUEST


@cache
def actions_in(state: RequestState, *, to_decide: bool = False, may_end: bool = True) -> tuple[Action, ...]:
    """List the actions that a state allows to a caller.

    `to_decide` is for an approver whose turn it is, `may_end` for those who may end a request.
    """
    allowed = (DECISIONS if to_decide else frozenset()) | (frozenset(Action) - DECISIONS if may_end else frozenset())
    return tuple(action for action in Action if action in allowed and state in origins_of(action))


def require_allowed(action: Action, state: RequestState) -> None:
    """Raise Conflict if the state does not allow the action."""
    if state not in origins_of(action):
        raise not_now(action, state)


def not_now(action: Action, state: RequestState) -> Conflict:
    """Return the conflict of an action that the state does not allow."""
    sentence = "A request that is {state} cannot be " + PAST[action] + "; only one that is {allowed}."
    allowed = " or ".join(sorted(origins_of(action)))
    return Conflict.build("stateDoesNotAllow", sentence, state=str(state), allowed=allowed)


@dataclass(frozen=True, slots=True)
class RequestView:
    """A request with the actions that one caller may take now.

    `fields` are its custom fields, where a single request is shown.
    """

    record: RequestRecord
    actions: tuple[Action, ...]
    fields: tuple[ShownField, ...] = ()


# States whose next step is that of a worker.
_OF_WORKERS = frozenset({RequestState.QUEUED, RequestState.RUNNING, RequestState.WAITING})


def parked(record: RequestRecord, broken: Reason) -> RequestRecord:
    """Show that an open request waits for the connection to its directory.

    Its job is not claimed, so no run of it has stored this reason.
    """
    if record.state not in _OF_WORKERS:
        return record
    # Lists have no steps.
    first = Step.MARK_ASSIGNMENT if record.kind is RequestKind.ASSIGNMENT else Step.CHECK_PEOPLE
    current = next((each for each in record.steps if each.state not in FINISHED), None)
    known = first if record.waiting is None else record.waiting.step
    step, attempts = (known, 0) if current is None else (current.step, current.attempts)
    cause = None if broken.code is None else Cause(broken.code, broken.values or {})
    waiting = Waiting(step, broken.sentence, attempts, None, None, cause)
    return replace(record, waiting=waiting)


def viewed(record: RequestRecord, *, to_decide: bool = False, may_end: bool = True) -> RequestView:
    """Return the request as a caller sees it."""
    steps = shown_steps(record)
    # Most requests have no running step and are shown as stored.
    shown = record if steps is record.steps else replace(record, steps=steps)
    return RequestView(shown, actions_in(record.state, to_decide=to_decide, may_end=may_end))


def viewed_by(caller: Caller, record: RequestRecord, *, may_end: bool = False) -> RequestView:
    """Return the request as a caller sees it.

    Approvers get decisions only, unless they are the requester or `may_end` as administrators.
    """
    may_end = may_end or not is_only_approver(caller, record)
    return viewed(record, to_decide=has_to_decide(record.approvals, caller.user_id), may_end=may_end)


def is_only_approver(caller: Caller, record: RequestRecord) -> bool:
    """Return whether the caller is an approver of another user's request."""
    return record.created_by.id != caller.id and was_asked(record.approvals, caller.user_id)


def present(record: RequestRecord | None) -> RequestRecord:
    """Return the request. Raises NotFound if retention has just deleted it."""
    if record is None:
        raise NotFound("There is no such request any more.")
    return record


def left_behind(record: RequestRecord) -> tuple[Reason, ...]:
    """Return the warning about the object of a cancelled request.

    It stays in the directory.
    """
    made = record.made
    if made is None:
        return ()
    address, id_ = made.mail or "", str(made.id)
    return (Reason.build("objectLeftBehind", type=made.type, displayName=made.display_name, address=address, id=id_),)


# Most actions add nothing to the audit row.
NOTHING: Mapping[str, Json] = {}


@dataclass(frozen=True, slots=True)
class Deed:
    """An action of an actor on a request."""

    action: Action
    client_id: ClientId | None
    actor: Actor
    act: Act
    request_id: RequestId


def change_of(
    deed: Deed, before: RequestRecord, after: RequestRecord, event: Event | None, told: Mapping[str, Json] = NOTHING
) -> Change:
    """Return the audit row of an action. `told` has further values."""
    # The decision of one of several approvers may not change the state.
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


def decided_level(record: RequestRecord, approver: NamedPerson | None) -> Mapping[str, Json]:
    """Return the values of a decision for the audit row.

    They are the level, and the approver of a substitute.
    """
    level = current_level(record.approvals)
    told: dict[str, Json] = {} if level is None else {"level": level.level}
    if approver is not None:
        told["onBehalfOf"] = {"id": str(approver.id), "displayName": approver.display_name}
    return told


# The interval for checking that approvers are still in the directory, and for finding approvers of blocked requests.
# Our choice: one lookup an hour for each waiting request is no load for a directory.
LOOK_EVERY = timedelta(hours=1)

OUTCOMES: Mapping[Action, DecisionOutcome] = {
    Action.APPROVE: DecisionOutcome.APPROVED,
    Action.REJECT: DecisionOutcome.REJECTED,
}


@dataclass(frozen=True, slots=True)
class Naming:
    """The users that an administrator names as approvers of a level."""

    level: int
    users: tuple[UserId, ...]


def require_approver(record: RequestRecord, caller: Caller) -> UserId:
    """Raise Forbidden if the caller is no approver, or the requester."""
    if record.created_by.id == caller.id:
        raise _self_approval()
    user = caller.user_id
    if user is None:
        raise _not_approver()
    require_asked(record, user)
    return user


def require_asked(record: RequestRecord, user: UserId) -> None:
    """Raise Forbidden for the requester, and for users who were not asked.

    Approvers and their substitutes are asked.
    """
    if record.created_by.id == user:
        raise _self_approval()
    if not was_asked(record.approvals, user):
        raise _not_approver()


def _self_approval() -> Forbidden:
    return Forbidden("selfApproval", "This is your own request. Another approver has to decide on it.")


def _not_approver() -> Forbidden:
    return Forbidden("notApprover", "You are no approver of this request. `approvals` says who may decide.")


def require_represented(
    record: RequestRecord, approver: NamedPerson, current: Collection[UserId], gone: Collection[UserId]
) -> None:
    """Raise Forbidden unless the user is a substitute of the approver now.

    `current` are the approvers for whom the user is a substitute, read under a lock.
    """
    if approver.id not in current or approver.id in gone:
        name = approver.display_name
        raise Forbidden("notApprover", f"You are no substitute of {name} any more, or {name} has left the directory.")
    if record.created_by.id in current:
        raise Forbidden("selfApproval", "You are a substitute of the requester. Another approver has to decide on it.")


def has_left() -> Forbidden:
    """Return the error for a caller who has left the directory."""
    return Forbidden("notApprover", "You are not in the directory any more, and can decide on nothing.")


def require_turn(record: RequestRecord, user: UserId, action: Action, *, now: datetime) -> None:
    """Raise Conflict if it is not the approver's turn.

    The state has changed, the level is closed or decided, or the deadline has passed.
    """
    if record.state is not RequestState.PENDING_APPROVAL:
        raise not_now(action, record.state)
    if not has_to_decide(record.approvals, user):
        raise Conflict("stateDoesNotAllow", "You have decided already. Decisions are final.")
    _require_time(record, now)


def require_level(record: RequestRecord, level: int) -> None:
    """Raise Conflict if the request waits for the decision of another level."""
    current = current_level(record.approvals)
    is_waiting = record.state is RequestState.PENDING_APPROVAL
    if is_waiting and current is not None and current.level != level:
        raise Conflict("stateDoesNotAllow", f"Level {level} of this request is closed, and another one is open.")


def require_blocked(record: RequestRecord, level: int, *, now: datetime) -> None:
    """Raise Conflict unless the level is blocked."""
    current = current_level(record.approvals)
    is_waiting = record.state is RequestState.PENDING_APPROVAL
    if not is_waiting or current is None or current.level != level or current.state is not ApprovalState.BLOCKED:
        detail = f"Approvers are named for a level that is blocked, and level {level} of this request is not."
        raise Conflict("stateDoesNotAllow", detail)
    _require_time(record, now)


def naming_faults(users: Sequence[UserId], answer: PeopleAnswer) -> tuple[Fault, ...]:
    """Validate that all named approvers are in the directory."""
    return first_faults(unknown_people(((f"/userIds/{place}", user) for place, user in enumerate(users)), (), answer))


def require_others(record: RequestRecord, users: Sequence[UserId]) -> None:
    """Raise Forbidden if the requester is among the named approvers."""
    if record.created_by.id in users:
        detail = f"{record.created_by.id} is the requester and cannot decide on it. Name another user."
        raise Forbidden("selfApproval", detail)


def moved_on(before: RequestRecord, approvals: Levels, *, at: datetime) -> RequestRecord:
    """Return a request that waits for approval with changed levels."""
    state = _state_of(approvals)
    finished_at = at if state is RequestState.REJECTED else None
    blocked = blocked_by(approvals)
    return replace(before, state=state, approvals=approvals, blocked=blocked, updated_at=at, finished_at=finished_at)


def expired(before: RequestRecord, *, at: datetime) -> RequestRecord:
    """Return the request after its deadline has passed."""
    approvals = run_out(before.approvals)
    return replace(before, state=RequestState.EXPIRED, approvals=approvals, blocked=None, updated_at=at, finished_at=at)


def next_look(record: RequestRecord, *, now: datetime) -> timedelta:
    """Return the time until the next check of a waiting request.

    It is zero if its next level opens.
    """
    current = current_level(record.approvals)
    if current is None or current.state is ApprovalState.NOT_REACHED:
        return timedelta(0)
    return until_deadline(record, LOOK_EVERY, now=now)


def until_deadline(record: RequestRecord, wait: timedelta, *, now: datetime) -> timedelta:
    """Return the wait, at most until the deadline."""
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
