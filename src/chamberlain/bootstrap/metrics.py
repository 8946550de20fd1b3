"""The figures of the process on a listener of their own."""

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp

from chamberlain.metrics import CONTENT_TYPE, exposition, findings_seen, jobs_seen
from chamberlain.rules.errors import Unavailable
from chamberlain.rules.findings import FindingKind
from chamberlain.store import findings, jobs
from chamberlain.store.database import Database


def metrics_application(worker: Database) -> ASGIApp:
    """Answers /metrics; the queue and the findings are looked at when somebody asks."""

    async def metrics(_: Request) -> Response:
        try:
            async with worker.across_tenants() as tx:
                depth = await jobs.measure(tx)
                open_findings = await findings.count_open(tx)
        except Unavailable:
            return PlainTextResponse("The database cannot be reached.\n", status_code=503)
        jobs_seen(queued=depth.due, oldest_seconds=depth.oldest.total_seconds(), held=depth.held)
        findings_seen({kind: open_findings.get(kind, 0) for kind in FindingKind})
        return Response(exposition(), media_type=CONTENT_TYPE)

    return Router([Route("/metrics", metrics)])
