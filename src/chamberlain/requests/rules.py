"""Actions: what somebody may do with a request now."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache

from chamberlain.auth.models import Actor, Caller
from chamberlain.auth.permissions import Operation
from chamberlain.changes.models import Change, Subject
from chamberlain.changes.models_events import Event
from chamberlain.core.errors import Conflict, NotFound
from chamberlain.core.idempotency import Act
from chamberlain.core.ids import ClientId, RequestId
from chamberlain.core.values import Json
from chamberlain.requests.approvals import has_to_decide, was_asked
from chamberlain.requests.models import MOVES, RequestRecord, RequestState
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
