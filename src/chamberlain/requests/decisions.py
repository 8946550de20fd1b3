# SPDX-License-Identifier: Apache-2.0
"""Decide on requests as a user who was asked for a decision.

All channels use these rules: the API, replies by mail, and conversations.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from chamberlain.auth.models import Actor, ActorType
from chamberlain.changes.models import Event
from chamberlain.core.errors import TryAgain, Unavailable
from chamberlain.core.idempotency import Act
from chamberlain.core.ids import ClientId, EventId, TenantId, UserId
from chamberlain.database.transactions import Transaction
from chamberlain.directory.models import PeopleAnswer, PeopleQuestion, Person
from chamberlain.directory.port import People
from chamberlain.requests import store as request_store
from chamberlain.requests.actions import Carry, Done
from chamberlain.requests.approvals import decide, represented_by, waited_for
from chamberlain.requests.events import request_approved, request_rejected, summary_of
from chamberlain.requests.models import Decision, RequestRecord, RequestState
from chamberlain.requests.replies import Asking
from chamberlain.requests.rules import (
    OUTCOMES,
    Action,
    Deed,
    decided_level,
    has_left,
    moved_on,
    require_asked,
    require_level,
    require_represented,
    require_turn,
)
from chamberlain.substitutes import records as substitute_records


@dataclass(frozen=True, slots=True)
class WantedDecision:
    """The decision of a user who was asked in a message.

    A rejection has a reason. `channel` is the one of the message, for the audit trail.
    """

    asking: Asking
    action: Action
    reason: str | None
    channel: str


@dataclass(frozen=True, slots=True)
class PreparedDecision:
    """A decision before its transaction. `person` is the user who decides."""

    deed: Deed
    carry: Carry
    person: Person


@dataclass(frozen=True, slots=True)
class Decisions:
    """Decisions of approvers and substitutes."""

    people: People
    new_id: Callable[[], UUID]
    now: Callable[[], datetime]

    async def prepare(
        self, seen: RequestRecord, wanted: WantedDecision, act: Act, client_id: ClientId | None
    ) -> PreparedDecision:
        """Prepare the decision of a user who was asked in a message.

        Raises Forbidden if the user was not asked or has left, and Unavailable if the directory does not answer. The
        `carry` of the result raises Conflict if it is not the user's turn at this level.
        """
        asking, user = wanted.asking, wanted.asking.user
        require_asked(seen, user)
        people, gone = await self.approvers_gone(seen, user)
        actor = Actor(ActorType.USER, user, people[user].display_name)
        deed = Deed(wanted.action, client_id, actor, replace(act, comment=wanted.reason), asking.request_id)
        decision = self.decision(deed, user, gone)

        async def carry(tx: Transaction, before: RequestRecord, actor: Actor) -> Done:
            require_level(before, asking.level)
            done = await decision(tx, before, actor)
            return replace(done, told={**done.told, "channel": wanted.channel})

        return PreparedDecision(deed, carry, people[user])

    def decision(self, deed: Deed, user: UserId, gone: Collection[UserId]) -> Carry:
        """Return the decision of an approver or a substitute."""

        async def carry(tx: Transaction, before: RequestRecord, actor: Actor) -> Done:
            await request_store.require_served(tx)
            require_asked(before, user)
            # Read under the lock: the deadline may have passed during the wait for it.
            at = self.now()
            require_turn(before, user, deed.action, now=at)
            approver = represented_by(before.approvals, user)
            if approver is not None:
                current = await substitute_records.hold_represented(tx, user, at)
                approver = represented_by(before.approvals, user, among=current.difference(gone)) or approver
                require_represented(before, approver, current, gone)
            decision = Decision(actor, OUTCOMES[deed.action], deed.act.comment, at, approver)
            after = moved_on(before, decide(before.approvals, decision, gone=gone), at=at)
            await request_store.move(tx, before, after, deed.act.trace_id)
            return Done(after, self._decided(after, actor, at), decided_level(before, approver))

        return carry

    async def approvers_gone(
        self, seen: RequestRecord, user: UserId
    ) -> tuple[Mapping[UserId, Person], frozenset[UserId]]:
        """Look up user and approvers of the current level.

        Returns the known ones, and the ids of those who have left the directory. Raises Forbidden if the user has.
        """
        asked = waited_for(seen.approvals) | {user}
        detail = "The directory cannot be asked whether you are still in it. Send the request again."
        answer = await look_up(self.people, seen.tenant_id, asked, detail)
        if user not in answer.people:
            raise has_left()
        return answer.people, asked - answer.people.keys()

    def _decided(self, after: RequestRecord, actor: Actor, at: datetime) -> Event | None:
        """Return the event of a decision that ends the approval."""
        if after.state is RequestState.REJECTED:
            return request_rejected(EventId(self.new_id()), summary_of(after), now=at)
        if after.state is RequestState.QUEUED:
            return request_approved(EventId(self.new_id()), summary_of(after), changed_by=actor, now=at)
        return None


async def look_up(people: People, tenant_id: TenantId, users: frozenset[UserId], detail: str) -> PeopleAnswer:
    """Look up users. Raises Unavailable with the detail."""
    try:
        return await people.look_up(PeopleQuestion(tenant_id, users=users))
    except TryAgain as error:
        raise Unavailable("overloaded", detail, after=error.after) from error
