"""Cancel a request that is not through: it ends, and gives its names back. What is in the directory already stays."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

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
from chamberlain.rules.events import request_cancelled, summary_of
from chamberlain.rules.ids import EventId, RequestId
from chamberlain.rules.permissions import Operation, ScopePrefixes, require
from chamberlain.store import changes, idempotency, requests
from chamberlain.store.callers import Callers
from chamberlain.store.database import Database, Transaction
from chamberlain.store.notifier import Notifier


@dataclass(frozen=True, slots=True)
class CancelRequest:
    """For those whose request it is, and for administrators. `watchers` hear that the request has changed."""

    database: Database
    callers: Callers
    prefixes: ScopePrefixes
    watchers: Notifier
    new_id: Callable[[], UUID]
    now: Callable[[], datetime]

    async def __call__(
        self, caller: Caller, request_id: RequestId, act: Act, render: Callable[[RequestView], bytes]
    ) -> KeptAnswer:
        """What `render` makes of the cancelled request. Raises NotFound, Forbidden, and Conflict when it is too
        late."""
        allowance = require(caller, Operation.CANCEL_OR_RETRY_REQUEST, self.prefixes)
        async with self.database.transaction(caller.tenant_id) as tx:
            record = await requests.find(tx, request_id)
        await self.callers.require_visible(caller, allowance, record)
        deed = Deed(Action.CANCEL, caller.client_id, await self.callers.actor(caller), act, request_id)
        async with self.database.transaction(caller.tenant_id) as tx:
            answer = await idempotency.once(tx, caller, act.idempotency, lambda: self._cancel(tx, deed, render))
        self.watchers.tell((request_id,))
        return answer

    async def _cancel(self, tx: Transaction, deed: Deed, render: Callable[[RequestView], bytes]) -> bytes:
        now = self.now()
        before = present(await requests.hold(tx, deed.request_id))
        require_allowed(Action.CANCEL, before.state)
        if not await requests.cancel(tx, before, at=now):
            raise not_now(Action.CANCEL, before.state)
        after = present(await requests.find(tx, deed.request_id))
        event = request_cancelled(EventId(self.new_id()), summary_of(after), now=now)
        await changes.record(tx, change_of(deed, before, after, event))
        return render(viewed(after))
