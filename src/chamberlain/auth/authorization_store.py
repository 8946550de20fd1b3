"""The administrators of a tenant, as authorization reads them."""

from dataclasses import dataclass

from chamberlain.core.ids import GroupId, TenantId, UserId
from chamberlain.database.transactions import Transaction

FIND_ADMINISTRATORS = """
SELECT administrator_users, administrator_groups FROM chamberlain.tenant WHERE tenant_id = $1
"""


@dataclass(frozen=True, slots=True)
class Administrators:
    """Users who administer a tenant, and groups whose members do."""

    users: frozenset[UserId]
    groups: frozenset[GroupId]


async def find_administrators(tx: Transaction, tenant_id: TenantId) -> Administrators | None:
    """Find the administrators of a tenant; None for an unknown tenant."""
    row = await tx.fetch_row(FIND_ADMINISTRATORS, tenant_id)
    if row is None:
        return None
    return Administrators(
        frozenset(UserId(each) for each in row["administrator_users"]),
        frozenset(GroupId(each) for each in row["administrator_groups"]),
    )
