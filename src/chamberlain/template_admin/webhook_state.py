"""State of webhooks: failing since, disabled, or enabled again."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from chamberlain.core.ids import TemplateId, TenantId
from chamberlain.database.transactions import Transaction
from chamberlain.template_admin.models import TemplateRecord
from chamberlain.templates.models import (
    WebhookKey,
)
from chamberlain.templates.webhook import kept_webhook

# Webhooks that are active and still have this URL. The lock serializes with changes of the template.
STILL_AT: Final = """
SELECT t.tenant_id, t.template_id FROM unnest($1::uuid[], $2::uuid[], $3::text[]) AS w (tenant_id, template_id, url)
JOIN chamberlain.template t ON t.tenant_id = w.tenant_id AND t.template_id = w.template_id
JOIN chamberlain.template_revision r
    ON r.tenant_id = t.tenant_id AND r.template_id = t.template_id AND r.revision = t.revision
WHERE chamberlain.clean(r.content) #>> '{webhook,url}' = w.url
    AND chamberlain.clean(r.content) #>> '{webhook,active}' = 'true'
ORDER BY t.tenant_id, t.template_id FOR SHARE OF t
"""

# Keeps the time of the first failure. Locks the template against deletion.
FAIL: Final = """
INSERT INTO chamberlain.webhook_state AS s (tenant_id, template_id, failing_since)
SELECT t.tenant_id, t.template_id, $3 FROM chamberlain.template t
JOIN (SELECT DISTINCT tenant_id, template_id FROM unnest($1::uuid[], $2::uuid[]) AS w (tenant_id, template_id)) w
    USING (tenant_id, template_id)
ORDER BY t.tenant_id, t.template_id FOR KEY SHARE OF t
ON CONFLICT (tenant_id, template_id) DO UPDATE SET failing_since = coalesce(s.failing_since, excluded.failing_since)
RETURNING s.tenant_id, s.template_id, s.failing_since
"""

RECOVER: Final = """
DELETE FROM chamberlain.webhook_state WHERE ctid = ANY (ARRAY(
    SELECT s.ctid FROM unnest($1::uuid[], $2::uuid[]) AS w (tenant_id, template_id)
    JOIN chamberlain.webhook_state s ON s.tenant_id = w.tenant_id AND s.template_id = w.template_id
    WHERE s.disabled_at IS NULL ORDER BY s.tenant_id, s.template_id FOR UPDATE OF s
))
"""

DISABLE: Final = """
WITH disabled AS (
    UPDATE chamberlain.webhook_state SET disabled_at = $3, disabled_reason = $4
    WHERE tenant_id = $1 AND template_id = $2 AND disabled_at IS NULL
    RETURNING tenant_id, template_id
)
SELECT chamberlain.clean(r.content) ->> 'name' AS name
FROM disabled JOIN chamberlain.template t USING (tenant_id, template_id)
JOIN chamberlain.template_revision r USING (tenant_id, template_id, revision)
"""

ENABLE: Final = "DELETE FROM chamberlain.webhook_state WHERE tenant_id = $1 AND template_id = $2"


async def still_at(tx: Transaction, urls: Mapping[WebhookKey, str]) -> frozenset[WebhookKey]:
    """Return the webhooks that keep this URL until the transaction ends."""
    rows = await tx.fetch(STILL_AT, *_columns(list(urls)), list(urls.values())) if urls else ()
    return frozenset((TenantId(row["tenant_id"]), TemplateId(row["template_id"])) for row in rows)


async def fail(tx: Transaction, webhooks: Sequence[WebhookKey], *, at: datetime) -> Mapping[WebhookKey, datetime]:
    """Record failed calls, and return since when each webhook fails.

    Webhooks whose template is deleted are left out.
    """
    rows = await tx.fetch(FAIL, *_columns(webhooks), at) if webhooks else ()
    return {(TenantId(row["tenant_id"]), TemplateId(row["template_id"])): row["failing_since"] for row in rows}


async def recover(tx: Transaction, webhooks: Sequence[WebhookKey]) -> None:
    """Record successful calls."""
    if webhooks:
        await tx.execute(RECOVER, *_columns(webhooks))


async def disable(tx: Transaction, webhook: WebhookKey, *, reason: str, at: datetime) -> str | None:
    """Disable a failing webhook. Returns the name of its template, None if it was disabled already."""
    row = await tx.fetch_row(DISABLE, *webhook, at, reason)
    return None if row is None else str(row["name"])


async def enable(tx: Transaction, tenant_id: TenantId, template_id: TemplateId) -> None:
    """Enable a webhook and reset its failure state."""
    await tx.execute(ENABLE, tenant_id, template_id)


def callable_url(template: TemplateRecord | None) -> str | None:
    """Return the URL of an active webhook that is not disabled, else None."""
    if template is None or template.disabled_reason is not None:
        return None
    webhook = kept_webhook(template.stored.content)
    return webhook.url if webhook is not None and webhook.active else None


def _columns(webhooks: Sequence[WebhookKey]) -> tuple[list[TenantId], list[TemplateId]]:
    return [tenant for tenant, _ in webhooks], [template for _, template in webhooks]
