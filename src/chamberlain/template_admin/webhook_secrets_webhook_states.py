"""How webhooks get on: since when one fails, and whether it is called no more. A webhook that gets on has no row."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from chamberlain.core.ids import TemplateId, TenantId
from chamberlain.database.transactions import Transaction
from chamberlain.templates.webhook_webhooks import WebhookKey

# Those that are to be called, and at this address still. Who gives a webhook another one, or takes it away, is waited
# for, or waits.
STILL_AT: Final = """
SELECT t.tenant_id, t.template_id FROM unnest($1::uuid[], $2::uuid[], $3::text[]) AS w (tenant_id, template_id, url)
JOIN chamberlain.template t ON t.tenant_id = w.tenant_id AND t.template_id = w.template_id
JOIN chamberlain.template_revision r
    ON r.tenant_id = t.tenant_id AND r.template_id = t.template_id AND r.revision = t.revision
WHERE chamberlain.clean(r.content) #>> '{webhook,url}' = w.url
    AND chamberlain.clean(r.content) #>> '{webhook,active}' = 'true'
ORDER BY t.tenant_id, t.template_id FOR SHARE OF t
"""

# The first failure says since when; the template is held, so that it is not removed meanwhile.
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
    """Those of these that are called at this address until the transaction ends."""
    rows = await tx.fetch(STILL_AT, *_columns(list(urls)), list(urls.values())) if urls else ()
    return frozenset((TenantId(row["tenant_id"]), TemplateId(row["template_id"])) for row in rows)


async def fail(tx: Transaction, webhooks: Sequence[WebhookKey], *, at: datetime) -> Mapping[WebhookKey, datetime]:
    """Note that calls of these have failed; since when they do. One whose template is gone is not in the answer."""
    rows = await tx.fetch(FAIL, *_columns(webhooks), at) if webhooks else ()
    return {(TenantId(row["tenant_id"]), TemplateId(row["template_id"])): row["failing_since"] for row in rows}


async def recover(tx: Transaction, webhooks: Sequence[WebhookKey]) -> None:
    """Note that calls of these have succeeded."""
    if webhooks:
        await tx.execute(RECOVER, *_columns(webhooks))


async def disable(tx: Transaction, webhook: WebhookKey, *, reason: str, at: datetime) -> str | None:
    """Call a webhook that has failed no more, until somebody enables it; the name of its template, None when that is
    nothing new."""
    row = await tx.fetch_row(DISABLE, *webhook, at, reason)
    return None if row is None else str(row["name"])


async def enable(tx: Transaction, tenant_id: TenantId, template_id: TemplateId) -> None:
    """Call a webhook again, as if nothing had been wrong with it."""
    await tx.execute(ENABLE, tenant_id, template_id)


def _columns(webhooks: Sequence[WebhookKey]) -> tuple[list[TenantId], list[TemplateId]]:
    return [tenant for tenant, _ in webhooks], [template for _, template in webhooks]
