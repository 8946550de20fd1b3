"""Send again all deliveries of a span of time, for a receiver that was away or has lost what it had."""

from collections.abc import Callable
from dataclasses import dataclass

from chamberlain.auth.authorization import Authorization
from chamberlain.rules.actions import Act, KeptAnswer
from chamberlain.rules.callers import Caller
from chamberlain.rules.errors import Fault, NotPossible
from chamberlain.rules.permissions import Operation
from chamberlain.rules.redeliveries import BATCH, DeliverySpan, require_callable, span_redelivered
from chamberlain.shapes.webhooks import callable_url
from chamberlain.store import changes, idempotency, redeliveries, template_records
from chamberlain.store.database import Database, Transaction
from chamberlain.store.notifier import Notifier


@dataclass(frozen=True, slots=True)
class RedeliverSpan:
    """For administrators of the tenant, and applications that configure it. `workers` hear that there is something to
    do."""

    database: Database
    authorization: Authorization
    workers: Notifier
    batch: int = BATCH

    async def __call__(
        self, caller: Caller, span: DeliverySpan, act: Act, render: Callable[[int], bytes]
    ) -> KeptAnswer:
        """What `render` makes of the number of deliveries that are queued again. They are queued batch by batch: what
        was queued before a call was cut short stays so, and the same call may be made again. Raises Forbidden,
        NotPossible for a template that is not there, and Conflict when its webhook is not to be called."""
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        editor = await self.authorization.editor(caller, act)
        async with self.database.transaction(caller.tenant_id) as tx:
            if (kept := await idempotency.find(tx, caller, act.idempotency)) is not None:
                return kept
            await _require_template(tx, span)
            await changes.record(tx, span_redelivered(caller.tenant_id, span, editor))
        count = await self._redeliver(caller, span)

        async def answer() -> bytes:
            return render(count)

        async with self.database.transaction(caller.tenant_id) as tx:
            return await idempotency.once(tx, caller, act.idempotency, answer)

    async def _redeliver(self, caller: Caller, span: DeliverySpan) -> int:
        count, behind = 0, None
        while True:
            async with self.database.transaction(caller.tenant_id) as tx:
                queued = await redeliveries.redeliver_some(tx, span, behind=behind, most=self.batch)
            self.workers.flag()
            count += len(queued.ids)
            if (behind := queued.next) is None:
                return count


async def _require_template(tx: Transaction, span: DeliverySpan) -> None:
    if span.template_id is None:
        return
    template = await template_records.find(tx, span.template_id)
    if template is None:
        detail = f"There is no template {span.template_id}. Leave it out to send again what went to any."
        raise NotPossible((Fault("/templateId", "templateUnknown", detail),))
    require_callable(callable_url(template))
