"""The figures of the process on a listener of their own."""

import asyncio
from datetime import timedelta

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp

from chamberlain.core.errors import Unavailable
from chamberlain.database.transactions import Database
from chamberlain.guests import finding_records
from chamberlain.observability.metrics import (
    CONTENT_TYPE,
    deliveries_seen,
    exposition,
    exposition_without_database,
    findings_seen,
    jobs_seen,
)
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue import jobs_lanes

# Prometheus waits ten seconds for an answer unless it is told otherwise, and takes none for a process that has ended.
PATIENCE = timedelta(seconds=5)


def metrics_application(worker: Database, *, patience: timedelta = PATIENCE) -> ASGIApp:
    """Answers /metrics; the queue and the findings are looked at when somebody asks, and counted no further
    than queue/models_figures.py says. A database that does not answer within `patience` is away."""

    async def metrics(_: Request) -> Response:
        try:
            async with asyncio.timeout(patience.total_seconds()):
                await _look(worker)
        except (Unavailable, TimeoutError):
            # What the process has counted matters most while something is wrong.
            return Response(exposition_without_database(), media_type=CONTENT_TYPE)
        return Response(exposition(), media_type=CONTENT_TYPE)

    return Router([Route("/metrics", metrics)])


async def _look(worker: Database) -> None:
    async with worker.across_tenants() as tx:
        depth = await queue_jobs.measure(tx)
        deliveries = await jobs_lanes.measure(tx)
        open_findings = await finding_records.count_open(tx)
    jobs_seen(queued=depth.due, oldest_seconds=depth.oldest.total_seconds(), held=depth.held)
    deliveries_seen(due=deliveries.due, oldest_seconds=deliveries.oldest.total_seconds())
    findings_seen(open_findings)
