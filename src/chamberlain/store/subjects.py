"""Groups and managed sites that guest rules can be assigned to: as they were observed last, and what is assigned."""

from chamberlain.rules.ids import PolicyId, TemplateId, TenantId
from chamberlain.store.database import Transaction

# Whoever assigns one locks it as well, if only against its removal.
LOCK_TEMPLATE = "SELECT FROM chamberlain.template WHERE tenant_id = $1 AND template_id = $2 FOR UPDATE"
LOCK_POLICY = "SELECT FROM chamberlain.policy WHERE tenant_id = $1 AND policy_id = $2 FOR UPDATE"

IS_ASSIGNED = """
SELECT EXISTS (SELECT FROM chamberlain.subject WHERE tenant_id = $1 AND template_id = $2)
    OR EXISTS (SELECT FROM chamberlain.subject WHERE tenant_id = $1 AND policy_id = $3) AS is_assigned
"""


async def is_assigned(
    tx: Transaction, tenant_id: TenantId, *, template_id: TemplateId | None = None, policy_id: PolicyId | None = None
) -> bool:
    """Whether a group or site has this template or policy. Nobody assigns it before the transaction ends, so that it
    can be removed when nobody has."""
    # Locks come first, and by statements of their own: what was committed while they were waited for is seen then.
    if template_id is not None:
        await tx.execute(LOCK_TEMPLATE, tenant_id, template_id)
    if policy_id is not None:
        await tx.execute(LOCK_POLICY, tenant_id, policy_id)
    row = await tx.fetch_row(IS_ASSIGNED, tenant_id, template_id, policy_id)
    return row is not None and bool(row["is_assigned"])
