"""Retry a failed request: it is queued once more and goes on at the step that failed."""

from collections.abc import Callable
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
from chamberlain.rules.ids import RequestId
from chamberlain.rules.jobs import job_kind_of
from chamberlain.rules.permissions import Operation, ScopePrefixes, require
from chamberlain.rules.steps import restart
from chamberlain.store import changes, idempotency, jobs, requests
from chamberlain.store.callers import Callers
from chamberlain.store.database import Database, Transaction
from chamberlain.store.notifier import Notifier


@dataclass(frozen=True, slots=True)
class RetryRequest:
    """For those whose request it is, and for administrators. `workers` hear that there is something to do, `watchers`
    that the request has changed."""

    database: Database
    callers: Callers
    prefixes: ScopePrefixes
    workers: Notifier
    watchers: Notifier
    now: Callable[[], datetime]

    async def __call__(
        self, caller: Caller, request_id: RequestId, act: Act, render: Callable[[RequestView], bytes]
    ) -> KeptAnswer:
        """What `render` makes of the queued request. Raises NotFound, Forbidden, and Conflict when it has not
        failed."""
        allowance = require(caller, Operation.CANCEL_OR_RETRY_REQUEST, self.prefixes)
        async with self.database.transaction(caller.tenant_id) as tx:
            record = await requests.find(tx, request_id)
        await self.callers.require_visible(caller, allowance, record)
        deed = Deed(Action.RETRY, caller.client_id, await self.callers.actor(caller), act, request_id)
        async with self.database.transaction(caller.tenant_id) as tx:
            answer = await idempotency.once(tx, caller, act.idempotency, lambda: self._retry(tx, deed, render))
        self.workers.flag()
        self.watchers.tell((request_id,))
        return answer

    async def _retry(self, tx: Transaction, deed: Deed, render: Callable[[RequestView], bytes]) -> bytes:
        before = present(await requests.hold(tx, deed.request_id))
        require_allowed(Action.RETRY, before.state)
        if not await requests.retry(tx, before, steps=restart(before.steps), at=self.now()):
            raise not_now(Action.RETRY, before.state)
        after = present(await requests.find(tx, deed.request_id))
        await jobs.queue(tx, job_kind_of(before.kind), before.request_id, deed.act.trace_id)
        await changes.record(tx, change_of(deed, before, after, None))
        return render(viewed(after))
