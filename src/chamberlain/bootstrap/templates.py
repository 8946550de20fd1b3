"""The use cases of templates, for one area."""

from chamberlain.api.administration import Templates
from chamberlain.bootstrap.origins import new_id, new_webhook_secret, now
from chamberlain.directory.port import People
from chamberlain.rules.permissions import ScopePrefixes
from chamberlain.rules.template_areas import TemplateArea
from chamberlain.store.callers import Callers
from chamberlain.store.database import Database
from chamberlain.store.keyring import Keyring
from chamberlain.store.webhook_secrets import WebhookSecrets
from chamberlain.usecases.template_create import CreateTemplate
from chamberlain.usecases.template_delete import DeleteTemplate
from chamberlain.usecases.template_list import ListTemplates
from chamberlain.usecases.template_offer import OfferTemplates
from chamberlain.usecases.template_read import ReadTemplate
from chamberlain.usecases.template_replace import ReplaceTemplate


def template_services(
    area: TemplateArea,
    database: Database,
    callers: Callers,
    people: People,
    *,
    prefixes: ScopePrefixes,
    keyring: Keyring,
) -> Templates:
    """What the API may ask about the templates of an area. The key ring seals the secrets of their webhooks."""
    secrets = WebhookSecrets(keyring, new_webhook_secret, now)
    return Templates(
        list=ListTemplates(database, callers, prefixes, area),
        create=CreateTemplate(
            database=database,
            people=people,
            callers=callers,
            prefixes=prefixes,
            area=area,
            secrets=secrets,
            new_id=new_id,
        ),
        read=ReadTemplate(database, callers, prefixes, area),
        replace=ReplaceTemplate(
            database=database, people=people, callers=callers, prefixes=prefixes, area=area, secrets=secrets
        ),
        delete=DeleteTemplate(database, callers, prefixes, area),
        offer=OfferTemplates(database, people, callers, prefixes, area),
    )
