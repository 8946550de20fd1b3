"""The service of templates."""

from chamberlain.bootstrap.means import Means
from chamberlain.bootstrap.origins import new_id, new_webhook_secret, now
from chamberlain.store.webhook_secrets import WebhookSecrets
from chamberlain.template_admin.service import TemplateService


def template_service(means: Means) -> TemplateService:
    """Build the service that the API calls."""
    secrets = WebhookSecrets(means.keyring, new_webhook_secret, now)
    return TemplateService(means.database, means.authorization, means.people, secrets, new_id)
