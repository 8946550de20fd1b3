"""Guest policies: rules over time for guests. One, and lists newest first."""

from collections.abc import Collection, Sequence

import msgspec

from chamberlain.auth.models import Actor
from chamberlain.changes.records import encode_actor
from chamberlain.core.ids import PolicyId, TenantId
from chamberlain.core.paging import Page, PageWanted, Position
from chamberlain.database.transactions import Record, Transaction
from chamberlain.guests.policies.models import PolicyHead, PolicyRecord, StoredPolicy

_SELECT = """
SELECT p.tenant_id, p.policy_id, p.revision, p.active,
    chamberlain.clean(p.content) ->> 'name' AS name, chamberlain.clean(p.content) AS content,
    p.created_at, p.created_by, p.updated_at
FROM chamberlain.policy p
"""
FIND = f"{_SELECT} WHERE p.tenant_id = $1 AND p.policy_id = $2"
FIND_ALL = f"{_SELECT} WHERE p.tenant_id = ANY ($1) ORDER BY p.tenant_id, p.created_at, p.policy_id"
# $1 tenant, $2 and $3 the position (null at the beginning), $4 number of rows.
PAGE = f"""{_SELECT} WHERE p.tenant_id = $1
    AND ($2::timestamptz IS NULL OR (p.created_at, p.policy_id) < ($2, $3::uuid))
ORDER BY p.created_at DESC, p.policy_id DESC LIMIT $4"""
SAVE = """
INSERT INTO chamberlain.policy AS p (tenant_id, policy_id, revision, active, content, created_by)
VALUES ($1, $2, 1, $3, $4::text::json, $5)
ON CONFLICT (tenant_id, policy_id) DO UPDATE SET
    revision = p.revision + 1, active = excluded.active, content = excluded.content, updated_at = now()
WHERE p.content::text IS DISTINCT FROM excluded.content::text
RETURNING revision
"""
DELETE = "DELETE FROM chamberlain.policy WHERE tenant_id = $1 AND policy_id = $2"
_decode_actor = msgspec.json.Decoder(Actor).decode


async def find(tx: Transaction, tenant_id: TenantId, policy_id: PolicyId) -> PolicyRecord | None:
    """Find a policy."""
    row = await tx.fetch_row(FIND, tenant_id, policy_id)
    return _record(row) if row else None


async def find_all(tx: Transaction, tenant_ids: Collection[TenantId]) -> Sequence[StoredPolicy]:
    """Find all policies of these tenants, oldest first. Needs the worker's role."""
    return [_record(row).stored for row in await tx.fetch(FIND_ALL, list(tenant_ids))]


async def find_page(tx: Transaction, tenant_id: TenantId, page: PageWanted) -> Page[PolicyRecord]:
    """Paginate the policies of a tenant, newest first, including inactive ones."""
    after = page.after
    place = (None, None) if after is None else (after.created_at, after.id)
    return _page(await tx.fetch(PAGE, tenant_id, *place, page.limit + 1), page)


async def save(
    tx: Transaction, tenant_id: TenantId, policy_id: PolicyId, *, active: bool, content: bytes, created_by: Actor
) -> bool:
    """Create or change a policy. Returns False if nothing changed."""
    row = await tx.fetch_row(SAVE, tenant_id, policy_id, active, content.decode(), encode_actor(created_by))
    return row is not None


async def delete(tx: Transaction, tenant_id: TenantId, policy_id: PolicyId) -> None:
    """Remove a policy."""
    await tx.execute(DELETE, tenant_id, policy_id)


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
