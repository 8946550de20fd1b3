"""Give the webhook of a template a new secret; the one before signs as well for a day."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from chamberlain.auth.authorization import Authorization
from chamberlain.rules.actions import Act, KeptAnswer
from chamberlain.rules.callers import Caller
from chamberlain.rules.edits import Editor
from chamberlain.rules.ids import TemplateId
from chamberlain.rules.template_areas import TemplateArea
from chamberlain.rules.template_records import RotatedWebhook, in_area, secret_rotated
from chamberlain.rules.webhooks import no_webhook
from chamberlain.shapes.webhooks import kept_webhook
from chamberlain.store import changes, idempotency, template_records, templates
from chamberlain.store.database import Database, Transaction
from chamberlain.store.webhook_secrets import WebhookSecrets


@dataclass(frozen=True, slots=True)
class RotateWebhook:
    """For administrators of the tenant, and applications that configure it."""

    database: Database
    authorization: Authorization
    area: TemplateArea
    secrets: WebhookSecrets

    async def __call__(
        self, caller: Caller, template_id: TemplateId, act: Act, render: Callable[[RotatedWebhook], bytes]
    ) -> KeptAnswer:
        """What `render` makes of it. The secret is in it, and not in what is kept for another call with the same key.
        Raises Forbidden, and NotFound for a template without a webhook too."""
        await self.authorization.require(caller, self.area.administer)
        editor = await self.authorization.editor(caller, act)

        async def work() -> tuple[bytes, bytes]:
            await templates.lock(tx, caller.tenant_id)
            rotated = await self._rotate(tx, template_id, editor, act)
            to_keep = replace(rotated, record=replace(rotated.record, made_secret=None))
            return render(rotated), render(to_keep)

        async with self.database.transaction(caller.tenant_id) as tx:
            return await idempotency.once_with_secret(tx, caller, act.idempotency, work)

    async def _rotate(self, tx: Transaction, template_id: TemplateId, editor: Editor, act: Act) -> RotatedWebhook:
        before = in_area(await template_records.find(tx, template_id), self.area)
        head = before.stored.head
        if kept_webhook(before.stored.content) is None:
            raise no_webhook()
        secret = await self.secrets.rotate(tx, head.tenant_id, template_id)
        was_there = before.secret_number is not None
        await changes.record(tx, secret_rotated(head, editor, act.said, was_there=was_there))
        after = in_area(await template_records.find(tx, template_id), self.area)
        return RotatedWebhook(replace(after, made_secret=secret.made), secret.previous_until)
