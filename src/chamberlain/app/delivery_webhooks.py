"""The sender of webhooks, and the job that delivers."""

import random
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from chamberlain.app.clock_and_ids import new_id, new_webhook_secret, now
from chamberlain.app.dependencies import WorkMeans
from chamberlain.database.clock import decision_time
from chamberlain.observability.metrics import delivery_run
from chamberlain.secrets.keyring import load_keyring
from chamberlain.settings import Settings
from chamberlain.template_admin.webhook_secrets import WebhookSecrets
from chamberlain.webhooks.addresses_names import Resolver
from chamberlain.webhooks.jobs import DeliverWebhooks
from chamberlain.webhooks.sender import Send, Sender as WebhookSender


@asynccontextmanager
async def webhook_sender(settings: Settings) -> AsyncIterator[WebhookSender]:
    """Open a sender for as long as the block runs."""
    sender = WebhookSender(
        resolve=Resolver(),
        allowed_networks=settings.allowed_networks,
        allow_http=settings.webhook_allow_http,
        trust=ssl.create_default_context(),
        now=now,
    )
    try:
        yield sender
    finally:
        await sender.close()


def webhook_work(means: WorkMeans, send: Send) -> DeliverWebhooks:
    """Build the handler of deliveries. Raises KeysUnusable."""
    return DeliverWebhooks(
        database=means.database,
        send=send,
        secrets=WebhookSecrets(load_keyring(means.settings.keys_file), new_webhook_secret, now),
        new_id=new_id,
        now=now,
        decision_time=decision_time,
        jitter=random.random,
        observe=delivery_run,
    )
