"""Call the webhook of a template once, with a test event, and tell what came back."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from msgspec import json

from chamberlain.auth.authorization import Authorization
from chamberlain.rules.actions import Act, KeptAnswer
from chamberlain.rules.callers import Caller
from chamberlain.rules.deliveries import Attempt, Reply, WebhookCall
from chamberlain.rules.ids import EventId, TemplateId
from chamberlain.rules.template_areas import TemplateArea
from chamberlain.rules.template_records import in_area
from chamberlain.rules.templates import TemplateHead
from chamberlain.rules.webhook_tests import no_secret, only_attempt, payload_of_test, tested
from chamberlain.rules.webhooks import no_webhook
from chamberlain.shapes.webhooks import kept_webhook
from chamberlain.store import changes, idempotency, template_records, webhook_secrets
from chamberlain.store.database import Database, Transaction
from chamberlain.store.keyring import Keyring

Send = Callable[[WebhookCall], Awaitable[Reply]]


@dataclass(frozen=True, slots=True)
class CallWebhook:
    """For administrators of the tenant, and applications that configure it. `send` makes the call, within its time-out
    and to no address that may not be called; whatever goes wrong is in its reply."""

    database: Database
    authorization: Authorization
    area: TemplateArea
    keyring: Keyring
    send: Send
    new_id: Callable[[], UUID]
    now: Callable[[], datetime]

    async def __call__(
        self, caller: Caller, template_id: TemplateId, act: Act, render: Callable[[Attempt], bytes]
    ) -> KeptAnswer:
        """What `render` makes of the attempt. A webhook that is not active is called too, so that it can be tried
        first. No transaction is open over the call. Raises Forbidden, NotFound for a template without a webhook too,
        and Conflict when there is nothing to sign with."""
        await self.authorization.require(caller, self.area.administer)
        editor = await self.authorization.editor(caller, act)
        async with self.database.transaction(caller.tenant_id) as tx:
            if (kept := await idempotency.find(tx, caller, act.idempotency)) is not None:
                return kept
            prepared = await self._prepare(tx, template_id, act)
        attempt = only_attempt(await self.send(prepared.call))

        async def work() -> bytes:
            await changes.record(tx, tested(prepared.head, prepared.call.url, attempt, editor))
            return render(attempt)

        async with self.database.transaction(caller.tenant_id) as tx:
            return await idempotency.once(tx, caller, act.idempotency, work)

    async def _prepare(self, tx: Transaction, template_id: TemplateId, act: Act) -> "_Prepared":
        record = in_area(await template_records.find(tx, template_id), self.area)
        head, webhook = record.stored.head, kept_webhook(record.stored.content)
        if webhook is None:
            raise no_webhook()
        key, now = (head.tenant_id, head.id), self.now()
        secrets = (await webhook_secrets.signing(tx, self.keyring, [key], now=now))[key].values
        if not secrets:
            raise no_secret()
        payload = json.encode(payload_of_test(head, now))
        return _Prepared(head, WebhookCall(webhook.url, EventId(self.new_id()), payload, secrets, act.trace_id))


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A call that is to be made, for a template."""

    head: TemplateHead
    call: WebhookCall
