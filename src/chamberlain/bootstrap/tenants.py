"""The service of tenants."""

from chamberlain.bootstrap.identity import believed_base_url, embedded_issuers
from chamberlain.bootstrap.means import Means
from chamberlain.tenants.service import TenantService


def tenant_service(means: Means) -> TenantService:
    """Build the service that the API calls."""
    own_issuers = embedded_issuers(believed_base_url(means.settings))
    return TenantService(means.database, means.people, means.authorization, own_issuers)
