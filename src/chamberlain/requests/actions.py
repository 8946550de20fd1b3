# SPDX-License-Identifier: Apache-2.0
"""Change a locked request, and audit the change.

The caller of this module authorizes, and decides what an action changes.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from chamberlain.auth.models import Actor
from chamberlain.changes.models import Event
from chamberlain.changes.records import record_change
from chamberlain.core.ids import EventId
from chamberlain.core.values import Json
from chamberlain.database.transactions import Transaction
from chamberlain.queue import jobs as queue_jobs
from chamberlain.requests import records, store
from chamberlain.requests.events import request_cancelled, summary_of
from chamberlain.requests.models import RequestRecord, RequestState, job_kind_of
from chamberlain.requests.rules import Action, Deed, change_of, not_now, present, require_allowed


@dataclass(frozen=True, slots=True)
class Done:
    """The request after an action, and its event if there is one.

    `told` is added to the audit row.
    """

    after: RequestRecord
    event: Event | None
    told: Mapping[str, Json] = field(default_factory=dict)


# Changes a locked request whose state allows the action, for an actor.
Carry = Callable[[Transaction, RequestRecord, Actor], Awaitable[Done]]


async def perform(tx: Transaction, deed: Deed, carry: Carry) -> RequestRecord:
    """Lock the request, change it and audit the change. Raises Conflict."""
    before = present(await records.hold(tx, deed.request_id))
    require_allowed(deed.action, before.state)
    done = await carry(tx, before, deed.actor)
    await record_change(tx, change_of(deed, before, done.after, done.event, done.told))
    return done.after


async def cancel(tx: Transaction, before: RequestRecord, *, event_id: EventId, at: datetime) -> Done:
    """Cancel a locked request.

    Raises Conflict if its state does not allow it.
    """
    after = await records.cancel(tx, before, at=at)
    if after is None:
        raise not_now(Action.CANCEL, before.state)
    if before.state in {RequestState.QUEUED, RequestState.WAITING}:
        await queue_jobs.withdraw(tx, job_kind_of(before.kind), before.request_id)
    if before.state is RequestState.PENDING_APPROVAL:
        await store.withdraw(tx, before.request_id)
    return Done(after, request_cancelled(event_id, summary_of(after), now=at))
