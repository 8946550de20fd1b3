"""The service of the audit trail."""

from chamberlain.audit.service import AuditService
from chamberlain.bootstrap.means import Means


def audit_service(means: Means) -> AuditService:
    """Build the service that the API calls."""
    return AuditService(means.database, means.authorization, means.names)
