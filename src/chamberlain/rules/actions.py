"""Actions: what somebody may do with a request now."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from chamberlain.rules.callers import Actor
from chamberlain.rules.changes import Change, Subject
from chamberlain.rules.errors import Conflict, NotFound
from chamberlain.rules.events import Event
from chamberlain.rules.ids import ClientId, RequestId, TraceId
from chamberlain.rules.requests import MOVES, IdempotencyKey, RequestRecord, RequestState
from chamberlain.rules.steps import shown_steps


class Action(StrEnum):
    """A verb behind a request's address."""

    CANCEL = "cancel"
    RETRY = "retry"


# Where each action leads; what leads there, and from where, is in the table of moves alone.
TARGETS: Mapping[Action, RequestState] = {
    Action.CANCEL: RequestState.CANCELLED,
    Action.RETRY: RequestState.QUEUED,
}

PAST: Mapping[Action, str] = {Action.CANCEL: "cancelled", Action.RETRY: "retried"}


def origins_of(action: Action) -> frozenset[RequestState]:
    """The states in which a request can be acted upon so."""
    target = TARGETS[action]
    origins = frozenset(state for state, following in MOVES.items() if target in following)
    # Approval leads from pendingApproval to queued as well, but nobody retries what was never tried.
    return origins - {RequestState.PENDING_APPROVAL} if action is Action.RETRY else origins


def actions_in(state: RequestState) -> tuple[Action, ...]:
    """What those whose request it is, and administrators, may do with a request in this state."""
    return tuple(action for action in Action if state in origins_of(action))


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
class Act:
    """How an action comes in: what the caller says to it, the key if one was sent, and the trace it belongs to."""

    comment: str | None
    idempotency: IdempotencyKey | None
    trace_id: TraceId

    @property
    def said(self) -> Mapping[str, str]:
        """What the audit trail keeps of it."""
        return {} if self.comment is None else {"comment": self.comment}


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """The body of an answer as it was sent, and whether that was in answer to an earlier call with the same key."""

    body: bytes
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class RequestView:
    """A request as one caller sees it: with what this caller may do now."""

    record: RequestRecord
    actions: tuple[Action, ...]


def viewed(record: RequestRecord) -> RequestView:
    """For those who may act upon it: whoever asked for it, and administrators."""
    return RequestView(replace(record, steps=shown_steps(record)), actions_in(record.state))


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


@dataclass(frozen=True, slots=True)
class Deed:
    """Somebody acts upon a request."""

    action: Action
    client_id: ClientId | None
    actor: Actor
    act: Act
    request_id: RequestId


def change_of(deed: Deed, before: RequestRecord, after: RequestRecord, event: Event | None) -> Change:
    """The record of a deed, by which the request has become what it is after it."""
    return Change(
        tenant_id=after.tenant_id,
        action=f"request.{deed.action}",
        actor=deed.actor,
        client_id=deed.client_id,
        subject=Subject("request", after.request_id, after.display_name),
        before={"state": before.state},
        after={"state": after.state, **deed.act.said},
        request_id=after.request_id,
        trace_id=deed.act.trace_id,
        event=event,
    )
