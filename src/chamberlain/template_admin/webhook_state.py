# SPDX-License-Identifier: Apache-2.0
"""State of webhooks: failing since, disabled, or enabled again."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from chamberlain.core.ids import TemplateId, TenantId
from chamberlain.database.transactions import Transaction
from chamberlain.queries import load_queries
from chamberlain.template_admin.models import TemplateRecord, WebhookKey
from chamberlain.templates.webhook import kept_webhook

SQL = load_queries(__name__)


async def still_at(tx: Transaction, urls: Mapping[WebhookKey, str]) -> frozenset[WebhookKey]:
    """Return the webhooks that keep this URL until the transaction ends."""
    rows = await tx.fetch(SQL["still_at"], *_columns(list(urls)), list(urls.values())) if urls else ()
    return frozenset((TenantId(row["tenant_id"]), TemplateId(row["template_id"])) for row in rows)


async def fail(tx: Transaction, webhooks: Sequence[WebhookKey], *, at: datetime) -> Mapping[WebhookKey, datetime]:
    """Record failed calls, and return since when each webhook fails.

    Webhooks whose template is deleted are left out.
    """
    rows = await tx.fetch(SQL["fail"], *_columns(webhooks), at) if webhooks else ()
    return {(TenantId(row["tenant_id"]), TemplateId(row["template_id"])): row["failing_since"] for row in rows}


async def recover(tx: Transaction, webhooks: Sequence[WebhookKey]) -> None:
    """Record successful calls."""
    if webhooks:
        await tx.execute(SQL["recover"], *_columns(webhooks))


async def disable(tx: Transaction, webhook: WebhookKey, *, reason: str, at: datetime) -> str | None:
    """Disable a failing webhook. Returns the name of its template.

    Returns None if it was disabled already.
    """
    row = await tx.fetch_row(SQL["disable"], *webhook, at, reason)
    return None if row is None else str(row["name"])


async def enable(tx: Transaction, tenant_id: TenantId, template_id: TemplateId) -> None:
    """Enable a webhook and reset its failure state."""
    await tx.execute(SQL["enable"], tenant_id, template_id)


def callable_url(template: TemplateRecord | None) -> str | None:
    """Return the URL of an active, enabled webhook, else None."""
    if template is None or template.disabled_reason is not None:
        return None
    webhook = kept_webhook(template.stored.content)
    return webhook.url if webhook is not None and webhook.active else None


def _columns(webhooks: Sequence[WebhookKey]) -> tuple[list[TenantId], list[TemplateId]]:
    return [tenant for tenant, _ in webhooks], [template for _, template in webhooks]
