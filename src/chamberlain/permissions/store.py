# SPDX-License-Identifier: Apache-2.0
"""SQL of permission uses: add, read and remove them."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime

from chamberlain.auth.models import ActorType
from chamberlain.core.ids import TenantId
from chamberlain.database.transactions import PLANNING, Transaction
from chamberlain.permissions.models import PermissionUse, UseKey
from chamberlain.queries import load_queries

SQL = load_queries(__name__)


async def add(tx: Transaction, counts: Mapping[UseKey, int], *, at: datetime) -> None:
    """Add counts of all tenants. Needs the worker's role."""
    # In a fixed order, to avoid deadlocks between processes.
    keys = sorted(counts)
    await tx.execute(
        SQL["add"],
        [key.tenant_id for key in keys],
        [key.caller_type for key in keys],
        [key.caller_id for key in keys],
        [key.permission for key in keys],
        [key.day for key in keys],
        [counts[key] for key in keys],
        at,
    )


async def read(tx: Transaction, tenant_id: TenantId, since: date, *, most: int) -> Sequence[PermissionUse]:
    """Read the uses of the `most` newest callers since a day."""
    return [
        PermissionUse(
            caller_type=ActorType(row["caller_type"]),
            caller_id=row["caller_id"],
            permission=row["permission"],
            count=int(row["number"]),
            last_used_at=row["last_used_at"],
        )
        for row in await tx.fetch(SQL["read"], tenant_id, since, most)
    ]


async def remove(tx: Transaction, before: datetime, most: int) -> int:
    """Remove counts of days before this time, and return their number."""
    await tx.execute(PLANNING)
    (row,) = await tx.fetch(SQL["remove"], before, most)
    return int(row["removed"])
