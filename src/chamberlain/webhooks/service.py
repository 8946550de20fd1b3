# SPDX-License-Identifier: Apache-2.0
"""Administer deliveries of webhooks, their secrets, and test calls."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from msgspec import json

from chamberlain.auth.authorization import Authorization
from chamberlain.auth.models import Caller, Editor
from chamberlain.auth.permissions import Operation
from chamberlain.changes.records import record_change
from chamberlain.core.errors import Fault, NotPossible
from chamberlain.core.idempotency import Act, KeptAnswer
from chamberlain.core.ids import DeliveryId, EventId, TemplateId
from chamberlain.core.paging import Page, PageWanted
from chamberlain.database.notify import Notifier
from chamberlain.database.transactions import Database, Transaction
from chamberlain.http import idempotency
from chamberlain.template_admin import records as template_admin_records
from chamberlain.template_admin import webhook_secrets
from chamberlain.template_admin.models import RotatedWebhook, TemplateArea, in_area, no_webhook, secret_rotated
from chamberlain.template_admin.webhook_secrets import WebhookSecrets
from chamberlain.template_admin.webhook_state import callable_url
from chamberlain.templates import records as template_records
from chamberlain.templates.models import TemplateHead
from chamberlain.templates.webhook import kept_webhook
from chamberlain.webhooks import store
from chamberlain.webhooks.models import BATCH, Attempt, DeliveryFilter, DeliveryRecord, DeliverySpan, WebhookCall
from chamberlain.webhooks.rules import (
    build_test_attempt,
    build_test_change,
    build_test_payload,
    no_secret,
    present_delivery,
    redelivery_change,
    require_callable,
    span_redelivery_change,
)
from chamberlain.webhooks.sender import Send


@dataclass(slots=True)
class WebhookService:
    """List and repeat the deliveries of a tenant, rotate secrets, send tests.

    Every method raises Forbidden for callers without the permission. It raises Unavailable if the directory does not
    answer whether the caller is an administrator. `workers` are notified of new jobs. `batch` is the number of
    deliveries that one transaction queues.
    """

    database: Database
    authorization: Authorization
    secrets: WebhookSecrets
    send: Send
    workers: Notifier
    new_id: Callable[[], UUID]
    now: Callable[[], datetime]
    batch: int = BATCH

    async def list_deliveries(self, caller: Caller, wanted: DeliveryFilter, page: PageWanted) -> Page[DeliveryRecord]:
        """List deliveries, newest first."""
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        async with self.database.transaction(caller.tenant_id) as tx:
            return await store.find_page(tx, wanted, page)

    async def redeliver(
        self, caller: Caller, delivery_id: DeliveryId, act: Act, render: Callable[[DeliveryRecord], bytes]
    ) -> KeptAnswer:
        """Send a delivery again and return the answer that `render` builds.

        Its state does not matter, and its retry schedule starts again. Raises NotFound. Raises Conflict if its webhook
        is missing, inactive or disabled.
        """
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        editor = await self.authorization.editor(caller, act)

        async def work() -> bytes:
            before = present_delivery(await store.find(tx, delivery_id))
            require_callable(callable_url(await template_admin_records.find(tx, before.template_id)))
            await store.redeliver(tx, delivery_id)
            await record_change(tx, redelivery_change(before, editor, act.said))
            return render(present_delivery(await store.find(tx, delivery_id)))

        async with self.database.transaction(caller.tenant_id) as tx:
            answer = await idempotency.once(tx, caller, act.idempotency, work)
        self.workers.flag()
        return answer

    async def redeliver_span(
        self, caller: Caller, span: DeliverySpan, act: Act, render: Callable[[int], bytes]
    ) -> KeptAnswer:
        """Send all deliveries of a span again.

        Returns the answer that `render` builds from their number. They are queued in batches. An interrupted call may
        be retried. Raises NotPossible for an unknown template. Raises Conflict if its webhook is missing, inactive or
        disabled.
        """
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        editor = await self.authorization.editor(caller, act)
        async with self.database.transaction(caller.tenant_id) as tx:
            if (kept := await idempotency.find(tx, caller, act.idempotency)) is not None:
                return kept
            await _require_template(tx, span)
            await record_change(tx, span_redelivery_change(caller.tenant_id, span, editor))
        count = await self._queue_span(caller, span)

        async def answer() -> bytes:
            return render(count)

        async with self.database.transaction(caller.tenant_id) as tx:
            return await idempotency.once(tx, caller, act.idempotency, answer)

    async def rotate_secret(
        self,
        caller: Caller,
        template_id: TemplateId,
        act: Act,
        render: Callable[[RotatedWebhook], bytes],
        *,
        area: TemplateArea,
    ) -> KeptAnswer:
        """Create a new secret and return the answer that `render` builds.

        The previous secret stays valid for a day. The stored idempotent answer has no secret. Raises NotFound, even for
        a template without a webhook.
        """
        await self.authorization.require(caller, area.administer)
        editor = await self.authorization.editor(caller, act)

        async def work() -> tuple[bytes, bytes]:
            await template_records.lock(tx, caller.tenant_id)
            rotated = await self._rotate(tx, template_id, editor, act, area=area)
            to_keep = replace(rotated, record=replace(rotated.record, made_secret=None))
            return render(rotated), render(to_keep)

        async with self.database.transaction(caller.tenant_id) as tx:
            return await idempotency.once_with_secret(tx, caller, act.idempotency, work)

    async def send_test(
        self,
        caller: Caller,
        template_id: TemplateId,
        act: Act,
        render: Callable[[Attempt], bytes],
        *,
        area: TemplateArea,
    ) -> KeptAnswer:
        """Send a test event and return the answer that `render` builds.

        The webhook may be inactive. No transaction is open during the call. Raises NotFound, even for a template
        without a webhook. Raises Conflict if there is no secret to sign with.
        """
        await self.authorization.require(caller, area.administer)
        editor = await self.authorization.editor(caller, act)
        async with self.database.transaction(caller.tenant_id) as tx:
            if (kept := await idempotency.find(tx, caller, act.idempotency)) is not None:
                return kept
            prepared = await self._prepare_test(tx, template_id, act, area=area)
        attempt = build_test_attempt(await self.send(prepared.call))

        async def work() -> bytes:
            await record_change(tx, build_test_change(prepared.head, prepared.call.url, attempt, editor))
            return render(attempt)

        async with self.database.transaction(caller.tenant_id) as tx:
            return await idempotency.once(tx, caller, act.idempotency, work)

    async def _queue_span(self, caller: Caller, span: DeliverySpan) -> int:
        count, after = 0, None
        while True:
            async with self.database.transaction(caller.tenant_id) as tx:
                queued = await store.redeliver_batch(tx, span, after=after, limit=self.batch)
            self.workers.flag()
            count += len(queued.ids)
            if (after := queued.next) is None:
                return count

    async def _rotate(
        self, tx: Transaction, template_id: TemplateId, editor: Editor, act: Act, *, area: TemplateArea
    ) -> RotatedWebhook:
        before = in_area(await template_admin_records.find(tx, template_id), area)
        head = before.stored.head
        if kept_webhook(before.stored.content) is None:
            raise no_webhook()
        secret = await self.secrets.rotate(tx, head.tenant_id, template_id)
        was_there = before.secret_number is not None
        await record_change(tx, secret_rotated(head, editor, act.said, was_there=was_there))
        after = in_area(await template_admin_records.find(tx, template_id), area)
        return RotatedWebhook(replace(after, made_secret=secret.made), secret.previous_until)

    async def _prepare_test(
        self, tx: Transaction, template_id: TemplateId, act: Act, *, area: TemplateArea
    ) -> "_TestCall":
        record = in_area(await template_admin_records.find(tx, template_id), area)
        head, webhook = record.stored.head, kept_webhook(record.stored.content)
        if webhook is None:
            raise no_webhook()
        key, now = (head.tenant_id, head.id), self.now()
        secrets = (await webhook_secrets.signing(tx, self.secrets.keyring, [key], now=now))[key].values
        if not secrets:
            raise no_secret()
        payload = json.encode(build_test_payload(head, now))
        return _TestCall(head, WebhookCall(webhook.url, EventId(self.new_id()), payload, secrets, act.trace_id))


@dataclass(frozen=True, slots=True)
class _TestCall:
    """A test call for the webhook of a template."""

    head: TemplateHead
    call: WebhookCall


async def _require_template(tx: Transaction, span: DeliverySpan) -> None:
    if span.template_id is None:
        return
    template = await template_admin_records.find(tx, span.template_id)
    if template is None:
        sentence = "There is no template {template}. Leave it out to repeat the deliveries of all templates."
        fault = Fault.build("/templateId", "templateUnknown", sentence, template=str(span.template_id))
        raise NotPossible((fault,))
    require_callable(callable_url(template))
