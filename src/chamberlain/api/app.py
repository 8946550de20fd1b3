"""All endpoints on one screen, and the application made of them."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from starlette.middleware.errors import ServerErrorMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from chamberlain.api.context import HttpContext
from chamberlain.api.endpoint import AnyEndpoint, EndpointTable
from chamberlain.api.endpoints import (
    adoptions,
    assignments,
    audit,
    collab_templates,
    deliveries,
    documents,
    drift,
    events,
    findings,
    groups,
    health,
    jobs,
    mailbox_templates,
    mailboxes,
    policies,
    requests,
    tenant,
    timeline,
    webhooks,
)
from chamberlain.api.front import TRACE_ID, Front
from chamberlain.api.openapi import describe
from chamberlain.api.problems import problem_of_bug
from chamberlain.api.trace import echoes

TABLES: tuple[EndpointTable[Any], ...] = (
    groups.ENDPOINTS,
    requests.ENDPOINTS,
    timeline.ENDPOINTS,
    jobs.ENDPOINTS,
    deliveries.ENDPOINTS,
    webhooks.ENDPOINTS,
    audit.ENDPOINTS,
    mailboxes.ENDPOINTS,
    mailbox_templates.ENDPOINTS,
    assignments.ENDPOINTS,
    findings.ENDPOINTS,
    adoptions.ENDPOINTS,
    drift.ENDPOINTS,
    events.ENDPOINTS,
    collab_templates.ENDPOINTS,
    tenant.ENDPOINTS,
    health.ENDPOINTS,
    policies.ENDPOINTS,
)
ENDPOINTS: tuple[AnyEndpoint, ...] = tuple(endpoint for table in TABLES for endpoint in table.endpoints)


def create_app(http: HttpContext, services: Sequence[object], mounts: Mapping[str, ASGIApp] | None = None) -> ASGIApp:
    """Build the whole API. `services` has one instance for each table of endpoints.

    `mounts` are other applications below a path prefix, such as the embedded directory.
    """
    published = documents.endpoints(partial(describe, ENDPOINTS, http))
    served = [each for table in (*TABLES, published) for each in table.serve([*services, http])]
    # Answers unexpected errors, and raises them again so that the server logs each once, with its traceback.
    return ServerErrorMiddleware(Front(http, served, mounts or {}), handler=_answer_bug)


async def _answer_bug(request: Request, error: Exception) -> Response:
    trace_id = request.scope[TRACE_ID]
    # The server logs it when the call is over and its trace forgotten.
    error.add_note(f"traceId: {trace_id}")
    answer = problem_of_bug(request.scope["path"], trace_id)
    echoed = echoes(dict(request.scope["headers"]), trace_id)
    headers = {name.decode("ascii"): value.decode("ascii") for name, value in echoed}
    return Response(answer.body, answer.status, headers, answer.content_type.decode("ascii"))
