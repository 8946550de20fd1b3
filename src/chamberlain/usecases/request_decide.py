"""Decide on a request: an approver whose turn it is approves or rejects it. What is decided is final."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from chamberlain.auth.authorization import Authorization
from chamberlain.directory.port import People
from chamberlain.requests.actions import Deeds, Done
from chamberlain.requests.visibility import concerns, require_visible
from chamberlain.rules.actions import Act, Action, Deed, KeptAnswer, RequestView
from chamberlain.rules.approval_levels import current_level, decide, waited_for, was_asked
from chamberlain.rules.approvals import Decision
from chamberlain.rules.callers import Caller
from chamberlain.rules.changes import Json
from chamberlain.rules.decisions import OUTCOMES, has_left, moved_on, require_approver, require_turn
from chamberlain.rules.errors import TryAgain, Unavailable
from chamberlain.rules.events import Event
from chamberlain.rules.ids import EventId, RequestId, UserId
from chamberlain.rules.people import PeopleQuestion
from chamberlain.rules.permissions import Operation
from chamberlain.rules.request_events import request_rejected, summary_of
from chamberlain.rules.requests import RequestRecord, RequestState
from chamberlain.store import approvals
from chamberlain.store.database import Transaction
from chamberlain.store.notifier import Notifier


@dataclass(frozen=True, slots=True)
class DecideRequest:
    """Approves or rejects, for approvers alone. `workers` hear that there may be something to do."""

    deeds: Deeds
    authorization: Authorization
    people: People
    workers: Notifier
    new_id: Callable[[], UUID]
    now: Callable[[], datetime]

    async def approve(
        self, caller: Caller, request_id: RequestId, act: Act, render: Callable[[RequestView], bytes]
    ) -> KeptAnswer:
        """What `render` makes of the request that is approved, at this level at least. Raises NotFound, Forbidden,
        Unavailable, and Conflict when it is not the caller's turn or the time is over."""
        return await self._decide(Action.APPROVE, caller, request_id, act, render)

    async def reject(
        self, caller: Caller, request_id: RequestId, act: Act, render: Callable[[RequestView], bytes]
    ) -> KeptAnswer:
        """The same for the request that is rejected, whichever level it was at."""
        return await self._decide(Action.REJECT, caller, request_id, act, render)

    async def _decide(
        self, action: Action, caller: Caller, request_id: RequestId, act: Act, render: Callable[[RequestView], bytes]
    ) -> KeptAnswer:
        seen = await self._visible(caller, request_id)
        user = require_approver(seen, caller)
        gone = await self._gone(caller, seen, user)
        actor = await self.authorization.actor(caller)

        async def carry(tx: Transaction, before: RequestRecord) -> Done:
            await approvals.require_served(tx)
            require_approver(before, caller)
            # The time is taken only now: whoever had to wait for another one may be too late.
            at = self.now()
            require_turn(before, user, action, now=at)
            decision = Decision(actor, OUTCOMES[action], act.comment, at)
            after = moved_on(before, decide(before.approvals, decision, gone=gone), at=at)
            await approvals.move(tx, before, after, act.trace_id)
            return Done(after, self._event(after, at), _told(before))

        answer = await self.deeds.carry_out(
            caller, Deed(action, caller.client_id, actor, act, request_id), carry, render
        )
        self.workers.flag()
        return answer

    async def _visible(self, caller: Caller, request_id: RequestId) -> RequestRecord:
        """The request. Whoever was asked about it gets to know that the level is closed, though no more of it."""
        await self.authorization.require(caller, Operation.DECIDE_REQUEST)
        found = await self.deeds.find(caller, request_id)
        if found is not None and (concerns(found, caller) or was_asked(found.approvals, caller.user_id)):
            return found
        return await require_visible(self.authorization, caller, Operation.READ_REQUESTS, found)

    async def _gone(self, caller: Caller, seen: RequestRecord, user: UserId) -> frozenset[UserId]:
        """Who of those whose turn it is has left the directory. Raises Forbidden when the caller has."""
        asked = waited_for(seen.approvals) | {user}
        try:
            answer = await self.people.look_up(PeopleQuestion(caller.tenant_id, users=asked))
        except TryAgain as error:
            detail = "The directory cannot be asked whether you are still in it. Send the request again."
            raise Unavailable("overloaded", detail, after=error.after) from error
        if user not in answer.people:
            raise has_left()
        return asked - answer.people.keys()

    def _event(self, after: RequestRecord, at: datetime) -> Event | None:
        if after.state is not RequestState.REJECTED:
            return None
        return request_rejected(EventId(self.new_id()), summary_of(after), now=at)


def _told(before: RequestRecord) -> dict[str, Json]:
    level = current_level(before.approvals)
    return {} if level is None else {"level": level.level}
