# SPDX-License-Identifier: Apache-2.0
"""The end of a wait depends on its cause: a directory that is busy or away fails no request for a day."""

from datetime import timedelta

import pytest

from chamberlain.core.errors import BudgetWait, Cause, ConnectionBroken, TryAgain
from chamberlain.core.reasons import Reason
from chamberlain.directory.steps import Step
from chamberlain.queue.models import JobKind
from chamberlain.requests.models import RequestError, RequestRecord, StepState
from tests.estates import BEN, ESTATE, Estate
from tests.guests.assignments.guest_fixture import PARTNERS, guest_fixture, make_due
from tests.mailboxes.mailbox_bodies import SMALL

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
NOT_YET = TryAgain(MINUTE, Reason.build("groupNotFoundById"), Cause.NOT_YET)
BUSY = TryAgain(MINUTE, Reason.build("directoryBusy"), Cause.BUSY)
AWAY = TryAgain(MINUTE, Reason.build("directoryNotAvailable"), Cause.AWAY)
BROKEN = ConnectionBroken(MINUTE, "The credential has lapsed.")
TURN = BudgetWait(MINUTE)


async def ask(estate: Estate, fault: TryAgain) -> RequestRecord:
    """Request a group whose members cannot be added because of a fault."""
    accepted = await estate.request("Apollo", members=[str(BEN)])
    estate.directory.done = (Step.CREATE_GROUP,)
    return await go_on(estate, await estate.record(accepted.request_id), fault, span=timedelta(0))


async def go_on(
    estate: Estate, request: RequestRecord, *faults: TryAgain | None, span: timedelta = 5 * MINUTE
) -> RequestRecord:
    """Run the job of a request again after each span, with one fault each."""
    for fault in faults:
        estate.directory.faults.clear()
        if fault is not None:
            estate.directory.faults["Apollo"] = fault
        estate.moment += span
        await make_due(estate)
        await estate.work()
    return await estate.record(request.request_id)


async def test_a_directory_that_is_busy_for_forty_minutes_fails_no_request(estate: Estate) -> None:
    estate.directory.error = BUSY
    accepted = [(await estate.request(f"Group {number}", members=[str(BEN)])).request_id for number in range(3)]
    accepted.append((await estate.ask_mailbox(SMALL)).accepted.request_id)
    for _ in range(4):
        await estate.work()
        estate.moment += 10 * MINUTE
        await make_due(estate)
    states = [(await estate.record(each)).state for each in accepted]

    estate.directory.error = None
    await estate.work()

    assert states == ["waiting"] * 4
    assert [(await estate.record(each)).state for each in accepted] == ["succeeded"] * 4


async def test_a_directory_that_says_not_yet_for_twenty_minutes_fails_the_step(estate: Estate) -> None:
    request = await ask(estate, NOT_YET)
    waits = await go_on(estate, request, *[NOT_YET] * 3)

    failed = await go_on(estate, request, NOT_YET)

    assert (waits.state, failed.state) == ("waiting", "failed")
    detail = f"{NOT_YET.reason} This was tried for 20 minutes. Retry the request later."
    assert failed.error == RequestError(Step.ADD_MEMBERS, "directoryNotReady", detail)


@pytest.mark.parametrize("other", [BUSY, BROKEN, TURN])
async def test_time_between_attempts_belongs_to_the_fault_before(estate: Estate, other: TryAgain) -> None:
    request = await ask(estate, NOT_YET)
    # Half of the time is not yet.
    waits = await go_on(estate, request, *[other, NOT_YET] * 3)

    failed = await go_on(estate, request, NOT_YET)

    assert waits.waiting is not None
    assert waits.waiting.ends_at == estate.moment
    assert failed.state == "failed"


@pytest.mark.parametrize("fault", [BUSY, AWAY])
async def test_a_day_of_it_fails_the_step(estate: Estate, fault: TryAgain) -> None:
    request = await ask(estate, fault)
    waits = await go_on(estate, request, *[fault] * 3, span=6 * HOUR)

    failed = await go_on(estate, request, fault, span=6 * HOUR)

    assert waits.waiting is not None
    assert waits.waiting.ends_at == estate.moment
    detail = f"{fault.reason} This was tried for 24 hours. Retry the request later."
    assert failed.error == RequestError(Step.ADD_MEMBERS, "directoryNotReady", detail)


@pytest.mark.parametrize("fault", [BROKEN, TURN])
async def test_a_wait_that_is_no_attempt_has_no_end(estate: Estate, fault: TryAgain) -> None:
    request = await ask(estate, fault)
    waits = await go_on(estate, request, *[fault] * 3, span=30 * HOUR)

    succeeded = await go_on(estate, request, None)

    assert waits.waiting is not None
    assert (waits.waiting.shown_reason, waits.waiting.attempt, waits.waiting.ends_at) == (fault.because, 0, None)
    assert await estate.rows("SELECT attempts FROM chamberlain.job") == []
    assert (succeeded.state, [step.attempts for step in succeeded.steps]) == ("succeeded", [1, 1])


async def test_timelines_have_no_times_of_waits(estate: Estate) -> None:
    request = await ask(estate, BUSY)

    await go_on(estate, request, NOT_YET)

    times = "SELECT jsonb_path_query(timeline, '$[*].step.waited ? (@ != null)') FROM chamberlain.request"
    assert await estate.rows(times) == []
    [waiting] = [step for step in (await estate.record(request.request_id)).steps if step.waited is not None]
    assert waiting.state is StepState.WAITING


async def test_an_assignment_waits_a_day_for_a_busy_directory(estate: Estate) -> None:
    fixture = guest_fixture(estate)
    await fixture.discover()
    await fixture.assign(templateId=str(PARTNERS))
    fixture.guests.error = BUSY
    states = []
    for _ in range(5):
        await make_due(estate)
        await fixture.assignment_jobs.apply(await estate.claim(kinds=[JobKind.ASSIGNMENT_APPLY]))
        states += [state for (state,) in await estate.rows("SELECT state FROM chamberlain.request")]
        estate.moment += 6 * HOUR

    assert states == ["waiting"] * 4 + ["failed"]


PARK = "UPDATE chamberlain.tenant SET directory_parked = NOT directory_parked WHERE tenant_id = $1"
TIMES = """
UPDATE chamberlain.tenant SET directory_parked_at = $1, directory_unparked_at = $2 WHERE tenant_id = $3
"""


async def test_time_in_which_the_job_was_parked_counts_for_nothing(estate: Estate) -> None:
    request = await ask(estate, NOT_YET)
    began = estate.moment + 5 * MINUTE
    async with estate.databases.worker.across_tenants() as tx:
        await tx.execute(PARK, ESTATE)
        await tx.execute(PARK, ESTATE)
        noted = await tx.fetch("SELECT directory_parked_at, directory_unparked_at FROM chamberlain.tenant")
        await tx.execute(TIMES, began, began + 30 * HOUR, ESTATE)

    waits = await go_on(estate, request, NOT_YET, span=30 * HOUR + 19 * MINUTE)
    failed = await go_on(estate, request, NOT_YET, span=MINUTE)

    assert any(None not in row for row in noted)
    assert waits.waiting is not None
    assert waits.waiting.ends_at == estate.moment
    assert failed.state == "failed"
