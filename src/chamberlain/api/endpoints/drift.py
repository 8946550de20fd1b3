"""A check for drift is asked for here; what it finds is listed with the other findings."""

from msgspec import Struct, json

from chamberlain.api.administered import CACHE
from chamberlain.api.answers import Answer
from chamberlain.api.calls import Call
from chamberlain.api.endpoint import About, Success
from chamberlain.api.request_shapes import Time, time_of
from chamberlain.api.services import Services
from chamberlain.api.submission import act_of, acted
from chamberlain.rules.drift_checks import DriftCheck as RecordedCheck
from chamberlain.shapes.actions import ActionBody


class DriftCheck(Struct, rename="camel", frozen=True):
    """The checks of the tenant: when one was asked for, and when the last one began and one ended last."""

    asked_at: Time | None
    began_at: Time | None
    finished_at: Time | None


async def check(services: Services, call: Call[ActionBody]) -> Answer:
    """Let a check begin."""
    answer = acted(await services.ask_for_drift_check(call.caller, act_of(call), _render))
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
