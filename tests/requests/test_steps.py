# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from chamberlain.core.errors import Cause, ConnectionBroken, Fault, NotPossible, Rejected, TryAgain
from chamberlain.core.reasons import Reason
from chamberlain.core.waits import Waited
from chamberlain.directory.steps import Step
from chamberlain.requests.models import (
    MOVES,
    Progress,
    RequestError,
    RequestState,
    StepRecord,
    StepState,
    Waiting,
    begin_steps,
)
from chamberlain.requests.steps import abandon, after_faults, after_outcome, reasons, restart, shown_steps, warn
from tests.http.http_fixture import record

pytestmark = pytest.mark.pure

BEGUN = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
SECOND = timedelta(seconds=1)
NOW = BEGUN + SECOND
STEPS = (Step.CREATE_GROUP, Step.CREATE_TEAM, Step.CREATE_CHANNELS)
NOT_YET = TryAgain(10 * SECOND, "The team service does not see the group yet.")
CREATED = StepRecord(Step.CREATE_GROUP, StepState.SUCCEEDED, 1, BEGUN, NOW)
WAITING = StepRecord(
    Step.CREATE_TEAM,
    StepState.WAITING,
    1,
    BEGUN,
    reason=NOT_YET.reason,
    next_attempt_at=NOW + 10 * SECOND,
    cause=NOT_YET.because.cause,
    waited=Waited(NOW, Cause.NOT_YET, not_yet=SECOND),
)
PENDING = StepRecord(Step.CREATE_CHANNELS, StepState.PENDING)


def test_it_works() -> None:
    progress = after_outcome(begin_steps(STEPS), done=STEPS, fault=None, started_at=BEGUN, now=NOW)

    assert progress == Progress(
        RequestState.SUCCEEDED, tuple(StepRecord(step, StepState.SUCCEEDED, 1, BEGUN, NOW) for step in STEPS)
    )


def test_it_waits_at_the_first_step_that_is_not_done() -> None:
    progress = after_outcome(begin_steps(STEPS), done=(Step.CREATE_GROUP,), fault=NOT_YET, started_at=BEGUN, now=NOW)

    assert progress == Progress(
        RequestState.WAITING,
        (CREATED, WAITING, PENDING),
        waiting=Waiting(
            Step.CREATE_TEAM, NOT_YET.reason, 1, NOW + 10 * SECOND, BEGUN + timedelta(hours=2), NOT_YET.because.cause
        ),
    )


def test_it_goes_on_where_it_waited() -> None:
    begun, now = BEGUN + 11 * SECOND, BEGUN + 12 * SECOND

    progress = after_outcome((CREATED, WAITING, PENDING), done=STEPS, fault=None, started_at=begun, now=now)

    assert progress == Progress(
        RequestState.SUCCEEDED,
        (
            CREATED,
            StepRecord(Step.CREATE_TEAM, StepState.SUCCEEDED, 2, BEGUN, now),
            StepRecord(Step.CREATE_CHANNELS, StepState.SUCCEEDED, 1, begun, now),
        ),
    )


def test_it_waits_longer_the_second_time() -> None:
    progress = after_outcome((CREATED, WAITING, PENDING), done=(), fault=NOT_YET, started_at=NOW, now=NOW)

    ends_at = BEGUN + timedelta(hours=2)
    assert progress.waiting == Waiting(
        Step.CREATE_TEAM, NOT_YET.reason, 2, NOW + 15 * SECOND, ends_at, NOT_YET.because.cause
    )
    assert progress.steps[0] is CREATED


def test_it_fails_when_the_wait_began_too_long_ago() -> None:
    late = BEGUN + timedelta(days=1)

    progress = after_outcome((CREATED, WAITING, PENDING), done=(), fault=NOT_YET, started_at=late, now=late)

    assert progress.state is RequestState.FAILED
    assert progress.error is not None
    assert (progress.error.step, progress.error.code) == (Step.CREATE_TEAM, "directoryNotReady")


BUSY = TryAgain(10 * SECOND, Reason.build("directoryBusy"), Cause.BUSY)


def test_a_row_of_an_older_version_has_waited_for_its_last_reason() -> None:
    late = BEGUN + timedelta(hours=23)
    not_yet = replace(WAITING, waited=None)
    busy = replace(not_yet, reason=BUSY.reason, cause=BUSY.because.cause)

    failed = after_outcome((not_yet,), done=(), fault=NOT_YET, started_at=late, now=late)
    waits = after_outcome((busy,), done=(), fault=NOT_YET, started_at=late, now=late)

    assert failed.state is RequestState.FAILED
    assert waits.state is RequestState.WAITING
    assert waits.steps[0].waited == Waited(late, Cause.NOT_YET, unavailable=late - BEGUN)


def test_a_broken_connection_is_no_attempt() -> None:
    broken = ConnectionBroken(60 * SECOND, "The credential has lapsed.")

    progress = after_outcome((CREATED, WAITING), done=(), fault=broken, started_at=NOW, now=NOW)

    assert progress.waiting == Waiting(
        Step.CREATE_TEAM, broken.reason, 1, NOW + 60 * SECOND, None, broken.because.cause
    )


def test_it_fails_when_the_directory_says_never() -> None:
    never = Rejected("addressTaken", "Somebody else has this address.")

    progress = after_outcome(begin_steps(STEPS), done=(), fault=never, started_at=BEGUN, now=NOW)

    failed = StepRecord(Step.CREATE_GROUP, StepState.FAILED, 1, BEGUN, NOW, error=never.detail)
    assert progress == Progress(
        RequestState.FAILED,
        (failed, StepRecord(Step.CREATE_TEAM, StepState.PENDING), PENDING),
        error=RequestError(Step.CREATE_GROUP, never.code, never.detail),
    )


def test_it_keeps_warnings() -> None:
    warned = StepRecord(Step.SET_LABEL, StepState.WARNING, 1, BEGUN, NOW, reason="A delegated token is needed.")

    progress = after_outcome((CREATED, warned), done=(), fault=None, started_at=NOW, now=NOW)

    assert progress == Progress(RequestState.SUCCEEDED, (CREATED, warned))


def test_it_warns_of_what_a_finished_step_has_left() -> None:
    before = Progress(RequestState.SUCCEEDED, (CREATED, PENDING))

    left = Reason.build("lastOwner", guest="Zoe")

    warned = warn(before, CREATED.step, left)

    changed = replace(CREATED, state=StepState.WARNING, reason=left.sentence, cause=left.cause)
    assert warned.steps == (changed, PENDING)
    assert warn(before, PENDING.step, left) == before


@pytest.mark.parametrize("fault", [None, NOT_YET, Rejected("no", "No.")])
def test_it_only_moves_where_a_running_request_may(fault: TryAgain | Rejected | None) -> None:
    progress = after_outcome(begin_steps(STEPS), done=(), fault=fault, started_at=BEGUN, now=NOW)

    assert progress.state in MOVES[RequestState.RUNNING]


def test_it_rejects_a_fault_without_a_step() -> None:
    with pytest.raises(ValueError, match="all done"):
        after_outcome(begin_steps(STEPS), done=STEPS, fault=NOT_YET, started_at=BEGUN, now=NOW)


def test_it_fails_with_the_faults_that_were_found_late() -> None:
    faults = (Fault("/owners/0", "userUnknown", "No such user."), Fault("/labelId", "labelUnknown", "No such label."))

    progress = after_faults(begin_steps((Step.CHECK_PEOPLE, Step.CREATE_GROUP)), faults, started_at=BEGUN, now=NOW)

    assert progress.state is RequestState.FAILED
    assert [record.state for record in progress.steps] == [StepState.FAILED, StepState.PENDING]
    detail = "No such user. No such label. The body cannot be changed: cancel this request and send another."
    assert progress.error == RequestError(Step.CHECK_PEOPLE, "notPossible", detail, faults=faults)
    assert progress.steps[0].error == detail


def test_a_request_keeps_at_most_a_hundred_faults() -> None:
    faults = [Fault(f"/members/{number}", "userUnknown", f"No user {number}.") for number in range(101)]

    progress = after_faults(begin_steps((Step.CHECK_PEOPLE, Step.CREATE_GROUP)), faults, started_at=BEGUN, now=NOW)

    assert progress.error is not None
    assert progress.error.faults == tuple(faults[:100])
    assert "There are more than 97 reasons more." in progress.error.detail


def test_of_very_many_faults_the_first_are_reported() -> None:
    faults = [Fault(f"/members/{number}", "userUnknown", f"No user {number}.") for number in range(10)]

    assert reasons(NotPossible(faults)).startswith("No user 0. No user 1. No user 2. There are 7 reasons more. ")


WHERE_IT_STANDS = [
    (RequestState.QUEUED, PENDING, PENDING),
    (RequestState.RUNNING, PENDING, StepRecord(Step.CREATE_CHANNELS, StepState.RUNNING, 1, NOW)),
    (RequestState.RUNNING, WAITING, StepRecord(Step.CREATE_TEAM, StepState.RUNNING, 2, BEGUN)),
    (
        RequestState.WAITING,
        WAITING,
        replace(WAITING, attempts=3, reason="Held.", next_attempt_at=None, cause=None, waited=None),
    ),
    (RequestState.FAILED, PENDING, PENDING),
    (RequestState.CANCELLED, PENDING, PENDING),
]


@pytest.mark.parametrize(("state", "stored", "shown"), WHERE_IT_STANDS)
def test_the_first_step_that_is_not_done_is_shown_as_what_its_request_is(
    state: RequestState, stored: StepRecord, shown: StepRecord
) -> None:
    waiting = Waiting(stored.step, "Held.", 3, None, None) if state is RequestState.WAITING else None
    request = replace(record(), state=state, steps=(CREATED, stored, PENDING), waiting=waiting, updated_at=NOW)

    assert shown_steps(request) == (CREATED, shown, PENDING)


def test_steps_that_are_all_done_are_shown_as_they_are() -> None:
    assert shown_steps(replace(record(), state=RequestState.RUNNING, steps=(CREATED,))) == (CREATED,)


def test_what_is_abandoned_waits_for_nothing() -> None:
    failed = StepRecord(Step.CREATE_TEAM, StepState.FAILED, 1, BEGUN, NOW, error="No.")

    assert abandon((CREATED, WAITING, PENDING)) == (
        CREATED,
        StepRecord(Step.CREATE_TEAM, StepState.PENDING, 1, BEGUN),
        PENDING,
    )
    assert abandon((CREATED, failed)) == (CREATED, failed)


@pytest.mark.parametrize("state", StepState)
def test_a_retry_keeps_finished_steps_and_begins_the_others_again(state: StepState) -> None:
    before = StepRecord(Step.ADD_OWNERS, state)

    (after,) = restart([before])

    is_finished = state in {StepState.SUCCEEDED, StepState.WARNING}
    assert after == (before if is_finished else StepRecord(Step.ADD_OWNERS, StepState.PENDING))
