"""Create a template."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from uuid import UUID

from msgspec import json

from chamberlain.auth.authorization import Authorization
from chamberlain.directory.port import People
from chamberlain.rules.actions import Act, KeptAnswer
from chamberlain.rules.callers import Caller
from chamberlain.rules.edits import Editor
from chamberlain.rules.errors import Fault, NotPossible
from chamberlain.rules.ids import TemplateId, TenantId
from chamberlain.rules.template_areas import TemplateArea
from chamberlain.rules.template_records import TemplateRecord, created, default_lost, in_area
from chamberlain.shapes.templates import TemplateBody, TemplateShape, identified, stored_template, webhook_of
from chamberlain.shapes.webhooks import WebhookBody
from chamberlain.store import changes, idempotency, template_records, templates
from chamberlain.store.database import Database, Transaction
from chamberlain.store.template_checks import faults_in_directory, faults_in_tenant
from chamberlain.store.webhook_secrets import WebhookSecrets


@dataclass(frozen=True, slots=True)
class CreateTemplate:
    """For administrators of the tenant, and applications that configure it."""

    database: Database
    people: People
    authorization: Authorization
    area: TemplateArea
    secrets: WebhookSecrets
    new_id: Callable[[], UUID]

    async def __call__(
        self, caller: Caller, body: TemplateBody, act: Act, render: Callable[[TemplateRecord], bytes]
    ) -> KeptAnswer:
        """What `render` makes of the template. A secret that was made is in it, and not in what is kept for another
        call with the same key. Raises Forbidden, NotPossible with all faults, and Unavailable."""
        await self.authorization.require(caller, self.area.administer)
        shape = identified(body, TemplateId(self.new_id()))
        order = _Order(
            tenant_id=caller.tenant_id,
            shape=shape,
            webhook=webhook_of(body),
            unknown=await faults_in_directory(self.people, caller.tenant_id, shape),
            editor=await self.authorization.editor(caller, act),
        )

        async def work() -> tuple[bytes, bytes]:
            record = await self._create(tx, order)
            return render(record), render(replace(record, made_secret=None))

        async with self.database.transaction(caller.tenant_id) as tx:
            return await idempotency.once_with_secret(tx, caller, act.idempotency, work)

    async def _create(self, tx: Transaction, order: "_Order") -> TemplateRecord:
        tenant_id, editor = order.tenant_id, order.editor
        await templates.lock(tx, tenant_id)
        if faults := (*await faults_in_tenant(tx, tenant_id, order.shape), *order.unknown):
            raise NotPossible(faults)
        template = stored_template(order.shape, tenant_id)
        if (loser := await templates.losing_default(tx, template)) is not None:
            await changes.record(tx, default_lost(loser.head, editor))
        await templates.put(tx, template, created_by=editor.actor)
        secret = await self.secrets.settle(tx, tenant_id, template.head.id, order.webhook)
        await changes.record(tx, created(template.head, json.decode(template.content), editor, secret))
        record = in_area(await template_records.find(tx, template.head.id), self.area)
        return replace(record, made_secret=secret.made)


@dataclass(frozen=True, slots=True)
class _Order:
    """A template that is wanted, with what the directory has against it."""

    tenant_id: TenantId
    shape: TemplateShape
    webhook: WebhookBody | None
    unknown: tuple[Fault, ...]
    editor: Editor
