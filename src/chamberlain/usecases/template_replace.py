"""Replace a template, the whole of it; requests that are under way keep the one that they were asked for with."""

from dataclasses import dataclass, replace

from msgspec import json

from chamberlain.auth.authorization import Authorization
from chamberlain.directory.port import People
from chamberlain.rules.callers import Caller
from chamberlain.rules.edits import Edit, Editor, require_match
from chamberlain.rules.errors import NotPossible
from chamberlain.rules.ids import TemplateId
from chamberlain.rules.template_areas import TemplateArea
from chamberlain.rules.template_records import (
    TemplateRecord,
    default_lost,
    disabled,
    in_area,
    kind_faults,
    replaced,
)
from chamberlain.rules.templates import StoredTemplate, TemplateKind
from chamberlain.rules.webhooks import SettledSecret
from chamberlain.shapes.templates import TemplateBody, identified, stored_template, webhook_of
from chamberlain.shapes.webhooks import WebhookBody, kept_webhook
from chamberlain.store import changes, deliveries, template_records, templates, webhook_states
from chamberlain.store.database import Database, Transaction
from chamberlain.store.template_checks import faults_in_directory, faults_in_tenant
from chamberlain.store.webhook_secrets import WebhookSecrets


@dataclass(frozen=True, slots=True)
class ReplaceTemplate:
    """For administrators of the tenant, and applications that configure it."""

    database: Database
    people: People
    authorization: Authorization
    area: TemplateArea
    secrets: WebhookSecrets

    async def __call__(self, caller: Caller, template_id: TemplateId, body: TemplateBody, edit: Edit) -> TemplateRecord:
        """The template as it is then, with the secret of its webhook if one was made. What it says already is neither
        written nor put on record. Raises Forbidden, NotFound, Stale, NotPossible with all faults, and Unavailable."""
        await self.authorization.require(caller, self.area.administer)
        editor = await self.authorization.editor(caller, edit)
        shape, tenant_id = identified(body, template_id), caller.tenant_id
        unknown = await faults_in_directory(self.people, tenant_id, shape)
        async with self.database.transaction(tenant_id) as tx:
            await templates.lock(tx, tenant_id)
            before = in_area(await template_records.find(tx, template_id), self.area)
            require_match(before.etag, edit, "template")
            wrong = (*kind_faults(before, TemplateKind(shape.kind)), *await faults_in_tenant(tx, tenant_id, shape))
            if faults := (*wrong, *unknown):
                raise NotPossible(faults)
            secret = await self.secrets.settle(tx, tenant_id, template_id, webhook_of(body))
            reason = await _enable(tx, before, webhook_of(body))
            await _replace(
                tx, before.stored, stored_template(shape, tenant_id), editor, secret=secret, disabled_reason=reason
            )
            if (webhook := webhook_of(body)) is None or not webhook.active:
                await deliveries.cancel_pending(tx, tenant_id, template_id)
            record = in_area(await template_records.find(tx, template_id), self.area)
            return replace(record, made_secret=secret.made)


async def _enable(tx: Transaction, before: TemplateRecord, webhook: WebhookBody | None) -> str | None:
    """Have a disabled webhook called again that is put as an active one; gives why it was disabled, None where it was
    not. What is known of one that goes, or of the address that it had, is forgotten."""
    if webhook is not None and not webhook.active:
        return None
    was = kept_webhook(before.stored.content)
    if before.disabled_reason is None and webhook is not None and was is not None and was.url == webhook.url:
        return None
    await webhook_states.enable(tx, before.stored.head.tenant_id, before.stored.head.id)
    return before.disabled_reason


async def _replace(
    tx: Transaction,
    before: StoredTemplate,
    after: StoredTemplate,
    editor: Editor,
    *,
    secret: SettledSecret,
    disabled_reason: str | None,
) -> None:
    loser = await templates.losing_default(tx, after)
    is_new = await templates.put(tx, after, created_by=editor.actor)
    if not is_new and not secret.has_changed and disabled_reason is None:
        return
    if loser is not None:
        await changes.record(tx, default_lost(loser.head, editor))
    was, becomes = disabled(json.decode(before.content), disabled_reason), json.decode(after.content)
    await changes.record(tx, replaced(after.head, was, becomes, editor=editor, secret=secret))
