# SPDX-License-Identifier: Apache-2.0
"""Holding a job: its request waits for a person, says so, and can be cancelled; released, it goes on."""

import pytest

from chamberlain.core.ids import JobId, RequestId
from chamberlain.database.notify import Watchers
from chamberlain.directory.steps import Step
from chamberlain.queue.models import HELD, NOBODY, JobKind
from chamberlain.requests.finish import RequestJobHolder
from chamberlain.requests.models import RequestRecord, RequestState, Waiting
from chamberlain.requests.steps import EntryKind
from chamberlain.requests.timeline import Timelines
from tests.estates import ADA, ESTATE, Estate, caller_of
from tests.queue.fake_jobs import HELD_AFTER_BUG
from tests.requests.request_services import act, administrator, cancel, job_service, put, watchers

REASON = HELD_AFTER_BUG


async def hold(estate: Estate, name: str = "Apollo", *, state: RequestState = RequestState.QUEUED) -> RequestId:
    """A request whose job was held while it was in this state."""
    accepted = await estate.request(name)
    claim = await estate.claim()
    await put(estate, accepted.request_id, state)
    await RequestJobHolder(estate.databases.worker, watchers(estate)).hold(claim, claim.jobs[0], REASON)
    return accepted.request_id


async def states(estate: Estate, request_id: RequestId) -> list[RequestState]:
    timeline = await Timelines(estate.databases.application, Watchers()).find(ESTATE, request_id)
    assert timeline is not None
    return [entry.state.state for _, entry in timeline.after(0) if entry.kind is EntryKind.STATE and entry.state]


def waits_for_a_person(record: RequestRecord) -> bool:
    return record.state is RequestState.WAITING and record.waiting == Waiting(
        Step.CREATE_GROUP, None, 1, None, None, HELD.cause
    )


async def test_it_works(estate: Estate) -> None:
    request_id = await hold(estate)

    assert waits_for_a_person(await estate.record(request_id))
    assert await estate.rows("SELECT held_reason, lease_id FROM chamberlain.job") == [(REASON, None)]


@pytest.mark.parametrize("state", [RequestState.QUEUED, RequestState.RUNNING, RequestState.WAITING])
async def test_whatever_was_on_its_way_waits(estate: Estate, state: RequestState) -> None:
    assert waits_for_a_person(await estate.record(await hold(estate, state=state)))


@pytest.mark.parametrize(
    "state", sorted(set(RequestState) - {RequestState.QUEUED, RequestState.RUNNING, RequestState.WAITING})
)
async def test_what_is_not_on_its_way_stays_as_it_is(estate: Estate, state: RequestState) -> None:
    record = await estate.record(await hold(estate, state=state))

    assert (record.state, record.waiting) == (state, None)


async def test_the_timeline_tells_it_by_moves_that_are_allowed(estate: Estate) -> None:
    queued, running = RequestState.QUEUED, RequestState.RUNNING

    assert await states(estate, await hold(estate, "One")) == [queued, running, RequestState.WAITING]
    assert await states(estate, await hold(estate, "Two", state=running)) == [queued, RequestState.WAITING]


async def test_its_owner_can_cancel_it(estate: Estate) -> None:
    request_id = await hold(estate)

    await cancel(estate, request_id, caller_of(ADA))

    assert (await estate.record(request_id)).state is RequestState.CANCELLED
    assert (await estate.counts())["reservation"] == 0


async def test_it_goes_on_when_its_job_is_released(estate: Estate) -> None:
    request_id = await hold(estate)
    ((job_id,),) = await estate.rows("SELECT job_id FROM chamberlain.job")

    await job_service(estate).release(administrator(ADA), JobId(int(str(job_id))), act(), lambda _job: b"")
    await estate.work()

    assert (await estate.record(request_id)).state is RequestState.SUCCEEDED
    assert await states(estate, request_id) == ["queued", "running", "waiting", "running", "succeeded"]


async def test_what_another_worker_has_taken_over_is_left_to_that_one(estate: Estate) -> None:
    accepted = await estate.request("Apollo")
    claim = await estate.claim()
    await estate.rows("UPDATE chamberlain.job SET lease_id = gen_random_uuid()")

    await RequestJobHolder(estate.databases.worker, watchers(estate)).hold(claim, claim.jobs[0], REASON)

    assert (await estate.record(accepted.request_id)).state is RequestState.QUEUED
    assert await estate.rows("SELECT held_reason FROM chamberlain.job") == [(None,)]


async def test_a_job_that_is_about_no_request_is_held_alone(estate: Estate) -> None:
    await estate.rows(
        "INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id) VALUES ($1, $2, $1, '')",
        NOBODY,
        JobKind.RETENTION_SWEEP,
    )
    claim = await estate.claim(kinds=[JobKind.RETENTION_SWEEP])

    await RequestJobHolder(estate.databases.worker, watchers(estate)).hold(claim, claim.jobs[0], REASON)

    assert await estate.rows("SELECT held_reason FROM chamberlain.job") == [(REASON,)]
