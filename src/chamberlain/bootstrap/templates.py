"""The use cases of templates, for one area."""

from chamberlain.api.administration import Templates
from chamberlain.auth.authorization import Authorization
from chamberlain.bootstrap.origins import new_id, new_webhook_secret, now
from chamberlain.directory.port import People
from chamberlain.rules.template_areas import TemplateArea
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
    authorization: Authorization,
    people: People,
    *,
    keyring: Keyring,
) -> Templates:
    """What the API may ask about the templates of an area. The key ring seals the secrets of their webhooks."""
    secrets = WebhookSecrets(keyring, new_webhook_secret, now)
    return Templates(
        list=ListTemplates(database, authorization, area),
        create=CreateTemplate(
            database=database,
            people=people,
            authorization=authorization,
            area=area,
            secrets=secrets,
            new_id=new_id,
        ),
        read=ReadTemplate(database, authorization, area),
        replace=ReplaceTemplate(
            database=database, people=people, authorization=authorization, area=area, secrets=secrets
        ),
        delete=DeleteTemplate(database, authorization, area),
        offer=OfferTemplates(database, people, authorization, area),
    )
