# SPDX-License-Identifier: Apache-2.0
"""Command that shows the figures of the tenant."""

from collections.abc import Sequence
from typing import Final

from chamberlain.cli.calls import Area, Call, show, show_report
from chamberlain.cli.formats import Format
from chamberlain.cli.output import Column, Record
from chamberlain_client import operations

_DAYS: Final = (Column("DAY", "day"), Column("KIND", "kind"), Column("STATE", "state"), Column("COUNT", "count"))
_TIMES: Final = (
    Column("DAY", "day"),
    Column("TEMPLATE", "templateName"),
    Column("ID", "templateId", wide=True),
    Column("COUNT", "count"),
    Column("P50 MS", "p50Ms"),
    Column("P95 MS", "p95Ms"),
    Column("P50 MS FROM APPROVAL", "fromApprovalP50Ms", wide=True),
    Column("P95 MS FROM APPROVAL", "fromApprovalP95Ms", wide=True),
)


def show_figures(call: Call, *, first: str | None, last: str | None) -> None:
    """Print requests by day, time to ready by template, and the backlog."""
    with call.service(Area.ADMIN) as service:
        figures = service.read(operations.READ_FIGURES, query={"from": first, "to": last})
    days, times = _records(figures["days"]), _records(figures["timeToReady"])
    show_report(call, figures, (_DAYS, days, "requests in this period"), (_TIMES, times, "finished requests"))
    if call.output.format is Format.TABLE:
        show(call, {name: figures[name] for name in ("queue", "findings", "deliveries")})


def _records(items: object) -> Sequence[Record]:
    return [each for each in items if isinstance(each, dict)] if isinstance(items, list) else []
