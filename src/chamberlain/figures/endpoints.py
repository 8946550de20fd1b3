# SPDX-License-Identifier: Apache-2.0
"""Endpoint that reads the figures of a tenant."""

from datetime import date

from msgspec import json

from chamberlain.auth.permissions import Operation
from chamberlain.figures.rules import MOST_DAYS
from chamberlain.figures.service import FigureService
from chamberlain.figures.wire import Figures, to_figures
from chamberlain.http.endpoint_tables import About, Endpoint, EndpointTable, Success
from chamberlain.http.request import Call, Parameter
from chamberlain.http.resource import CACHE
from chamberlain.http.responses import NO_STORE, Answer


async def read(figures: FigureService, call: Call[None]) -> Answer:
    """Read the figures of some days."""
    found = await figures.read(call.caller, _day(call, "from"), _day(call, "to"))
    return Answer(200, json.encode(to_figures(found)), (NO_STORE,))


def _day(call: Call[None], name: str) -> date | None:
    text = call.query.get(name)
    return None if text is None else date.fromisoformat(text)


ABOUT = About(
    id="readFigures",
    tag="Operation",
    summary="Read figures: requests by day, time to ready, backlog",
    description="Requests by day, kind and state; the time to ready of each template by day; and what waits at "
    f"present. `from` and `to` are days of UTC, both included, at most {MOST_DAYS}. The default is the last 30 days. "
    "Figures are kept for 400 days, longer than their requests if those are removed earlier.",
)
_DAY = {"type": "string", "format": "date"}
PARAMETERS = (
    Parameter("from", _DAY, "The first day. The default is 29 days before the last one."),
    Parameter("to", _DAY, "The last day. The default is today."),
)
READ = (
    Success(
        200,
        "The figures.",
        Figures,
        headers=CACHE,
        example={
            "days": [{"day": "2026-11-20", "kind": "team", "state": "succeeded", "count": 42}],
            "timeToReady": [
                {
                    "templateId": "7e000000-0000-4000-8000-000000000012",
                    "templateName": "Project team",
                    "day": "2026-11-20",
                    "count": 42,
                    "p50Ms": 1840,
                    "p95Ms": 5210,
                    "fromApprovalP50Ms": 1840,
                    "fromApprovalP95Ms": 5210,
                }
            ],
            "timeToReadyTruncated": False,
            "queue": {"due": 0, "oldestSeconds": 0, "held": 0},
            "findings": {"open": 3},
            "deliveries": {"failing": 0},
        },
    ),
)
CODES = ("invalidParameter", "notAdministrator", "databaseUnavailable", "overloaded")

# fmt: off
ENDPOINTS = EndpointTable(FigureService, (
    Endpoint("GET", "/admin/v1/figures/", read, Operation.ADMINISTER_SERVICE, ABOUT, READ, parameters=PARAMETERS,
             codes=CODES),
))
# fmt: on
