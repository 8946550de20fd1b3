"""Guest policies: rules over time for guests."""

from chamberlain.rules.callers import Actor
from chamberlain.rules.ids import PolicyId, TenantId
from chamberlain.store.actors import encode_actor
from chamberlain.store.database import Transaction

PUT = """
INSERT INTO chamberlain.policy AS p (tenant_id, policy_id, revision, active, content, created_by)
VALUES ($1, $2, 1, $3, $4::text::json, $5)
ON CONFLICT (tenant_id, policy_id) DO UPDATE SET
    revision = p.revision + 1, active = excluded.active, content = excluded.content, updated_at = now()
WHERE p.content::text IS DISTINCT FROM excluded.content::text
RETURNING revision
"""


async def put(
    tx: Transaction, tenant_id: TenantId, policy_id: PolicyId, *, active: bool, content: bytes, created_by: Actor
) -> bool:
    """Make or change a policy; says whether anything changed."""
    row = await tx.fetch_row(PUT, tenant_id, policy_id, active, content.decode(), encode_actor(created_by))
    return row is not None
