"""Webhooks: whether their addresses could be called from here, and how they get on."""

import asyncio
from collections.abc import Sequence

from chamberlain.app.doctor.checks_looks import look
from chamberlain.app.doctor.database import Opened
from chamberlain.app.doctor.store import webhook_targets
from chamberlain.core.checkups import Checkup
from chamberlain.database.transactions import Transaction
from chamberlain.webhooks.addresses_names import Resolver
from chamberlain.webhooks.models_webhook_targets import WebhookTarget, judge_targets
from chamberlain.webhooks.sender_inspect import reach_of


async def look_at_webhooks(opened: Opened) -> Sequence[Checkup]:
    """Of all tenants. Names are looked up when the database has been left, for that may take its time."""
    targets: list[WebhookTarget] = []

    async def read(tx: Transaction) -> Sequence[Checkup]:
        targets.extend(await webhook_targets(tx))
        return ()

    faults = await look("webhooks", opened.worker, read)
    if faults or opened.worker is None:
        return faults
    settings, resolve = opened.settings, Resolver()
    urls = sorted({target.url for target in targets if target.active})
    reaches = await asyncio.gather(
        *(
            reach_of(url, resolve, allowed=settings.allowed_networks, allow_http=settings.webhook_allow_http)
            for url in urls
        )
    )
    return judge_targets(targets, dict(zip(urls, reaches, strict=True)))
