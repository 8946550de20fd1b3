# SPDX-License-Identifier: Apache-2.0
"""Read the figures of a tenant."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Final

from chamberlain.auth.authorization import Authorization
from chamberlain.auth.models import Caller
from chamberlain.auth.permissions import Operation
from chamberlain.database.transactions import Database
from chamberlain.figures import store
from chamberlain.figures.models import Figures
from chamberlain.figures.rules import days_of, ready_times

# Templates and days of one answer. One of them takes about 200 bytes.
MOST_READY: Final = 10_000


@dataclass(frozen=True, slots=True)
class FigureService:
    """Read figures.

    Every method raises Forbidden for callers who are not administrators, and Unavailable.
    """

    database: Database
    authorization: Authorization
    now: Callable[[], datetime]

    async def read(self, caller: Caller, first: date | None, last: date | None) -> Figures:
        """Read the figures from the first to the last day of UTC.

        The default is the last 30 days. Raises Malformed for days that are no period, or a too long one.
        """
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        days = days_of(first, last, self.now().astimezone(UTC).date())
        async with self.database.transaction(caller.tenant_id) as tx:
            counts = await store.read_days(tx, caller.tenant_id, days)
            buckets = await store.read_ready(tx, caller.tenant_id, days, most=MOST_READY)
            templates = list(dict.fromkeys(each.template_id for each in buckets))
            names = await store.read_names(tx, caller.tenant_id, templates)
            backlog = await store.read_backlog(tx, caller.tenant_id)
        times = ready_times(buckets, names)
        return Figures(counts, times, is_truncated=len(times) == MOST_READY, backlog=backlog)
