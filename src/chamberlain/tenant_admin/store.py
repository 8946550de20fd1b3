"""The record of tenants that were deleted, as the worker's role, which may add to it and change nothing."""

from collections.abc import Sequence

from chamberlain.audit.seals import Head
from chamberlain.auth.models import Actor
from chamberlain.core.ids import TenantId, TraceId
from chamberlain.database.transactions import Transaction
from chamberlain.tenant_admin.models import DeletedTenant
from chamberlain.tenants.models import Tenant

ADD = """
INSERT INTO chamberlain.deleted_tenant (id, name, deleted_by, trace_id, head_position, head_digest)
VALUES ($1, $2, $3, $4, $5, $6)
"""

FIND_ALL = """
SELECT id, name, deleted_at, deleted_by, head_position, head_digest FROM chamberlain.deleted_tenant ORDER BY number
"""


async def add(tx: Transaction, tenant: Tenant, *, actor: Actor, trace_id: TraceId, head: Head) -> None:
    """Keep it on record in the transaction that deletes the tenant."""
    await tx.execute(ADD, tenant.id, tenant.name, actor.display_name, trace_id, head.position, head.digest)


async def find_all(tx: Transaction) -> Sequence[DeletedTenant]:
    """All of them, in the order in which they went."""
    return [
        DeletedTenant(
            id=TenantId(row["id"]),
            name=row["name"],
            deleted_at=row["deleted_at"],
            deleted_by=row["deleted_by"],
            head=Head(row["head_position"], bytes(row["head_digest"])),
        )
        for row in await tx.fetch(FIND_ALL)
    ]
