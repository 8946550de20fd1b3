# SPDX-License-Identifier: Apache-2.0
"""Readiness: whether the service can do its work at present."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from chamberlain.app.clock_and_ids import local_now
from chamberlain.core.errors import DatabaseUnavailable
from chamberlain.core.outages import Outage
from chamberlain.database.clock import MOST_CLOCK_DIFFERENCE
from chamberlain.database.transactions import Database
from chamberlain.http.request import Check

# Load balancers ask every few seconds. A database that takes longer than this does not answer.
PATIENCE = timedelta(seconds=2)


@dataclass(frozen=True, slots=True)
class Readiness:
    """Checks the database, its clock, and whether it took the last writes."""

    database: Database

    async def __call__(self) -> Sequence[Check]:
        """All checks, passed or not."""
        try:
            async with asyncio.timeout(PATIENCE.total_seconds()), self.database.statement() as connection:
                theirs = await connection.fetchval("SELECT clock_timestamp()")
        except DatabaseUnavailable as error:
            return [_failed("database", error.outage)]
        except TimeoutError:
            return [_failed("database", self.database.pool.outages.failed(Outage.NO_ANSWER))]
        difference = abs(theirs - local_now())
        is_close = difference <= MOST_CLOCK_DIFFERENCE
        sentence = f"The clocks of this machine and the database differ by {difference.total_seconds():.0f} seconds."
        return [
            Check("database", passed=True),
            Check("clock", passed=is_close)
            if is_close
            else Check("clock", passed=False, detail=sentence, reason_code="clocksDiffer"),
            self._writes(),
        ]

    def _writes(self) -> Check:
        """Check writes by the calls of the last seconds.

        A write of our own would not find every full disk. Not required: a process whose database can be read still
        serves reads, and refuses writes with the cause. Out of the load balancer it could do neither.
        """
        outage = self.database.pool.outages.current
        if outage is None or not outage.allows_reads:
            return Check("writes", passed=True, required=False)
        return Check("writes", passed=False, detail=outage.seen, reason_code=outage, required=False)


def _failed(name: str, outage: Outage) -> Check:
    return Check(name, passed=False, detail=outage.seen, reason_code=outage)
