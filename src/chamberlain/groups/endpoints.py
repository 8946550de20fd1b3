# SPDX-License-Identifier: Apache-2.0
"""Endpoint of groups and teams: create."""

from msgspec import json

from chamberlain.auth.permissions import Operation
from chamberlain.groups.service import GroupService
from chamberlain.groups.wire import (
    EXAMPLE,
    GROUP,
    AcceptedGroup,
    CreatedGroup,
    DryRunGroup,
    Group,
    GroupBody,
    dry_run_group,
    to_group_order,
)
from chamberlain.http.endpoint_tables import About, Endpoint, EndpointTable, Success
from chamberlain.http.request import Call, HttpContext, Parameter, submission_of, wait_of
from chamberlain.http.responses import Answer, Headers
from chamberlain.requests.models import Accepted, RequestResult
from chamberlain.requests.wire import DRY_RUN


async def create(groups: GroupService, call: Call[GroupBody]) -> Answer:
    """Queue a request for a group or team, or preview it."""
    if call.query.get(DRY_RUN.name) == "true":
        dry_run = await groups.dry_run(call.caller, to_group_order(call.body))
        return Answer(200, _encode(dry_run_group(dry_run)))
    accepted = await groups.request(call.caller, to_group_order(call.body), submission_of(call))
    patience = wait_of(call.listed_headers) if b"prefer" in call.headers else None
    # A replay gets the first answer. Approvals take too long to wait for.
    if patience is not None and not accepted.replayed and not accepted.approval_required:
        result = await call.http.streams.attend(groups.await_result(accepted), call.receive, patience)
        if result is not None:
            return _created(accepted, result, call.http)
    return _accepted(accepted, call.http)


def _accepted(accepted: Accepted, http: HttpContext) -> Answer:
    body = AcceptedGroup(accepted.request_id, accepted.tenant_id, accepted.approval_required)
    headers: Headers = (
        (b"operation-location", _operation(accepted, http)),
        (b"retry-after", b"%d" % http.retry_after_seconds),
    )
    if accepted.replayed:
        headers += ((b"idempotency-replayed", b"true"),)
    return Answer(202, _encode(body), headers)


def _created(accepted: Accepted, result: RequestResult, http: HttpContext) -> Answer:
    group = Group(result.id, result.display_name, result.mail)
    body = CreatedGroup(accepted.request_id, accepted.tenant_id, accepted.approval_required, group)
    headers: Headers = (
        (b"location", f"{http.addresses.graph_url}/v1.0/groups/{result.id}".encode("ascii")),
        (b"operation-location", _operation(accepted, http)),
        (b"preference-applied", b"wait"),
    )
    return Answer(201, _encode(body), headers)


def _operation(accepted: Accepted, http: HttpContext) -> bytes:
    return f"{http.addresses.base_url}/requests/v1/{accepted.request_id}/".encode("ascii")


_encode = json.Encoder().encode

ABOUT_CREATE = About(
    id="createGroup",
    tag="Groups and teams",
    summary="Request a group or team",
    description="The template decides whether it becomes a group or a team. The answer is sent when the request is "
    "queued durably; follow it at `Operation-Location`, or look for the group in the directory by its requestId. "
    'In the body `null` means "not sent".',
    example={"displayName": "Secret", "templateId": "7e000000-0000-4000-8000-000000000013"},
)
PREFER = Parameter(
    "Prefer",
    {"type": "string", "examples": ["wait=10"]},
    "`wait=N` (RFC 7240): answer when the group exists, if that is within N seconds, at most 30.",
)
CREATED = Success(
    201,
    "The group exists. Only with `Prefer: wait=N`.",
    CreatedGroup,
    headers={
        "Location": "Address of the group in the directory.",
        "Operation-Location": "Address of the request.",
        "Preference-Applied": "Always `wait`.",
    },
    example={
        "requestId": "0d9c1b7e-5a0e-4c58-9a54-3d2f6a1b7c10",
        "tenantId": "e57a7e00-0000-4000-8000-000000000001",
        "approvalRequired": False,
        "group": {
            "id": "a2c7d7c4-7f0a-4e7e-9d55-7a8a1d1f0f01",
            "displayName": "Secret",
            "mail": "secret@estate.example",
        },
    },
)
QUEUED = Success(
    202,
    "Queued durably.",
    AcceptedGroup,
    headers={
        "Operation-Location": "Address of the request.",
        "Retry-After": "Seconds after which it is worth looking at the request.",
        "Idempotency-Replayed": "`true` when an earlier call with this key had been accepted; this is its answer.",
    },
    example={
        "requestId": "0d9c1b7e-5a0e-4c58-9a54-3d2f6a1b7c10",
        "tenantId": "e57a7e00-0000-4000-8000-000000000001",
        "approvalRequired": True,
    },
    links={
        "request": {
            "operationId": "readRequest",
            "parameters": {"requestId": "$response.body#/requestId"},
            "description": "The state of the request.",
        }
    },
)
PREVIEWED = Success(
    200,
    "The result of a dry run. Nothing was written and no number was used.",
    DryRunGroup,
    example=EXAMPLE,
)
CREATE_CODES = (
    "teamLicenseRequired", "templateNotAllowed", "notPossible", "idempotencyKeyReused", "idempotencyKeyInProgress",
    "addressTaken", "quotaExceeded", "databaseUnavailable", "overloaded",
)  # fmt: skip

# fmt: off
ENDPOINTS = EndpointTable(GroupService, (
    Endpoint("POST", "/collab/v1/groups/", create, Operation.CREATE_GROUP, ABOUT_CREATE,
             (PREVIEWED, CREATED, QUEUED), shape=GROUP, parameters=(DRY_RUN,),
             headers=(PREFER,), codes=CREATE_CODES),
))
# fmt: on
