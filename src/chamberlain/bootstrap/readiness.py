"""Whether the service can do its work at present."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from chamberlain.api.services import Check
from chamberlain.bootstrap.origins import now
from chamberlain.rules.checkups import MOST_CLOCK_DIFFERENCE
from chamberlain.rules.errors import Unavailable
from chamberlain.store.database import Database

# Whoever asks wants to know now; a database that does not answer within this time is not there.
PATIENCE = timedelta(seconds=2)


@dataclass(frozen=True, slots=True)
class Readiness:
    """Looks at the database and its clock."""

    database: Database

    async def __call__(self) -> Sequence[Check]:
        """All checks, passed or not."""
        try:
            async with asyncio.timeout(PATIENCE.total_seconds()), self.database.statement() as connection:
                theirs = await connection.fetchval("SELECT clock_timestamp()")
        except (Unavailable, TimeoutError):
            return [Check("database", passed=False, detail="The database does not answer.")]
        difference = abs(theirs - now())
        return [
            Check("database", passed=True),
            Check(
                "clock",
                passed=difference <= MOST_CLOCK_DIFFERENCE,
                detail=None
                if difference <= MOST_CLOCK_DIFFERENCE
                else f"The clocks of this machine and the database differ by {difference.total_seconds():.0f} seconds.",
            ),
        ]
