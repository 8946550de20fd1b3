"""Jobs that are held: they met a bug, or were cut short too often, and wait for a person to let them run again."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from chamberlain.core.ids import JobId, TenantId, TraceId
from chamberlain.core.paging import Page, PageWanted, Position
from chamberlain.database.transactions import Record, Transaction
from chamberlain.queue.models import HeldJob, JobKind, job_id_of

HOLD: Final = """
UPDATE chamberlain.job SET held_reason = $3, lease_id = NULL, lease_until = NULL
WHERE lease_id = $1 AND job_id = $2 RETURNING job_id
"""

HELD: Final = """
SELECT job_id, tenant_id, kind, subject, held_reason, attempts, trace_id, queued_at FROM chamberlain.job
WHERE tenant_id = $1 AND held_reason IS NOT NULL
AND ($2::timestamptz IS NULL OR (queued_at, job_id) < ($2, $3::bigint))
ORDER BY queued_at DESC, job_id DESC LIMIT $4
"""

HELD_OF_ALL: Final = """
SELECT job_id, tenant_id, kind, subject, held_reason, attempts, trace_id, queued_at FROM chamberlain.job
WHERE held_reason IS NOT NULL ORDER BY queued_at, job_id
"""

# Of one tenant, or of any where none is given.
RELEASE: Final = """
WITH held AS (
    SELECT job_id, held_reason, attempts FROM chamberlain.job
    WHERE job_id = $1 AND ($2::uuid IS NULL OR tenant_id = $2) AND held_reason IS NOT NULL FOR UPDATE
)
UPDATE chamberlain.job j SET held_reason = NULL, attempts = 0, run_at = now() FROM held WHERE j.job_id = held.job_id
RETURNING j.job_id, j.tenant_id, j.kind, j.subject, held.held_reason, held.attempts, j.trace_id, j.queued_at
"""

RELEASE_OF: Final = """
UPDATE chamberlain.job SET held_reason = NULL, attempts = 0, run_at = now()
WHERE tenant_id = $1 AND kind = $2 AND subject = $3 AND held_reason IS NOT NULL
"""


async def hold(tx: Transaction, lease_id: UUID, job_id: JobId, reason: str) -> bool:
    """Leave it for a person to look at; False when somebody else has taken it over."""
    return await tx.fetch_row(HOLD, lease_id, job_id, reason) is not None


async def find_page(tx: Transaction, page: PageWanted) -> Page[HeldJob]:
    """The held jobs of the tenant, newest first."""
    after = page.after
    number = after and job_id_of(after.id)
    rows = await tx.fetch(HELD, tx.tenant_id, after and after.created_at, number, page.limit + 1)
    found = [_held(row) for row in rows[: page.limit]]
    if len(rows) <= page.limit:
        return Page(found, None)
    return Page(found, Position(found[-1].queued_at, found[-1].public_id))


async def find_all(tx: Transaction) -> Sequence[HeldJob]:
    """The held jobs of all tenants, oldest first."""
    return [_held(row) for row in await tx.fetch(HELD_OF_ALL)]


async def release(tx: Transaction, job_id: JobId) -> HeldJob | None:
    """Let a held job of the tenant run again, at once; it is given as it was held. None when there is no such one."""
    row = await tx.fetch_row(RELEASE, job_id, tx.tenant_id)
    return _held(row) if row else None


async def release_of_any(tx: Transaction, job_id: JobId) -> HeldJob | None:
    """The same, whosever it is, for whoever has the database."""
    row = await tx.fetch_row(RELEASE, job_id, None)
    return _held(row) if row else None


async def release_of(tx: Transaction, kind: JobKind, subject: UUID) -> None:
    """Let the job of the tenant about this run again, at once, where it is held."""
    await tx.execute(RELEASE_OF, tx.tenant_id, kind, subject)


def _held(row: Record) -> HeldJob:
    return HeldJob(
        id=JobId(row["job_id"]),
        tenant_id=TenantId(row["tenant_id"]),
        kind=row["kind"],
        subject=row["subject"],
        held_reason=row["held_reason"],
        attempts=row["attempts"],
        trace_id=TraceId(row["trace_id"]),
        queued_at=row["queued_at"],
    )
