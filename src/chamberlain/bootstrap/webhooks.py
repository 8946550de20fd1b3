"""The use cases of webhooks: those of the templates of one area, and the one that calls them."""

import random
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from chamberlain.api.administration import Webhooks
from chamberlain.bootstrap.means import Means, WorkMeans
from chamberlain.bootstrap.origins import new_id, new_webhook_secret, now
from chamberlain.metrics import delivery_run
from chamberlain.rules.template_areas import TemplateArea
from chamberlain.settings import Settings
from chamberlain.store.clocks import decision_time
from chamberlain.store.keyring import load_keyring
from chamberlain.store.webhook_secrets import WebhookSecrets
from chamberlain.usecases.webhook_deliver import DeliverWebhooks, Send
from chamberlain.usecases.webhook_rotate import RotateWebhook
from chamberlain.usecases.webhook_test import CallWebhook
from chamberlain.webhooks.names import Resolver
from chamberlain.webhooks.send import Sender


def webhook_services(means: Means, area: TemplateArea) -> Webhooks:
    """What the API may ask to be done with the webhooks of an area. The key ring seals their secrets."""
    secrets = WebhookSecrets(means.keyring, new_webhook_secret, now)
    return Webhooks(
        rotate=RotateWebhook(means.database, means.authorization, area, secrets),
        test=CallWebhook(
            database=means.database,
            authorization=means.authorization,
            area=area,
            keyring=means.keyring,
            send=means.send,
            new_id=new_id,
            now=now,
        ),
    )


@asynccontextmanager
async def webhook_sender(settings: Settings) -> AsyncIterator[Sender]:
    """Calls webhooks, for as long as the block runs."""
    sender = Sender(
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
    """Delivers what webhooks are to be told. Raises KeysUnusable."""
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
