# SPDX-License-Identifier: Apache-2.0
"""Endpoints that start drift checks and repairs of findings.

The results of a check are in the list of findings.
"""

from uuid import UUID

from msgspec import Struct, json

from chamberlain.auth.permissions import Operation
from chamberlain.changes.models import format_time
from chamberlain.drift.models import DriftCheck as RecordedCheck
from chamberlain.drift.service import DriftService
from chamberlain.http.endpoint_tables import About, Endpoint, EndpointTable, Success
from chamberlain.http.request import ACTION, ActionBody, Call, act_of
from chamberlain.http.resource import CACHE, acted
from chamberlain.http.responses import Answer, Headers
from chamberlain.http.wire import Time
from chamberlain.requests.rules import RequestView
from chamberlain.requests.wire import Request, request_of


class DriftCheck(Struct, rename="camel", frozen=True):
    """Times of a tenant's drift checks: last request, start and end."""

    asked_at: Time | None
    began_at: Time | None
    finished_at: Time | None


async def check(drift: DriftService, call: Call[ActionBody]) -> Answer:
    """Start a check."""
    answer = acted(await drift.check(call.caller, act_of(call), _render))
    return Answer(202, answer.body, answer.headers)


async def repair(drift: DriftService, call: Call[ActionBody]) -> Answer:
    """Request the repair of a finding."""
    answer = await drift.repair(call.caller, call.ids["findingId"], act_of(call), _render_request)
    request_id = json.decode(answer.body, type=_Accepted).request_id
    location = f"{call.http.addresses.base_url}/requests/v1/{request_id}/"
    headers: Headers = (
        (b"operation-location", location.encode("ascii")),
        (b"retry-after", b"%d" % call.http.retry_after_seconds),
    )
    return Answer(202, answer.body, (*acted(answer).headers, *headers))


class _Accepted(Struct, rename="camel"):
    request_id: UUID


def _render_request(view: RequestView) -> bytes:
    return json.encode(request_of(view))


def _render(recorded: RecordedCheck) -> bytes:
    times = (recorded.asked_at, recorded.began_at, recorded.finished_at)
    return json.encode(DriftCheck(*[None if at is None else format_time(at) for at in times]))


ABOUT_CHECK = About(
    id="checkDrift",
    tag="Operation",
    summary="Check for drift now",
    description="Compares provisioned objects and assignments with the directory, as every night. Drift is repaired if "
    "the tenant's settings say so. The check begins within seconds, or after the one that is running. Its results are "
    "in the list of findings. The body may be left out.",
    example={"comment": "The directory was restored."},
)
CHECKED = (
    Success(
        202,
        "The check begins soon. `beganAt` and `finishedAt` belong to earlier checks.",
        DriftCheck,
        headers={
            **CACHE,
            "Idempotency-Replayed": "`true` when an earlier call with this key did it; this is its answer.",
        },
        example={
            "askedAt": "2026-11-20T09:30:00.000Z",
            "beganAt": "2026-11-20T02:12:00.000Z",
            "finishedAt": "2026-11-20T02:12:01.000Z",
        },
    ),
)
ABOUT_REPAIR = About(
    id="repairFinding",
    tag="Operation",
    summary="Repair a finding now",
    description="Sets the property to its desired value in the directory, whatever `repair` of the tenant says. The "
    "repair is a request of kind `repair`, which you can follow, cancel and retry as any other. The finding is "
    "`repaired` once the directory shows the desired value. Only findings of kinds `drift` and `repairDoesNotHold` can "
    "be repaired, and only properties that the directory can change. The body may be left out.",
    example={"comment": "The city was changed by mistake."},
)
REPAIRED = (
    Success(
        202,
        "Queued durably. The answer is the request that repairs.",
        Request,
        headers={
            **CACHE,
            "Operation-Location": "Address of the request.",
            "Retry-After": "Seconds after which it is worth looking at the request.",
            "Idempotency-Replayed": "`true` when an earlier call with this key did it; this is its answer.",
        },
        example={
            "requestId": "0d9c1b7e-5a0e-4c58-9a54-3d2f6a1b7c10",
            "tenantId": "e57a7e00-0000-4000-8000-000000000001",
            "approvalRequired": False,
            "kind": "repair",
            "state": "queued",
            "displayName": "The desk",
            "template": None,
            "waiting": None,
            "blocked": None,
            "error": None,
            "warnings": [],
            "result": None,
            "actions": ["cancel"],
            "createdAt": "2026-11-20T09:30:00.000Z",
            "createdBy": {
                "type": "user",
                "id": "ada00000-0000-4000-8000-000000000001",
                "displayName": "Ada Achterberg",
            },
            "updatedAt": "2026-11-20T09:30:00.000Z",
            "finishedAt": None,
            "body": {"comment": "The city was changed by mistake."},
            "steps": [
                {
                    "name": "repairDrift",
                    "title": "Set the property to its desired value",
                    "state": "pending",
                    "attempts": 0,
                    "startedAt": None,
                    "finishedAt": None,
                    "reason": None,
                    "nextAttemptAt": None,
                    "error": None,
                }
            ],
            "approvals": [],
        },
        links={
            "request": {
                "operationId": "readRequest",
                "parameters": {"requestId": "$response.body#/requestId"},
                "description": "The state of the request.",
            }
        },
    ),
)
REPAIR_CODES = (
    "notAdministrator", "notFound", "stateDoesNotAllow", "idempotencyKeyReused", "idempotencyKeyInProgress",
    "databaseUnavailable", "overloaded",
)  # fmt: skip
CHECK_CODES = (
    "notAdministrator", "notFound", "idempotencyKeyReused", "idempotencyKeyInProgress", "databaseUnavailable",
    "overloaded",
)  # fmt: skip

# fmt: off
ENDPOINTS = EndpointTable(DriftService, (
    Endpoint("POST", "/admin/v1/drift/check/", check, Operation.ADMINISTER_SERVICE, ABOUT_CHECK, CHECKED,
             shape=ACTION, codes=CHECK_CODES, body_is_optional=True),
    Endpoint("POST", "/admin/v1/findings/{findingId}/repair/", repair, Operation.ADMINISTER_SERVICE, ABOUT_REPAIR,
             REPAIRED, shape=ACTION, codes=REPAIR_CODES, body_is_optional=True),
))
# fmt: on
