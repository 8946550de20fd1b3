"""Acceptances in the rows of their findings: written, heeded, and taken away when they have ended."""

from collections.abc import Collection, Mapping
from typing import Final

from chamberlain.changes.record_actors import encode_actor
from chamberlain.core.ids import GroupId, TenantId
from chamberlain.database.transactions import Transaction
from chamberlain.guests.models import Acceptance, FindingRecord, FindingState, Searched
from chamberlain.guests.models_assignment_tasks import Place

PUT: Final = """
UPDATE chamberlain.finding SET state = $3, accepted_at = $4, accepted_by = $5, accepted_reason = $6, accepted_until = $7
WHERE tenant_id = $1 AND finding_id = $2
"""

# Whoever accepts one of these waits until the transaction ends, and then meets what it has written of them.
HOLD: Final = """
SELECT f.tenant_id, f.subject_id, f.about, f.state FROM chamberlain.finding f
JOIN unnest($1::uuid[], $2::uuid[]) AS s (tenant_id, subject_id)
    ON f.tenant_id = s.tenant_id AND f.subject_id = s.subject_id
WHERE f.kind = ANY ($3) AND f.source = $4 AND f.state IN ('open', 'accepted')
ORDER BY f.tenant_id, f.subject_id, f.kind, f.about FOR NO KEY UPDATE OF f
"""
# Whether a worker is just bringing about what is assigned where something was found, or will at once: also an earlier
# request that is taken up again brings about what the newest one says, while that one is still queued.
IS_APPLIED: Final = """
SELECT FROM chamberlain.subject s
JOIN chamberlain.request r ON r.tenant_id = s.tenant_id AND r.request_id = s.assignment_request_id
WHERE s.tenant_id = $1 AND s.subject_id = $2 AND r.state IN ('queued', 'running')
"""


async def hold(tx: Transaction, places: Collection[Place], searched: Searched) -> Mapping[Place, frozenset[str]]:
    """What was found about these groups and sites and somebody lets stand, by what it is about. It stays so until the
    transaction ends."""
    tenants, ids = [tenant_id for tenant_id, _ in places], [group_id for _, group_id in places]
    kept: dict[Place, set[str]] = {}
    for row in await tx.fetch(HOLD, tenants, ids, list(searched.kinds), searched.source):
        if row["state"] == FindingState.ACCEPTED:
            kept.setdefault((TenantId(row["tenant_id"]), GroupId(row["subject_id"])), set()).add(row["about"])
    return {place: frozenset(abouts) for place, abouts in kept.items()}


async def is_applied(tx: Transaction, record: FindingRecord) -> bool:
    """Whether a worker is just bringing about what is assigned to the group or site of a finding, or will at once."""
    return await tx.fetch_row(IS_APPLIED, record.subject.tenant_id, record.subject.id) is not None


async def put(tx: Transaction, record: FindingRecord) -> None:
    """Keep state and acceptance of a finding that is held."""
    values = _values(record.acceptance)
    await tx.execute(PUT, record.subject.tenant_id, record.id, record.state, *values)


def _values(acceptance: Acceptance | None) -> tuple[object, ...]:
    if acceptance is None:
        return None, None, None, None
    return acceptance.accepted_at, encode_actor(acceptance.by), acceptance.reason, acceptance.until
