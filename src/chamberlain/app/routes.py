# SPDX-License-Identifier: Apache-2.0
"""All endpoints on one screen, and the application made of them."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from starlette.middleware.errors import ServerErrorMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from chamberlain.adoptions import endpoints as adoption_endpoints
from chamberlain.audit import endpoints as audit_endpoints
from chamberlain.configuration import endpoints as configuration_endpoints
from chamberlain.connections import endpoints as connection_endpoints
from chamberlain.drift import endpoints as drift_endpoints
from chamberlain.events import endpoints as event_endpoints
from chamberlain.figures import endpoints as figure_endpoints
from chamberlain.groups import endpoints as group_endpoints
from chamberlain.guests.assignments import endpoints as assignment_endpoints
from chamberlain.guests.findings import endpoints as finding_endpoints
from chamberlain.guests.policies import endpoints as policy_endpoints
from chamberlain.http import endpoints as http_endpoints
from chamberlain.http.endpoint_tables import AnyEndpoint, EndpointTable
from chamberlain.http.openapi import describe
from chamberlain.http.pipeline import TRACE_ID, Pipeline
from chamberlain.http.problems import problem_of_bug
from chamberlain.http.request import HttpContext, echoes
from chamberlain.mailboxes import endpoints as mailbox_endpoints
from chamberlain.me import endpoints as me_endpoints
from chamberlain.people import endpoints as people_endpoints
from chamberlain.permissions import endpoints as permission_endpoints
from chamberlain.queue import endpoints as queue_endpoints
from chamberlain.releases import endpoints as release_endpoints
from chamberlain.requests import endpoints as request_endpoints
from chamberlain.substitutes import endpoints as substitute_endpoints
from chamberlain.template_admin import endpoints as template_admin_endpoints
from chamberlain.tenants import endpoints as tenant_endpoints
from chamberlain.webhooks import endpoints as webhook_endpoints

TABLES: tuple[EndpointTable[Any], ...] = (
    me_endpoints.ENDPOINTS,
    group_endpoints.ENDPOINTS,
    request_endpoints.ENDPOINTS,
    substitute_endpoints.ENDPOINTS,
    queue_endpoints.ENDPOINTS,
    webhook_endpoints.ENDPOINTS,
    audit_endpoints.ENDPOINTS,
    mailbox_endpoints.ENDPOINTS,
    template_admin_endpoints.ENDPOINTS,
    assignment_endpoints.ENDPOINTS,
    finding_endpoints.ENDPOINTS,
    adoption_endpoints.ENDPOINTS,
    release_endpoints.ENDPOINTS,
    connection_endpoints.ENDPOINTS,
    drift_endpoints.ENDPOINTS,
    event_endpoints.ENDPOINTS,
    tenant_endpoints.ENDPOINTS,
    configuration_endpoints.ENDPOINTS,
    http_endpoints.ENDPOINTS,
    policy_endpoints.ENDPOINTS,
    figure_endpoints.ENDPOINTS,
    permission_endpoints.ENDPOINTS,
    people_endpoints.ENDPOINTS,
)
ENDPOINTS: tuple[AnyEndpoint, ...] = tuple(endpoint for table in TABLES for endpoint in table.endpoints)


def create_app(http: HttpContext, services: Sequence[object], mounts: Mapping[str, ASGIApp] | None = None) -> ASGIApp:
    """Build the whole API. `services` has one instance for each endpoint table.

    `mounts` are other applications below a path prefix, such as the embedded directory.
    """
    published = http_endpoints.endpoints(partial(describe, ENDPOINTS, http))
    served = [each for table in (*TABLES, published) for each in table.serve([*services, http])]
    # Answers unexpected errors, and raises them again so that the server logs each once, with its traceback.
    return ServerErrorMiddleware(Pipeline(http, served, mounts or {}), handler=_answer_bug)


async def _answer_bug(request: Request, error: Exception) -> Response:
    trace_id = request.scope[TRACE_ID]
    # The server logs it when the call is over and its trace forgotten.
    error.add_note(f"traceId: {trace_id}")
    answer = problem_of_bug(request.scope["path"], trace_id)
    echoed = echoes(dict(request.scope["headers"]), trace_id)
    headers = {name.decode("ascii"): value.decode("ascii") for name, value in echoed}
    return Response(answer.body, answer.status, headers, answer.content_type.decode("ascii"))
