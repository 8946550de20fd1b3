# SPDX-License-Identifier: Apache-2.0
"""SQL of figures: count, read and remove.

Ended requests are counted by their events.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from chamberlain.core.ids import TemplateId, TenantId
from chamberlain.database.transactions import PLANNING, Record, Transaction
from chamberlain.figures.models import Backlog, BucketCount, DayCount, Days, Since, TemplateTimes
from chamberlain.figures.rules import GROWTH, percentiles_of
from chamberlain.queries import load_queries
from chamberlain.queue.models import MOST_COUNTED
from chamberlain.requests.models import RequestKind, RequestState

SQL = load_queries(__name__)
COUNT = SQL["count"]
DAYS = SQL["days"]
READY = SQL["ready"]

# Of requests that wait for a person or for the directory. Those that are on their way are not kept by state.
_WAITING = [RequestState.PENDING_APPROVAL, RequestState.WAITING]


async def count(tx: Transaction, *, after: timedelta, most: int) -> int:
    """Count the next events, and return the number of passed sequences.

    It is `most` at most. Each event is counted once, `after` so long. Needs the worker's role.
    """
    await tx.execute(SQL["hold"])
    (position,) = await tx.fetch(SQL["move"], after, most)
    passed = int(position["until"] - position["after"])
    if passed:
        await tx.execute(COUNT, GROWTH, position["after"], position["until"])
    return passed


async def read_days(tx: Transaction, tenant_id: TenantId, days: Days) -> Sequence[DayCount]:
    """Count the requests of a tenant by day, kind and state."""
    rows = await tx.fetch(DAYS, _WAITING, tenant_id, days.first, days.last)
    return [
        DayCount(row["day"], RequestKind(row["kind"]), RequestState(row["state"]), int(row["number"])) for row in rows
    ]


async def read_ready(tx: Transaction, tenant_id: TenantId, days: Days, *, most: int) -> Sequence[BucketCount]:
    """Read the histograms of the newest `most` templates and days."""
    rows = await tx.fetch(READY, GROWTH, tenant_id, days.first, days.last, most)
    return [
        BucketCount(TemplateId(row["template_id"]), row["day"], Since(row["since"]), row["bucket"], int(row["number"]))
        for row in rows
    ]


async def read_names(
    tx: Transaction, tenant_id: TenantId, template_ids: Sequence[TemplateId]
) -> Mapping[TemplateId, str]:
    """Read the names of the templates that are not deleted."""
    rows = await tx.fetch(SQL["names"], tenant_id, template_ids)
    return {TemplateId(row["template_id"]): row["name"] for row in rows}


async def read_backlog(tx: Transaction, tenant_id: TenantId) -> Backlog:
    """Count jobs, findings and deliveries that wait or fail."""
    (row,) = await tx.fetch(SQL["backlog"], tenant_id, MOST_COUNTED)
    return Backlog(**dict(row))


async def read_recent(tx: Transaction, *, most: int) -> Sequence[TemplateTimes]:
    """Read the percentiles of the last day of the busiest templates.

    There are at most `most` of all tenants. Needs the worker's role.
    """
    histograms: dict[tuple[TenantId, TemplateId, Since], dict[int, int]] = {}
    for row in await tx.fetch(SQL["recent"], most):
        histograms.setdefault(_place(row), {})[row["bucket"]] = int(row["number"])
    return [
        TemplateTimes(*place, sum(histogram.values()), percentiles_of(histogram))
        for place, histogram in sorted(histograms.items())
    ]


async def remove(tx: Transaction, before: datetime, most: int) -> int:
    """Remove counts of hours before this time, and return their number."""
    await tx.execute(PLANNING)
    (row,) = await tx.fetch(SQL["remove"], before, most)
    return int(row["removed"])


def _place(row: Record) -> tuple[TenantId, TemplateId, Since]:
    return TenantId(row["tenant_id"]), TemplateId(row["template_id"]), Since(row["since"])
