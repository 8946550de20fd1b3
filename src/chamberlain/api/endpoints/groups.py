"""Groups and teams are asked for here."""

from uuid import UUID

from msgspec import Struct, json

from chamberlain.api.calls import Answer, Call, Headers
from chamberlain.api.endpoint import About, Success
from chamberlain.api.services import Services
from chamberlain.api.submission import submission_of
from chamberlain.rules.requests import Accepted
from chamberlain.shapes.groups import GroupBody, to_group_order


class AcceptedGroup(Struct, rename="camel", frozen=True):
    """A group that is queued durably. Its state is read, and in the directory it is found, by `requestId`."""

    request_id: UUID
    tenant_id: UUID
    approval_required: bool


async def create(services: Services, call: Call[GroupBody]) -> Answer:
    """Queue a group or team."""
    accepted = await services.request_group(call.caller, to_group_order(call.body), submission_of(call))
    return _answer(accepted, services)


def _answer(accepted: Accepted, services: Services) -> Answer:
    body = AcceptedGroup(accepted.request_id, accepted.tenant_id, accepted.approval_required)
    operation = f"{services.addresses.base_url}/requests/v1/{accepted.request_id}/"
    headers: Headers = (
        (b"operation-location", operation.encode("ascii")),
        (b"retry-after", b"%d" % services.retry_after_seconds),
    )
    if accepted.replayed:
        headers += ((b"idempotency-replayed", b"true"),)
    return Answer(202, _encode(body), headers)


_encode = json.Encoder().encode

ABOUT_CREATE = About(
    id="createGroup",
    tag="Groups and teams",
    summary="Ask for a group or team",
    description="The template decides whether it becomes a group or a team. The answer is sent when the request is "
    "queued durably; follow it at `Operation-Location`, or look for the group in the directory by its requestId. "
    'In the body `null` means "not sent".',
    example={"displayName": "Secret", "templateId": "7e000000-0000-4000-8000-000000000013"},
)
CREATED = Success(
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
            "description": "The state of what was asked for.",
        }
    },
)
CREATE_CODES = (
    "teamLicenseRequired", "templateNotAllowed", "notPossible", "idempotencyKeyReused", "idempotencyKeyInProgress",
    "addressTaken", "quotaExceeded", "databaseUnavailable", "overloaded",
)  # fmt: skip
