"""The use cases of webhooks, for the templates of one area."""

from chamberlain.api.services import Webhooks
from chamberlain.bootstrap.means import Means
from chamberlain.bootstrap.origins import new_webhook_secret, now
from chamberlain.rules.template_areas import TemplateArea
from chamberlain.store.webhook_secrets import WebhookSecrets
from chamberlain.usecases.webhook_rotate import RotateWebhook


def webhook_services(means: Means, area: TemplateArea) -> Webhooks:
    """What the API may ask to be done with the webhooks of an area. The key ring seals their secrets."""
    secrets = WebhookSecrets(means.keyring, new_webhook_secret, now)
    return Webhooks(rotate=RotateWebhook(means.database, means.callers, means.prefixes, area, secrets))
