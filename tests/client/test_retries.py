# SPDX-License-Identifier: Apache-2.0
"""Compute the delay of a retry."""

import pytest

from chamberlain_client import Retries, operations
from chamberlain_client.calls import Call, build_change, build_get, build_post
from chamberlain_client.errors import (
    AnswerNotUnderstood,
    ChamberlainError,
    Conflict,
    LimitReached,
    Malformed,
    ServiceFault,
    TimedOut,
    TokenUnusable,
    Unavailable,
    Unreachable,
)
from chamberlain_client.timing import retry_delay

ID = "7e000000-0000-4000-8000-000000000011"
READ = build_get(operations.READ_MAILBOX, ID)
CREATE = build_post(operations.CREATE_MAILBOX, body={}, key=None)
CHANGE = build_change(operations.REPLACE_POLICY, ID, body={}, if_match='"3"')


def refused(
    class_: type[Malformed] | type[ServiceFault], status: int, code: str, after: float | None = None
) -> ChamberlainError:
    return class_(status=status, code=code, detail="Not so.", retry_after=after)


def first(call: Call, error: ChamberlainError, retries: Retries | None = None, **more: float) -> float | None:
    options = {"attempt": 1, "elapsed": 0.0, "chance": 0.0, **more}
    return retry_delay(
        retries or Retries(),
        call,
        error,
        attempt=int(options["attempt"]),
        elapsed=options["elapsed"],
        chance=options["chance"],
    )


CUT = Unreachable("Cut.", was_sent=True)
NOT_SENT = Unreachable("No.", was_sent=False)
OVERLOADED = Unavailable(status=503, code="overloaded", detail="Later.", retry_after=7.0)


@pytest.mark.parametrize(
    ("call", "error", "seconds"),
    [
        pytest.param(READ, CUT, 0.25, id="reading, the connection broke"),
        pytest.param(CREATE, CUT, 0.25, id="creating with a key, the connection broke"),
        pytest.param(CREATE, TimedOut("Late.", was_sent=True), 0.25, id="creating with a key, no answer in time"),
        pytest.param(CHANGE, CUT, None, id="changing one version, the connection broke"),
        pytest.param(CHANGE, NOT_SENT, 0.25, id="changing one version, it was never sent"),
        pytest.param(CHANGE, OVERLOADED, 7.0, id="changing one version, it was refused"),
        pytest.param(CREATE, OVERLOADED, 7.0, id="Retry-After"),
        pytest.param(
            CREATE, LimitReached(status=429, code="rateExceeded", detail="Slow.", retry_after=2.0), 2.0, id="too fast"
        ),
        pytest.param(
            CREATE,
            LimitReached(status=429, code="rateExceeded", detail="Slow."),
            0.25,
            id="too fast, without Retry-After",
        ),
        pytest.param(
            CREATE,
            Conflict(status=409, code="idempotencyKeyInProgress", detail="Still.", retry_after=1.0),
            1.0,
            id="the first call with the key is running",
        ),
        pytest.param(CREATE, Conflict(status=409, code="nameTaken", detail="Taken."), None, id="a name is taken"),
        pytest.param(READ, ServiceFault(status=500, code="internalError", detail="Bug."), None, id="a bug"),
        pytest.param(READ, AnswerNotUnderstood(502, "no"), None, id="a proxy"),
        pytest.param(READ, TokenUnusable(), None, id="no token"),
    ],
)
def test_it_works(call: Call, error: ChamberlainError, seconds: float | None) -> None:
    assert first(call, error) == seconds


def test_it_backs_off_up_to_ten_seconds() -> None:
    pauses = [first(READ, CUT, Retries(attempts=99, within=999), attempt=each, chance=1.0) for each in range(1, 8)]

    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0]


def test_it_never_waits_less_than_retry_after() -> None:
    assert [first(READ, OVERLOADED, chance=chance) for chance in (0.0, 1.0)] == [7.0, 7.25]


@pytest.mark.parametrize(
    ("attempt", "elapsed", "again"),
    [
        pytest.param(4, 0.0, True, id="one is left"),
        pytest.param(5, 0.0, False, id="none is left"),
        pytest.param(1, 53.0, True, id="just within the time"),
        pytest.param(1, 53.1, False, id="the next would be too late"),
    ],
)
def test_it_ends(attempt: int, elapsed: float, again: bool) -> None:  # noqa: FBT001  A value of the table.
    assert (first(READ, OVERLOADED, attempt=attempt, elapsed=elapsed) is not None) is again


def test_it_can_be_disabled() -> None:
    assert first(READ, NOT_SENT, Retries(attempts=1)) is None
