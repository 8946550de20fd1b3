# SPDX-License-Identifier: Apache-2.0
"""Deleted tenants, and all rows of a tenant.

Runs in the worker's role, which may only add records of deleted tenants.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from graphlib import TopologicalSorter

from chamberlain.audit.rules import Head
from chamberlain.auth.models import Actor
from chamberlain.core.ids import TenantId, TraceId
from chamberlain.database.transactions import Transaction
from chamberlain.queries import load_queries
from chamberlain.tenants.models import Tenant

SQL = load_queries(__name__)


@dataclass(frozen=True, slots=True)
class DeletedTenant:
    """The record of a deleted tenant.

    The last head of its audit trail proves an export of it.
    """

    id: TenantId
    name: str
    deleted_at: datetime
    deleted_by: str
    head: Head


@dataclass(frozen=True, slots=True)
class TenantRow:
    """One row of a table of the tenant, as JSON."""

    table: str
    content: str


@dataclass(frozen=True, slots=True)
class RemovedRows:
    """Number of deleted rows of a table."""

    table: str
    count: int


async def add(tx: Transaction, tenant: Tenant, *, actor: Actor, trace_id: TraceId, head: Head) -> None:
    """Record a deletion in its transaction."""
    await tx.execute(SQL["add"], tenant.id, tenant.name, actor.display_name, trace_id, head.position, head.digest)


async def find_all(tx: Transaction) -> Sequence[DeletedTenant]:
    """Find all records in the order of the deletions."""
    return [
        DeletedTenant(
            id=TenantId(row["id"]),
            name=row["name"],
            deleted_at=row["deleted_at"],
            deleted_by=row["deleted_by"],
            head=Head(row["head_position"], bytes(row["head_digest"])),
        )
        for row in await tx.fetch(SQL["find_all"])
    ]


TABLES = SQL["tables"]
RUNNING = SQL["running"]

# A tenant may have millions of rows in one table.
PATIENCE = timedelta(hours=1)
# Rows that are fetched at a time.
PAGE = 500


async def running_jobs(tx: Transaction, tenant_id: TenantId) -> int:
    """Count the running jobs of a tenant."""
    row = await tx.fetch_row(RUNNING, tenant_id)
    return 0 if row is None else int(row["running"])


async def read(tx: Transaction, tenant_id: TenantId) -> AsyncIterator[TenantRow]:
    """Read all rows of a tenant, table by table.

    Rows are JSON without secrets. Needs the worker's role.
    """
    for table in await tx.fetch(TABLES, []):
        name, key = table["name"], table["key"] or "1"
        statement = (
            f"SELECT row_to_json(r)::text AS content FROM (SELECT {table['shown']} FROM {name} "  # noqa: S608 - names come quoted from the catalog
            f"WHERE tenant_id = $1 ORDER BY {key}) r"
        )
        # The first page may take as long as the sort of the whole table.
        async for row in tx.connection.cursor(statement, tenant_id, prefetch=PAGE, timeout=PATIENCE.total_seconds()):
            yield TenantRow(name, row["content"])


async def remove(tx: Transaction, tenant_id: TenantId, kept: Sequence[str]) -> Sequence[RemovedRows]:
    """Delete the rows of a tenant, except in the schemas `kept`.

    Counts them by table. Needs the worker's role.
    """
    tables = await tx.fetch(TABLES, kept)
    names = {str(table["name"]) for table in tables}
    # Tables with references to others come first.
    parents = {str(table["name"]): [each for each in table["parents"] if each in names] for table in tables}
    order = reversed(list(TopologicalSorter(parents).static_order()))
    counts = {name: await _remove_from(tx, name, tenant_id) for name in order}
    return [RemovedRows(name, count) for name, count in sorted(counts.items()) if count]


async def _remove_from(tx: Transaction, name: str, tenant_id: TenantId) -> int:
    statement = f"DELETE FROM {name} WHERE tenant_id = $1"  # noqa: S608 - the name comes quoted from the catalog
    status = await tx.connection.execute(statement, tenant_id, timeout=PATIENCE.total_seconds())
    return int(status.removeprefix("DELETE "))
