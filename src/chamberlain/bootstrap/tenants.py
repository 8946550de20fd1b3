"""The tenant of a caller."""

from chamberlain.api.administration import OwnTenant
from chamberlain.bootstrap.identity import believed_base_url, embedded_issuers
from chamberlain.bootstrap.means import Means
from chamberlain.usecases.tenant_read import ReadTenant
from chamberlain.usecases.tenant_replace import ReplaceTenant


def tenant_services(means: Means) -> OwnTenant:
    """What the API may ask about the tenant of a caller."""
    database, authorization = means.database, means.authorization
    own_issuers = embedded_issuers(believed_base_url(means.settings))
    return OwnTenant(
        read=ReadTenant(database, authorization, own_issuers),
        replace=ReplaceTenant(database, means.people, authorization, own_issuers),
    )
