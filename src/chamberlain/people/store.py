# SPDX-License-Identifier: Apache-2.0
"""SQL of searches for people: count and remove them."""

from datetime import datetime

from chamberlain.core.ids import UserId
from chamberlain.database.transactions import PLANNING, Transaction
from chamberlain.people.models import Searches
from chamberlain.people.rules import MOST_SEARCHES, WINDOW
from chamberlain.queries import load_queries

SQL = load_queries(__name__)


async def count(tx: Transaction, user: UserId, *, at: datetime) -> Searches:
    """Count a search of a user, for all processes."""
    (row,) = await tx.fetch(SQL["count"], tx.tenant_id, user, at, WINDOW, MOST_SEARCHES)
    return Searches(row["number"], row["started_at"])


async def remove(tx: Transaction, before: datetime, most: int) -> int:
    """Remove the searches of minutes that began before this time.

    Returns their number.
    """
    await tx.execute(PLANNING)
    (row,) = await tx.fetch(SQL["remove"], before, most)
    return int(row["removed"])
