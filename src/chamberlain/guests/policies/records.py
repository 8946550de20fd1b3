# SPDX-License-Identifier: Apache-2.0
"""Guest policies: rules over time for guests. One, and lists newest first."""

from collections.abc import Collection, Sequence

import msgspec

from chamberlain.auth.models import Actor
from chamberlain.changes.records import encode_actor
from chamberlain.core.ids import PolicyId, TenantId
from chamberlain.core.paging import Page, PageWanted, Position
from chamberlain.database.transactions import Record, Transaction
from chamberlain.guests.policies.models import PolicyHead, PolicyRecord, StoredPolicy
from chamberlain.queries import load_queries

SQL = load_queries(__name__)
PAGE = SQL["page"]
_decode_actor = msgspec.json.Decoder(Actor).decode


async def find(tx: Transaction, tenant_id: TenantId, policy_id: PolicyId) -> PolicyRecord | None:
    """Find a policy."""
    row = await tx.fetch_row(SQL["find"], tenant_id, policy_id)
    return _record(row) if row else None


async def find_all(tx: Transaction, tenant_ids: Collection[TenantId]) -> Sequence[StoredPolicy]:
    """Find all policies of these tenants, oldest first. Needs the worker's role."""
    return [_record(row).stored for row in await tx.fetch(SQL["find_all"], list(tenant_ids))]


async def find_page(tx: Transaction, tenant_id: TenantId, page: PageWanted) -> Page[PolicyRecord]:
    """Paginate the policies of a tenant, newest first, including inactive ones."""
    after = page.after
    place = (None, None) if after is None else (after.created_at, after.id)
    return _page(await tx.fetch(PAGE, tenant_id, *place, page.limit + 1), page)


async def save(
    tx: Transaction, tenant_id: TenantId, policy_id: PolicyId, *, active: bool, content: bytes, created_by: Actor
) -> bool:
    """Create or change a policy. Returns False if nothing changed."""
    row = await tx.fetch_row(SQL["save"], tenant_id, policy_id, active, content.decode(), encode_actor(created_by))
    return row is not None


async def delete(tx: Transaction, tenant_id: TenantId, policy_id: PolicyId) -> None:
    """Remove a policy."""
    await tx.execute(SQL["delete"], tenant_id, policy_id)


def _record(row: Record) -> PolicyRecord:
    head = PolicyHead(
        tenant_id=TenantId(row["tenant_id"]),
        id=PolicyId(row["policy_id"]),
        revision=row["revision"],
        name=row["name"],
        active=row["active"],
    )
    return PolicyRecord(
        stored=StoredPolicy(head, row["content"].encode()),
        created_at=row["created_at"],
        created_by=_decode_actor(row["created_by"]),
        updated_at=row["updated_at"],
    )


def _page(rows: Sequence[Record], page: PageWanted) -> Page[PolicyRecord]:
    records = [_record(row) for row in rows[: page.limit]]
    if len(rows) <= page.limit:
        return Page(records, None)
    return Page(records, Position(records[-1].created_at, records[-1].stored.head.id))
