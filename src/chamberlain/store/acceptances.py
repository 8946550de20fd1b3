"""Acceptances in the rows of their findings: written, and taken away when they have ended."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from chamberlain.rules.findings import Acceptance, FindingRecord
from chamberlain.rules.guest_clocks import ClockPlace, PolicyRule
from chamberlain.rules.ids import GroupId, TenantId, UserId
from chamberlain.rules.policy_findings import kind_of
from chamberlain.store.actors import encode_actor
from chamberlain.store.database import Transaction

PUT: Final = """
UPDATE chamberlain.finding SET state = $3, accepted_at = $4, accepted_by = $5, accepted_reason = $6, accepted_until = $7
WHERE tenant_id = $1 AND finding_id = $2
"""

ENDS: Final = """
SELECT subject_id, kind, about, accepted_until FROM chamberlain.finding
WHERE tenant_id = $1 AND subject_id = ANY ($2) AND state = 'accepted' AND source = 'policy'
"""


async def put(tx: Transaction, record: FindingRecord) -> None:
    """Keep state and acceptance of a finding that is held."""
    values = _values(record.acceptance)
    await tx.execute(PUT, record.subject.tenant_id, record.id, record.state, *values)


async def ends(
    tx: Transaction, tenant_id: TenantId, subject_ids: Sequence[GroupId]
) -> Mapping[GroupId, Mapping[ClockPlace, datetime | None]]:
    """Until when the clocks of these groups and sites rest, whose findings are accepted; None is for good."""
    rules = {kind_of(rule): rule for rule in PolicyRule}
    found: dict[GroupId, dict[ClockPlace, datetime | None]] = {}
    for row in await tx.fetch(ENDS, tenant_id, subject_ids):
        guest_id = UserId(UUID(row["about"])) if row["about"] else None
        found.setdefault(GroupId(row["subject_id"]), {})[rules[row["kind"]], guest_id] = row["accepted_until"]
    return found


def _values(acceptance: Acceptance | None) -> tuple[object, ...]:
    if acceptance is None:
        return None, None, None, None
    return acceptance.accepted_at, encode_actor(acceptance.by), acceptance.reason, acceptance.until
