# SPDX-License-Identifier: Apache-2.0
"""Write and read the chain that seals the audit trail.

Runs in the worker's role.
"""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from chamberlain.audit.rules import AuditFacts, ErasureRecord, Head, Link, UnsealedRow
from chamberlain.core.ids import RequestId, TenantId, TraceId
from chamberlain.database.transactions import PLANNING, Record, Transaction
from chamberlain.queries import load_queries
from chamberlain.queue.models import JobKind

SQL = load_queries(__name__)
QUEUE = SQL["queue"]


def _tenants_in(table: str) -> str:
    """Select the tenants of a large table, with one index probe each."""
    return f"""
    SELECT known.tenant_id FROM (
        WITH RECURSIVE known AS (
            (SELECT r.tenant_id FROM {table} r ORDER BY r.tenant_id LIMIT 1)
            UNION ALL
            SELECT (
                SELECT r.tenant_id FROM {table} r WHERE r.tenant_id > known.tenant_id ORDER BY r.tenant_id LIMIT 1
            ) FROM known WHERE known.tenant_id IS NOT NULL
        )
        SELECT known.tenant_id FROM known WHERE known.tenant_id IS NOT NULL
    ) known
    """  # noqa: S608 - text of ours alone.


# Includes tenants of which only rows are left.
SEALED_TENANTS: Final = f"""
SELECT tenant_id FROM chamberlain.tenant UNION SELECT tenant_id FROM chamberlain.audit_head
UNION {_tenants_in("chamberlain.audit_seal")} UNION {_tenants_in("chamberlain.audit")}
ORDER BY tenant_id
"""  # noqa: S608 - as above.


PAGE = 5_000


async def queue_for_all(tx: Transaction, kind: JobKind, trace_id: TraceId) -> None:
    """Queue the job of this kind for every tenant without one."""
    await tx.execute(QUEUE, kind, trace_id)


async def wake(tx: Transaction) -> None:
    """Make the sealing jobs of tenants with unsealed rows due."""
    await tx.execute(SQL["wake"])


async def note_looks(tx: Transaction, *, older_than: timedelta) -> None:
    """Record a look at the trails without unsealed rows.

    Those with a newer look are left as they are.
    """
    await tx.execute(SQL["note_looks"], older_than)


async def may_sleep(tx: Transaction, tenant_id: TenantId) -> bool:
    """Return whether the sealing job of a tenant may sleep."""
    return await tx.fetch_row(SQL["may_sleep"], tenant_id) is not None


async def seal(tx: Transaction, tenant_id: TenantId, most: int) -> int:
    """Seal the next rows of a tenant.

    Returns their number, which is `most` if there may be more.
    """
    (row,) = await tx.fetch(SQL["seal"], tenant_id, most)
    return int(row["number"])


async def is_there(tx: Transaction, tenant_id: TenantId) -> bool:
    """Return whether the tenant exists."""
    return await tx.fetch_row(SQL["is_there"], tenant_id) is not None


async def note_logged(tx: Transaction, tenant_id: TenantId, *, now: datetime, before: datetime) -> Head | None:
    """Return the head if it is due for the log.

    It is due if it has moved, and the last one was logged before that time. The head counts as logged then.
    """
    row = await tx.fetch_row(SQL["note_logged"], tenant_id, now, before)
    return None if row is None else _head(row)


async def sealed_tenants(tx: Transaction) -> Sequence[TenantId]:
    """List the tenants that have a chain or should have one."""
    await tx.execute(PLANNING)
    return [TenantId(row["tenant_id"]) for row in await tx.fetch(SEALED_TENANTS)]


async def freeze(tx: Transaction) -> None:
    """Read one snapshot until the end of the transaction, along indexes.

    Has to be called first.
    """
    await tx.execute(SQL["frozen"])
    await tx.execute(PLANNING)


async def find_head(tx: Transaction, tenant_id: TenantId) -> Head | None:
    """Find the stored head."""
    row = await tx.fetch_row(SQL["find_head"], tenant_id)
    return None if row is None else _head(row)


async def find_digest(tx: Transaction, tenant_id: TenantId, position: int) -> bytes | None:
    """Find the digest at a position of the chain."""
    row = await tx.fetch_row(SQL["find_digest"], tenant_id, position)
    return None if row is None else bytes(row["digest"])


async def links(tx: Transaction, tenant_id: TenantId) -> AsyncIterator[Link]:
    """Read the chain from its beginning, in pages."""
    position = 0
    while rows := await tx.fetch(SQL["links"], tenant_id, position, PAGE):
        for row in rows:
            yield _link(row)
        position = rows[-1]["position"]


async def unsealed(tx: Transaction, tenant_id: TenantId) -> AsyncIterator[UnsealedRow]:
    """Read the rows without a seal, in pages."""
    sequence = -(2**63)
    while (last := await _window(tx, tenant_id, sequence)) is not None:
        for row in await tx.fetch(SQL["unsealed"], tenant_id, sequence, last):
            yield UnsealedRow(row["sequence"], row["at"], row["is_suspect"], _erasure(row))
        sequence = last


async def _window(tx: Transaction, tenant_id: TenantId, after: int) -> int | None:
    (row,) = await tx.fetch(SQL["window"], tenant_id, after, PAGE)
    return None if row["last"] is None else int(row["last"])


async def erasures(tx: Transaction, tenant_id: TenantId) -> Sequence[ErasureRecord]:
    """List the erasures on record, valid or not."""
    return [
        ErasureRecord(row["sequence"], TraceId(row["trace_id"]), row["sequences"] or "")
        for row in await tx.fetch(SQL["erasures"], tenant_id)
    ]


async def find_held_reason(tx: Transaction, tenant_id: TenantId, kind: JobKind) -> str | None:
    """Return why the tenant's job of this kind is held, or None."""
    row = await tx.fetch_row(SQL["find_held"], tenant_id, kind)
    return None if row is None else str(row["held_reason"])


def _head(row: Record) -> Head:
    return Head(row["position"], bytes(row["digest"]))


def _link(row: Record) -> Link:
    return Link(
        position=row["position"],
        sequence=row["sequence"],
        previous=bytes(row["previous"]),
        digest=bytes(row["digest"]),
        payload_digest=bytes(row["payload_digest"]),
        is_suspect=row["is_suspect"],
        facts=_facts(row) if row["is_there"] else None,
        agrees=row["agrees"],
    )


def _facts(row: Record) -> AuditFacts:
    return AuditFacts(
        at=row["at"],
        action=row["action"],
        request_id=None if row["request_id"] is None else RequestId(row["request_id"]),
        trace_id=TraceId(row["trace_id"]),
        payload_digest=bytes(row["payload_digest_now"]),
        erasure=_erasure(row),
        is_readable=row["is_readable"],
    )


def _erasure(row: Record) -> TraceId | None:
    return None if row["erasure"] is None else TraceId(row["erasure"])
