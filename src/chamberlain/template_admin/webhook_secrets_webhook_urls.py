"""The address of a template's webhook."""

from chamberlain.template_admin.models import TemplateRecord
from chamberlain.templates.webhook import kept_webhook


def callable_url(template: TemplateRecord | None) -> str | None:
    """Where the webhook of a template is to be called; None when it is not, or when the template is gone."""
    if template is None or template.disabled_reason is not None:
        return None
    webhook = kept_webhook(template.stored.content)
    return webhook.url if webhook is not None and webhook.active else None
