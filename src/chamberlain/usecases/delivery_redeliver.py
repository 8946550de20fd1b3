"""Send a delivery again, whatever has become of it; its schedule begins anew."""

from collections.abc import Callable
from dataclasses import dataclass

from chamberlain.auth.authorization import Authorization
from chamberlain.rules.actions import Act, KeptAnswer
from chamberlain.rules.callers import Caller
from chamberlain.rules.deliveries import DeliveryRecord
from chamberlain.rules.edits import Editor
from chamberlain.rules.ids import DeliveryId
from chamberlain.rules.permissions import Operation
from chamberlain.rules.redeliveries import present_delivery, redelivered, require_callable
from chamberlain.shapes.webhooks import callable_url
from chamberlain.store import changes, delivery_lists, idempotency, redeliveries, template_records
from chamberlain.store.database import Database, Transaction
from chamberlain.store.notifier import Notifier


@dataclass(frozen=True, slots=True)
class RedeliverDelivery:
    """For administrators of the tenant, and applications that configure it. `workers` hear that there is something to
    do."""

    database: Database
    authorization: Authorization
    workers: Notifier

    async def __call__(
        self, caller: Caller, delivery_id: DeliveryId, act: Act, render: Callable[[DeliveryRecord], bytes]
    ) -> KeptAnswer:
        """What `render` makes of the delivery, which is pending then. Raises Forbidden, NotFound, and Conflict when its
        webhook is not to be called."""
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        editor = await self.authorization.editor(caller, act)

        async def work() -> bytes:
            return render(await _redeliver(tx, delivery_id, editor, act))

        async with self.database.transaction(caller.tenant_id) as tx:
            answer = await idempotency.once(tx, caller, act.idempotency, work)
        self.workers.flag()
        return answer


async def _redeliver(tx: Transaction, delivery_id: DeliveryId, editor: Editor, act: Act) -> DeliveryRecord:
    before = present_delivery(await delivery_lists.find(tx, delivery_id))
    require_callable(callable_url(await template_records.find(tx, before.template_id)))
    await redeliveries.redeliver(tx, delivery_id)
    await changes.record(tx, redelivered(before, editor, act.said))
    return present_delivery(await delivery_lists.find(tx, delivery_id))
