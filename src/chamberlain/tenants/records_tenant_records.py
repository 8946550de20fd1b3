"""A tenant whole, as its administrators are shown it."""

from chamberlain.core.ids import TenantId
from chamberlain.database.transactions import Transaction
from chamberlain.tenants import records
from chamberlain.tenants.models_tenant_records import TenantRecord

TIMES = "SELECT created_at, updated_at FROM chamberlain.tenant WHERE tenant_id = $1"

# Rows that belong to the tenant can be made meanwhile; only its own is held.
LOCK = "SELECT FROM chamberlain.tenant WHERE tenant_id = $1 FOR NO KEY UPDATE"


async def find(tx: Transaction, tenant_id: TenantId) -> TenantRecord | None:
    """The tenant with its registered issuers."""
    tenant, times = await records.find(tx, tenant_id), await tx.fetch_row(TIMES, tenant_id)
    if tenant is None or times is None:
        return None
    issuers = tuple(await records.issuers_of(tx, (tenant_id,)))
    return TenantRecord(tenant, issuers, times["created_at"], times["updated_at"])


async def lock(tx: Transaction, tenant_id: TenantId) -> None:
    """Be the only one who changes this tenant, until the transaction ends."""
    await tx.execute(LOCK, tenant_id)
