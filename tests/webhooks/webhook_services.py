# SPDX-License-Identifier: Apache-2.0
"""The webhook service over an estate."""

from uuid import uuid4

from chamberlain.app.clock_and_ids import new_webhook_secret
from chamberlain.template_admin.webhook_secrets import WebhookSecrets
from chamberlain.webhooks.models import Reply, WebhookCall
from chamberlain.webhooks.service import WebhookService
from tests.estates import Estate
from tests.requests.request_services import workers
from tests.template_admin.template_fixture import KEYRING


async def fail_to_send(call: WebhookCall) -> Reply:
    """Fail the test, because it expects no call."""
    raise AssertionError(call.url)


def webhook_service_of(estate: Estate) -> WebhookService:
    """Build the service. Tests replace the parts that they look at."""
    return WebhookService(
        database=estate.databases.application,
        authorization=estate.authorization(),
        secrets=WebhookSecrets(KEYRING, new_webhook_secret, estate.now),
        send=fail_to_send,
        workers=workers(estate),
        new_id=uuid4,
        now=estate.now,
    )
