"""Deeds: what is the same whenever somebody acts upon a request. Who may, and what it does, comes from the use case."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from chamberlain.rules.actions import (
    Act,
    Action,
    Deed,
    KeptAnswer,
    RequestView,
    change_of,
    not_now,
    present,
    require_allowed,
    viewed,
)
from chamberlain.rules.callers import Caller
from chamberlain.rules.events import Event, request_cancelled, summary_of
from chamberlain.rules.ids import EventId, RequestId
from chamberlain.rules.jobs import job_kind_of
from chamberlain.rules.permissions import Operation, ScopePrefixes, require
from chamberlain.rules.requests import RequestRecord, RequestState
from chamberlain.store import changes, idempotency, jobs, requests
from chamberlain.store.callers import Callers
from chamberlain.store.database import Database, Transaction
from chamberlain.store.notifier import Notifier


@dataclass(frozen=True, slots=True)
class Done:
    """What a request has become, and the event that tells of it, if one does."""

    after: RequestRecord
    event: Event | None


# Does it, to a request that nobody else changes meanwhile and whose state allows it.
Carry = Callable[[Transaction, RequestRecord], Awaitable[Done]]


@dataclass(frozen=True, slots=True)
class Deeds:
    """Lets callers act upon requests that are theirs to act upon. `watchers` hear that a request has changed."""

    database: Database
    callers: Callers
    prefixes: ScopePrefixes
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
        """What `render` makes of the request as it is then, or made of it when the same key came first. Raises
        NotFound, Forbidden, and Conflict when its state does not allow it."""
        allowance = require(caller, Operation.CANCEL_OR_RETRY_REQUEST, self.prefixes)
        async with self.database.transaction(caller.tenant_id) as tx:
            record = await requests.find(tx, request_id)
        await self.callers.require_visible(caller, allowance, record)
        deed = Deed(action, caller.client_id, await self.callers.actor(caller), act, request_id)

        async def work() -> bytes:
            return render(viewed(await _done(tx, deed, carry)))

        async with self.database.transaction(caller.tenant_id) as tx:
            answer = await idempotency.once(tx, caller, act.idempotency, work)
        self.watchers.tell((request_id,))
        return answer


async def cancel(tx: Transaction, before: RequestRecord, *, event_id: EventId, at: datetime) -> Done:
    """End a request that nobody else changes meanwhile. Raises Conflict when its state does not allow it."""
    after = await requests.cancel(tx, before, at=at)
    if after is None:
        raise not_now(Action.CANCEL, before.state)
    if before.state in {RequestState.QUEUED, RequestState.WAITING}:
        await jobs.withdraw(tx, job_kind_of(before.kind), before.request_id)
    return Done(after, request_cancelled(event_id, summary_of(after), now=at))


async def _done(tx: Transaction, deed: Deed, carry: Carry) -> RequestRecord:
    before = present(await requests.hold(tx, deed.request_id))
    require_allowed(deed.action, before.state)
    done = await carry(tx, before)
    await changes.record(tx, change_of(deed, before, done.after, done.event))
    return done.after
