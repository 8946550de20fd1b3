"""Endpoint that starts a check for drift.

Its results are in the list of findings.
"""

from msgspec import Struct, json

from chamberlain.auth.permissions import Operation
from chamberlain.changes.models import format_time
from chamberlain.drift.models import DriftCheck as RecordedCheck
from chamberlain.drift.service import DriftService
from chamberlain.http.endpoint_tables import About, Endpoint, EndpointTable, Success
from chamberlain.http.request import ACTION, ActionBody, Call, act_of
from chamberlain.http.resource import CACHE, acted
from chamberlain.http.responses import Answer
from chamberlain.http.wire import Time


class DriftCheck(Struct, rename="camel", frozen=True):
    """Times of a tenant's drift checks: last request, start and end."""

    asked_at: Time | None
    began_at: Time | None
    finished_at: Time | None


async def check(drift: DriftService, call: Call[ActionBody]) -> Answer:
    """Start a check."""
    answer = acted(await drift.check(call.caller, act_of(call), _render))
    return Answer(202, answer.body, answer.headers)


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
CHECK_CODES = (
    "notAdministrator", "notFound", "idempotencyKeyReused", "idempotencyKeyInProgress", "databaseUnavailable",
    "overloaded",
)  # fmt: skip

# fmt: off
ENDPOINTS = EndpointTable(DriftService, (
    Endpoint("POST", "/admin/v1/drift/check/", check, Operation.ADMINISTER_SERVICE, ABOUT_CHECK, CHECKED,
             shape=ACTION, codes=CHECK_CODES, body_is_optional=True),
))
# fmt: on
