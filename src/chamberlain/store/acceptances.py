"""Acceptances in the rows of their findings: written, and taken away when they have ended."""

from typing import Final

from chamberlain.rules.findings import Acceptance, FindingRecord
from chamberlain.store.actors import encode_actor
from chamberlain.store.database import Transaction

PUT: Final = """
UPDATE chamberlain.finding SET state = $3, accepted_at = $4, accepted_by = $5, accepted_reason = $6, accepted_until = $7
WHERE tenant_id = $1 AND finding_id = $2
"""


async def put(tx: Transaction, record: FindingRecord) -> None:
    """Keep state and acceptance of a finding that is held."""
    values = _values(record.acceptance)
    await tx.execute(PUT, record.subject.tenant_id, record.id, record.state, *values)


def _values(acceptance: Acceptance | None) -> tuple[object, ...]:
    if acceptance is None:
        return None, None, None, None
    return acceptance.accepted_at, encode_actor(acceptance.by), acceptance.reason, acceptance.until
