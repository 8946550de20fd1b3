"""The weeks that deliveries are kept in, each a table of its own (sql/delivery_weeks.sql)."""

from datetime import datetime
from typing import Final

from chamberlain.database.transactions import Transaction

# A week with deliveries of a clock fault stays until these are old, and so do the weeks after it.
KEEP: Final = """
SELECT chamberlain.keep_delivery_weeks($1, least($2, (
    SELECT min(f.from_at) FROM chamberlain.clock_fault f WHERE coalesce(f.resumed_at, 'infinity') >= $2
))) AS removed
"""


async def keep(tx: Transaction, *, now: datetime, oldest: datetime) -> int:
    """Make the weeks that are near, and remove those that ended before `oldest` and have nothing to be called any more;
    says how many these were. As the worker's role, in a transaction of its own: it holds up everybody else until that
    ends. Whoever is in the way is not waited for, and the rest is left to the next time."""
    (row,) = await tx.fetch(KEEP, now, oldest)
    return int(row["removed"])
