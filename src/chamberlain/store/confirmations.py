"""Confirmations in the clocks of guests, by whoever holds the row of their group or site."""

from typing import Final

from chamberlain.rules.findings import FindingSubject
from chamberlain.rules.guest_clocks import Clock
from chamberlain.store.database import Transaction

# A call may change clocks, and make none.
CONFIRM: Final = """
UPDATE chamberlain.policy_clock SET
    terms = $5, started_at = $6, action_at = $7, next_at = $8, round = $9, reminded = $10, is_acting = $11,
    trouble = $12, acted_at = $13
WHERE tenant_id = $1 AND subject_id = $2 AND rule = $3 AND guest_id = $4
"""


async def put(tx: Transaction, subject: FindingSubject, clock: Clock) -> None:
    """Keep the clock of a guest as it goes on from a confirmation."""
    await tx.execute(
        CONFIRM,
        subject.tenant_id,
        subject.id,
        clock.rule,
        None if clock.guest is None else clock.guest.id,
        clock.terms,
        clock.started_at,
        clock.action_at,
        clock.next_at,
        clock.round,
        clock.reminded,
        clock.is_acting,
        clock.trouble,
        clock.acted_at,
    )
