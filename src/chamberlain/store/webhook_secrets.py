"""Secrets of webhooks: sealed by the key ring for the template that they belong to, and never shown again."""

from collections.abc import Callable
from dataclasses import dataclass

from chamberlain.rules.ids import TemplateId, TenantId
from chamberlain.rules.webhooks import SecretFate, SettledSecret, fate_of
from chamberlain.shapes.webhooks import WebhookBody
from chamberlain.store.database import Transaction
from chamberlain.store.keyring import Keyring, KeysUnusable

FIND = "SELECT sealed FROM chamberlain.webhook_secret WHERE tenant_id = $1 AND template_id = $2"

# `number` grows with every new secret, so that the template's version is another one.
PUT = """
INSERT INTO chamberlain.webhook_secret AS s (tenant_id, template_id, sealed) VALUES ($1, $2, $3)
ON CONFLICT (tenant_id, template_id) DO UPDATE SET sealed = excluded.sealed, number = s.number + 1, updated_at = now()
"""

DELETE = "DELETE FROM chamberlain.webhook_secret WHERE tenant_id = $1 AND template_id = $2"


async def forget(tx: Transaction, tenant_id: TenantId, template_id: TemplateId) -> None:
    """Remove the secret of a template that has no webhook any more."""
    await tx.execute(DELETE, tenant_id, template_id)


@dataclass(frozen=True, slots=True)
class WebhookSecrets:
    """Keeps the secrets of all tenants; `new_secret` makes one."""

    keyring: Keyring
    new_secret: Callable[[], str]

    async def settle(
        self, tx: Transaction, tenant_id: TenantId, template_id: TemplateId, webhook: WebhookBody | None
    ) -> SettledSecret:
        """Keep, put, make or remove the secret of a template that is there, and whose webhook is this one now."""
        sent = None if webhook is None else webhook.secret
        row = await tx.fetch_row(FIND, tenant_id, template_id)
        sealed = None if row is None else bytes(row["sealed"])
        present = None if sealed is None else self._opened(sealed, tenant_id, template_id)
        fate = fate_of(has_webhook=webhook is not None, sent=sent, present=present)
        made = self.new_secret() if fate is SecretFate.MADE else None
        settled = SettledSecret(fate, was_there=sealed is not None, made=made)
        secret = made or sent
        if settled.is_new and secret is not None:
            sealed = self.keyring.seal(secret.encode("ascii"), _context(tenant_id, template_id))
            await tx.execute(PUT, tenant_id, template_id, sealed)
        if fate is SecretFate.REMOVED:
            await forget(tx, tenant_id, template_id)
        return settled

    def _opened(self, sealed: bytes, tenant_id: TenantId, template_id: TemplateId) -> str:
        """The secret; one whose key is gone counts as there, and is none that anybody can send."""
        try:
            return self.keyring.open(sealed, _context(tenant_id, template_id)).decode("ascii")
        except KeysUnusable:
            return ""


def _context(tenant_id: TenantId, template_id: TemplateId) -> str:
    return f"{tenant_id} webhook_secret {template_id}"
