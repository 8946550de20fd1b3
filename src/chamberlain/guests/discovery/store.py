"""SQL of discovery: cursors and jobs of tenants."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from chamberlain.core.ids import GroupId, TenantId, TraceId
from chamberlain.database.transactions import Transaction
from chamberlain.directory.subjects import SubjectType
from chamberlain.guests.models import Assignment, FindingSubject, to_assignment
from chamberlain.queue.models import JobKind

# A tenant has a row here from the moment on when it has its job.
QUEUE_MISSING_JOBS: Final = """
WITH met AS (
    INSERT INTO chamberlain.discovery (tenant_id)
    SELECT t.tenant_id FROM chamberlain.tenant t
    WHERE NOT EXISTS (SELECT FROM chamberlain.discovery d WHERE d.tenant_id = t.tenant_id)
    ON CONFLICT DO NOTHING RETURNING tenant_id
)
INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id) SELECT tenant_id, $1, tenant_id, $2 FROM met
"""
FIND: Final = "SELECT position, scan_began_at FROM chamberlain.discovery WHERE tenant_id = $1"
SAVE: Final = "UPDATE chamberlain.discovery SET position = $2, scan_began_at = $3 WHERE tenant_id = $1"
# Held until they are removed, so that nothing is assigned to them in between. Everybody locks them in this order.
LOCK_ASSIGNED: Final = """
SELECT tenant_id, subject_id, type, display_name, template_id, policy_id FROM chamberlain.subject
WHERE tenant_id = $1 AND subject_id = ANY ($2) ORDER BY tenant_id, subject_id FOR UPDATE
"""
DELETE: Final = "DELETE FROM chamberlain.discovery WHERE tenant_id = $1"


@dataclass(frozen=True, slots=True)
class Discovery:
    """The last cursor of the directory, or None before the first.

    A running full scan has its start.
    """

    position: str | None
    scan_began_at: datetime | None


async def queue_missing_jobs(tx: Transaction, trace_id: TraceId) -> None:
    """Queue the missing jobs of tenants."""
    await tx.execute(QUEUE_MISSING_JOBS, JobKind.SUBJECT_DISCOVER, trace_id)


async def find(tx: Transaction, tenant_id: TenantId) -> Discovery:
    """Read the state of a tenant's discovery."""
    row = await tx.fetch_row(FIND, tenant_id)
    return Discovery(None, None) if row is None else Discovery(row["position"], row["scan_began_at"])


async def save(tx: Transaction, tenant_id: TenantId, discovery: Discovery) -> None:
    """Save the state of a tenant's discovery."""
    await tx.execute(SAVE, tenant_id, discovery.position, discovery.scan_began_at)


async def lock_assigned(
    tx: Transaction, tenant_id: TenantId, gone: Sequence[GroupId]
) -> Sequence[tuple[FindingSubject, Assignment]]:
    """Lock deleted groups and sites, and return those with an assignment."""
    rows = await tx.fetch(LOCK_ASSIGNED, tenant_id, gone)
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
    await tx.execute(DELETE, tenant_id)
