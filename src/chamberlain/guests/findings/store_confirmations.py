"""Confirmations in the clocks of guests, by whoever holds the row of their group or site."""

from typing import Final

from chamberlain.database.transactions import Transaction
from chamberlain.guests.models import FindingSubject
from chamberlain.guests.policies.store import row_of
from chamberlain.guests.policies.timers import Clock

# A call may change clocks, and make none. All of a clock is written: one half of it would count by what the policy says
# now, and the other by what it said before.
CONFIRM: Final = """
UPDATE chamberlain.policy_clock SET
    guest_mail = $5, guest_name = $6, policy_id = $7, terms = $8, action = $9, started_at = $10, action_at = $11,
    next_at = $12, round = $13, reminded = $14, is_acting = $15, trouble = $16, acted_at = $17
WHERE tenant_id = $1 AND subject_id = $2 AND rule = $3 AND guest_id = $4
"""


async def put(tx: Transaction, subject: FindingSubject, clock: Clock) -> None:
    """Keep the clock of a guest as it goes on from a confirmation."""
    await tx.execute(CONFIRM, *row_of(subject, clock))
