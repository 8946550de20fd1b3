# SPDX-License-Identifier: Apache-2.0
from datetime import UTC, datetime, timedelta

import pytest

from chamberlain.core.errors import Cause, ConnectionBroken, OutsideFault, Rejected, TryAgain
from chamberlain.core.waits import Waited
from chamberlain.directory.steps import Step
from chamberlain.requests.retries import ENDS, After, GiveUp, retry_step

pytestmark = pytest.mark.pure

FIRST = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
SECOND = timedelta(seconds=1)
REASON = "The directory does not show the new group yet."


def test_it_works() -> None:
    fault = TryAgain(10 * SECOND, REASON)

    again = retry_step(Step.CREATE_TEAM, fault, attempt=1, first=FIRST, now=FIRST)

    assert again == After(FIRST + 10 * SECOND, fault.because, FIRST + timedelta(hours=2), Waited(FIRST, Cause.NOT_YET))


@pytest.mark.parametrize(
    ("after", "waits"),
    [
        (10.0, [10.0, 15.0, 20.0, 30.0, 45.0, 60.0, 60.0]),
        (0.2, [0.2, 0.3, 0.4, 0.6, 0.9, 1.2, 1.2]),
        (0.0, [0.1, 0.15, 0.2, 0.3, 0.45, 0.6, 0.6]),
        (50.0, [50.0, 60.0, 60.0, 60.0, 60.0, 60.0, 60.0]),
        (600.0, [600.0] * 7),
    ],
)
def test_it_waits_longer_each_time(after: float, waits: list[float]) -> None:
    fault = TryAgain(after * SECOND, REASON)

    for attempt, wait in enumerate(waits, start=1):
        again = retry_step(Step.ADD_OWNERS, fault, attempt=attempt, first=FIRST, now=FIRST)
        assert again == After(
            FIRST + wait * SECOND, fault.because, FIRST + timedelta(minutes=20), Waited(FIRST, Cause.NOT_YET)
        )


@pytest.mark.parametrize("step", Step)
def test_it_gives_up_at_a_time_whatever_the_number_of_tries(step: Step) -> None:
    fault = TryAgain(10 * SECOND, REASON)
    end = FIRST + ENDS[step]

    last = retry_step(step, fault, attempt=10_000, first=FIRST, now=end - SECOND)

    assert isinstance(last, After)
    assert last.ends_at == end
    assert isinstance(retry_step(step, fault, attempt=2, first=FIRST, now=end), GiveUp)


def test_it_says_what_it_waited_for_and_how_long() -> None:
    fault = TryAgain(10 * SECOND, REASON)
    late = FIRST + timedelta(days=2)

    assert retry_step(Step.ADD_MEMBERS, fault, attempt=30, first=FIRST, now=late) == GiveUp(
        "directoryNotReady", f"{REASON} This was tried for 20 minutes. Retry the request later."
    )
    assert retry_step(Step.CREATE_TEAM, fault, attempt=30, first=FIRST, now=late) == GiveUp(
        "directoryNotReady", f"{REASON} This was tried for 2 hours. Retry the request later."
    )


def test_it_gives_up_at_once_when_the_directory_says_never() -> None:
    fault = Rejected("addressTaken", "Somebody else has this address.")

    again = retry_step(Step.CREATE_GROUP, fault, attempt=1, first=FIRST, now=FIRST)

    assert again == GiveUp("addressTaken", "Somebody else has this address.")


MINUTES_OF = {
    20: {
        Step.ADD_OWNERS,
        Step.ADD_MEMBERS,
        Step.SET_LABEL,
        Step.ASSIGN_GUEST_RULES,
        Step.SET_PROPERTIES,
        Step.SET_ADDRESS_FIELDS,
        Step.SET_BOOKING,
        Step.SET_AUTOMATIC_REPLY,
        Step.SET_QUOTA,
        Step.SET_CAPACITY,
        Step.SET_VISIBILITY,
        Step.SET_ALIASES,
        Step.SET_OWNERS,
        Step.SET_GUEST_ACCESS,
        Step.SET_GUEST_DOMAINS,
        Step.SET_SHARING_CAPABILITY,
        Step.REPAIR_DRIFT,
    },
    120: {Step.CREATE_TEAM, Step.CREATE_CHANNELS, Step.SET_PERMISSIONS},
    1440: {Step.CHECK_PEOPLE, Step.CREATE_GROUP, Step.CREATE_MAILBOX, Step.MARK_ASSIGNMENT, Step.SET_PLACE},
}


@pytest.mark.parametrize(("minutes", "steps"), MINUTES_OF.items())
def test_each_step_is_tried_for_so_long(minutes: int, steps: set[Step]) -> None:
    assert {step for step, end in ENDS.items() if end == timedelta(minutes=minutes)} == steps


def test_a_fault_of_no_known_kind_is_raised() -> None:
    fault = OutsideFault("Something else.")

    with pytest.raises(OutsideFault) as caught:
        retry_step(Step.CREATE_GROUP, fault, attempt=1, first=FIRST, now=FIRST)
    assert caught.value is fault


@pytest.mark.parametrize("cause", [Cause.BUSY, Cause.AWAY])
@pytest.mark.parametrize("step", Step)
def test_each_step_waits_a_day_for_a_directory_that_is_busy_or_away(step: Step, cause: Cause) -> None:
    fault = TryAgain(10 * SECOND, REASON, cause)
    end = FIRST + timedelta(hours=24)

    last = retry_step(step, fault, attempt=10_000, first=FIRST, now=end - SECOND)

    assert isinstance(last, After)
    assert last.ends_at == end
    assert retry_step(step, fault, attempt=2, first=FIRST, now=end) == GiveUp(
        "directoryNotReady", f"{REASON} This was tried for 24 hours. Retry the request later."
    )


def test_a_broken_connection_is_waited_for_without_end() -> None:
    late = FIRST + timedelta(days=100)

    again = retry_step(Step.ADD_MEMBERS, ConnectionBroken(60 * SECOND, REASON), attempt=1, first=FIRST, now=late)

    assert isinstance(again, After)
    assert (again.at, again.ends_at, again.waited) == (late + 60 * SECOND, None, Waited(late, None))
