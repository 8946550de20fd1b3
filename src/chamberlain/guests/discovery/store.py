# SPDX-License-Identifier: Apache-2.0
"""SQL of discovery: cursors and jobs of tenants."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from chamberlain.core.ids import GroupId, TenantId, TraceId
from chamberlain.database.transactions import Transaction
from chamberlain.directory.port import MailboxChanges, SubjectChanges, TenantCursors
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


async def find_cursors(tx: Transaction, after: TenantId, most: int) -> Sequence[TenantCursors]:
    """Read the next cursors of active tenants, by id."""
    return [
        TenantCursors(TenantId(row["tenant_id"]), row["position"], row["mailbox_position"])
        for row in await tx.fetch(SQL["find_cursors"], after, most)
    ]


async def wake(tx: Transaction, tenant_ids: Collection[TenantId]) -> None:
    """Make the jobs of tenants due, unless they run."""
    await tx.execute(SQL["wake"], list(tenant_ids))


async def find(tx: Transaction, tenant_id: TenantId) -> Discovery:
    """Read the state of a tenant's discovery."""
    row = await tx.fetch_row(FIND, tenant_id)
    return Discovery(None, None) if row is None else Discovery(row["position"], row["scan_began_at"])


async def save(tx: Transaction, tenant_id: TenantId, discovery: Discovery) -> None:
    """Save the state of a tenant's discovery."""
    await tx.execute(SQL["save"], tenant_id, discovery.position, discovery.scan_began_at)


async def save_changed(
    tx: Transaction, tenant_id: TenantId, page: SubjectChanges, trace_id: TraceId, *, at: datetime
) -> None:
    """Note the managed objects of a page for the drift check.

    Its job is queued.
    """
    if page.subjects or page.removed:
        await tx.execute(
            SQL["save_changed"],
            tenant_id,
            [each.id for each in page.subjects],
            [each.request_id for each in page.subjects if each.request_id is not None],
            list(page.removed),
            at,
            JobKind.DRIFT_WATCH,
            trace_id,
        )


async def find_mailbox_position(tx: Transaction, tenant_id: TenantId) -> str | None:
    """Read the cursor of changed mailboxes."""
    row = await tx.fetch_row(SQL["find_mailbox_position"], tenant_id)
    return None if row is None else row["mailbox_position"]


async def save_changed_mailboxes(
    tx: Transaction, tenant_id: TenantId, page: MailboxChanges, trace_id: TraceId, *, at: datetime
) -> None:
    """Note the changed mailboxes of a page for the drift check.

    The next cursor is saved, and the job of the check is queued.
    """
    values = (page.cursor, list(page.request_ids), at, JobKind.DRIFT_WATCH, trace_id)
    await tx.execute(SQL["save_changed_mailboxes"], tenant_id, *values)


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
