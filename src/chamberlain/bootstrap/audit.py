"""The audit trail, for callers."""

from chamberlain.api.administration import Audit
from chamberlain.bootstrap.means import Means
from chamberlain.usecases.audit_export import ExportAudit
from chamberlain.usecases.audit_list import ListAudit


def audit_services(means: Means) -> Audit:
    """What the API may ask about the audit trail."""
    return Audit(
        list=ListAudit(means.database, means.authorization, means.names),
        export=ExportAudit(means.database, means.authorization, means.names),
    )
