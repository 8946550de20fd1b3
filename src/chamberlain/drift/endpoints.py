"""Endpoint that starts a check for drift.

Its results are in the list of findings.
"""

from msgspec import Struct, json

from chamberlain.auth.permissions import Operation
from chamberlain.drift.models import DriftCheck as RecordedCheck
from chamberlain.drift.service import DriftService
from chamberlain.http.calls import Answer
from chamberlain.http.context import Call
from chamberlain.http.idempotency import ACTION, ActionBody, act_of, acted
from chamberlain.http.resource import CACHE
from chamberlain.http.router import About, Endpoint, EndpointTable, Success
from chamberlain.http.wire import Time, time_of


class DriftCheck(Struct, rename="camel", frozen=True):
    """The checks of the tenant: when one was asked for, and when the last one began and one ended last."""

    asked_at: Time | None
    began_at: Time | None
    finished_at: Time | None


async def check(drift: DriftService, call: Call[ActionBody]) -> Answer:
    """Start a check."""
    answer = acted(await drift.check(call.caller, act_of(call), _render))
    return Answer(202, answer.body, answer.headers)


def _render(recorded: RecordedCheck) -> bytes:
    times = (recorded.asked_at, recorded.began_at, recorded.finished_at)
    return json.encode(DriftCheck(*[None if at is None else time_of(at) for at in times]))


ABOUT_CHECK = About(
    id="checkDrift",
    tag="Operation",
    summary="Check for drift now",
    description="What Chamberlain made, and what is assigned, is compared with what the directory shows, as in every "
    "night; where the tenant says so it is put right. It begins within seconds, or after the check that is under way; "
    "what it finds is in the list of findings. The body may be left out.",
    example={"comment": "Somebody has worked on the directory."},
)
CHECKED = (
    Success(
        202,
        "The check begins soon. `beganAt` and `finishedAt` are of those before it.",
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
