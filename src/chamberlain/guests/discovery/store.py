"""SQL of discovery: cursors and jobs of tenants."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from chamberlain.core.ids import GroupId, TenantId, TraceId
from chamberlain.database.transactions import Transaction
from chamberlain.directory.subjects import SubjectType
from chamberlain.guests.models import Assignment, FindingSubject, to_assignment
from chamberlain.queries import load_queries
from chamberlain.queue.models import JobKind

SQL = load_queries(__name__)
FIND: Final = SQL["find"]


@dataclass(frozen=True, slots=True)
class Discovery:
    """The last cursor of the directory, or None before the first.

    A running full scan has its start.
    """

    position: str | None
    scan_began_at: datetime | None


async def queue_missing_jobs(tx: Transaction, trace_id: TraceId) -> None:
    """Queue the missing jobs of tenants."""
    await tx.execute(SQL["queue_missing_jobs"], JobKind.SUBJECT_DISCOVER, trace_id)


async def find(tx: Transaction, tenant_id: TenantId) -> Discovery:
    """Read the state of a tenant's discovery."""
    row = await tx.fetch_row(FIND, tenant_id)
    return Discovery(None, None) if row is None else Discovery(row["position"], row["scan_began_at"])


async def save(tx: Transaction, tenant_id: TenantId, discovery: Discovery) -> None:
    """Save the state of a tenant's discovery."""
    await tx.execute(SQL["save"], tenant_id, discovery.position, discovery.scan_began_at)


async def lock_assigned(
    tx: Transaction, tenant_id: TenantId, gone: Sequence[GroupId]
) -> Sequence[tuple[FindingSubject, Assignment]]:
    """Lock deleted groups and sites, and return those with an assignment."""
    rows = await tx.fetch(SQL["lock_assigned"], tenant_id, gone)
    found = [
        (
            FindingSubject(
                TenantId(row["tenant_id"]), GroupId(row["subject_id"]), SubjectType(row["type"]), row["display_name"]
            ),
            to_assignment(row["template_id"], row["policy_id"]),
        )
        for row in rows
    ]
    return [(subject, assignment) for subject, assignment in found if assignment != Assignment()]


async def delete(tx: Transaction, tenant_id: TenantId) -> None:
    """Delete the state of a deleted tenant."""
    await tx.execute(SQL["delete"], tenant_id)
