"""Requests are read here: what was asked for, and how far it has come."""

from collections.abc import Mapping

from msgspec import json

from chamberlain.api.calls import Answer, Call
from chamberlain.api.endpoint import About, Success
from chamberlain.api.request_shapes import Request, request_of
from chamberlain.api.services import Services
from chamberlain.rules.ids import RequestId


async def read(services: Services, call: Call[None]) -> Answer:
    """One request with its steps."""
    view = await services.read_request(call.caller, RequestId(call.ids["requestId"]))
    return Answer(200, json.encode(request_of(view)), ((b"cache-control", b"no-store"),))


ABOUT_READ = About(
    id="readRequest",
    tag="Requests",
    summary="Read a request with its steps",
    description="Why it waits, until when, what was done and what came of it. What one may not read answers 404.",
)
_EXAMPLE: Mapping[str, object] = {
    "requestId": "0d9c1b7e-5a0e-4c58-9a54-3d2f6a1b7c10",
    "tenantId": "e57a7e00-0000-4000-8000-000000000001",
    "approvalRequired": True,
    "kind": "team",
    "state": "waiting",
    "displayName": "CONF-Secret",
    "template": {"id": "7e000000-0000-4000-8000-000000000013", "name": "Confidential team"},
    "body": {"displayName": "Secret", "templateId": "7e000000-0000-4000-8000-000000000013"},
    "waiting": {
        "step": "createTeam",
        "reason": "The directory does not show the new group to the team service yet.",
        "attempt": 3,
        "nextAttemptAt": "2026-11-20T09:31:00.000Z",
        "endsAt": "2026-11-20T11:30:00.000Z",
    },
    "blocked": None,
    "error": None,
    "warnings": [],
    "result": None,
    "steps": [],
    "approvals": [],
    "actions": [],
    "createdAt": "2026-11-20T09:30:00.000Z",
    "createdBy": {"type": "user", "id": "ada00000-0000-4000-8000-000000000001", "displayName": "Ada Achterberg"},
    "updatedAt": "2026-11-20T09:30:20.000Z",
    "finishedAt": None,
}
READ = (Success(200, "The request.", Request, headers={"Cache-Control": "Always `no-store`."}, example=_EXAMPLE),)
READ_CODES = ("notAdministrator", "notFound", "rateExceeded", "databaseUnavailable", "overloaded")
