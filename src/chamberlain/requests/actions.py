"""Idempotent actions on requests: authorize, lock, change, audit.

The caller of this module decides what an action changes.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from chamberlain.auth.authorization import Authorization
from chamberlain.requests.visibility import require_requester, require_visible
from chamberlain.rules.actions import (
    Act,
    Action,
    Deed,
    KeptAnswer,
    RequestView,
    change_of,
    not_now,
    operation_of,
    present,
    require_allowed,
    viewed_by,
)
from chamberlain.rules.callers import Caller
from chamberlain.rules.changes import Json
from chamberlain.rules.events import Event
from chamberlain.rules.ids import EventId, RequestId
from chamberlain.rules.jobs import job_kind_of
from chamberlain.rules.request_events import request_cancelled, summary_of
from chamberlain.rules.requests import RequestRecord, RequestState
from chamberlain.store import approvals, changes, idempotency, jobs, requests
from chamberlain.store.database import Database, Transaction
from chamberlain.store.notifier import Notifier


@dataclass(frozen=True, slots=True)
class Done:
    """The request after an action, and its event if there is one.

    `told` is added to the audit row.
    """

    after: RequestRecord
    event: Event | None
    told: Mapping[str, Json] = field(default_factory=dict)


# Changes a locked request whose state allows the action.
Carry = Callable[[Transaction, RequestRecord], Awaitable[Done]]


@dataclass(frozen=True, slots=True)
class Deeds:
    """Act on requests on behalf of callers.

    `watchers` are notified of each change.
    """

    database: Database
    authorization: Authorization
    watchers: Notifier

    async def do(
        self,
        action: Action,
        caller: Caller,
        request_id: RequestId,
        act: Act,
        *,
        carry: Carry,
        render: Callable[[RequestView], bytes],
    ) -> KeptAnswer:
        """Act, and return what `render` makes of the request.

        A repeated idempotency key returns the first answer. Raises NotFound, Forbidden, Unavailable, and Conflict if
        the state does not allow the action.
        """
        operation, found = operation_of(action), await self.find(caller, request_id)
        record = await require_visible(self.authorization, caller, operation, found)
        await require_requester(self.authorization, caller, operation, record)
        actor = await self.authorization.actor(caller)
        return await self.carry_out(caller, Deed(action, caller.client_id, actor, act, request_id), carry, render)

    async def find(self, caller: Caller, request_id: RequestId) -> RequestRecord | None:
        """Find a request without authorization."""
        async with self.database.transaction(caller.tenant_id) as tx:
            return await requests.find(tx, request_id)

    async def carry_out(
        self, caller: Caller, deed: Deed, carry: Carry, render: Callable[[RequestView], bytes]
    ) -> KeptAnswer:
        """Act for a caller who is already authorized."""

        async def work() -> bytes:
            return render(viewed_by(caller, await _done(tx, deed, carry)))

        async with self.database.transaction(caller.tenant_id) as tx:
            answer = await idempotency.once(tx, caller, deed.act.idempotency, work)
        self.watchers.tell((deed.request_id,))
        return answer


async def cancel(tx: Transaction, before: RequestRecord, *, event_id: EventId, at: datetime) -> Done:
    """Cancel a locked request.

    Raises Conflict if its state does not allow it.
    """
    after = await requests.cancel(tx, before, at=at)
    if after is None:
        raise not_now(Action.CANCEL, before.state)
    if before.state in {RequestState.QUEUED, RequestState.WAITING}:
        await jobs.withdraw(tx, job_kind_of(before.kind), before.request_id)
    if before.state is RequestState.PENDING_APPROVAL:
        await approvals.withdraw(tx, before.request_id)
    return Done(after, request_cancelled(event_id, summary_of(after), now=at))


async def _done(tx: Transaction, deed: Deed, carry: Carry) -> RequestRecord:
    before = present(await requests.hold(tx, deed.request_id))
    require_allowed(deed.action, before.state)
    done = await carry(tx, before)
    await changes.record(tx, change_of(deed, before, done.after, done.event, done.told))
    return done.after
