# SPDX-License-Identifier: Apache-2.0
"""Retry a failed request: it goes on at the step that failed, once, also with concurrent retries."""

import asyncio

import pytest

from chamberlain.core.errors import Conflict, NotFound, Rejected
from chamberlain.core.idempotency import KeptAnswer
from chamberlain.core.ids import RequestId
from chamberlain.directory.steps import Step
from chamberlain.requests.models import RequestState, StepRecord, StepState
from tests.estates import ADA, BEN, CLEO, Estate, caller_of
from tests.requests.request_services import ACT, act, administrator, cancel, put, retry

TIMES = 1000
# So many pairs at once: each call waits at most ten seconds for a connection, also on a busy machine.
TOGETHER = 20
QUEUED = b'{"state": "queued", "actions": 1}'


async def failed(estate: Estate, name: str = "Apollo") -> RequestId:
    """A request that has failed and could succeed now."""
    estate.directory.faults[name] = Rejected("ruleInvalid", "No.")
    accepted = await estate.request(name)
    await estate.work()
    del estate.directory.faults[name]
    assert (await estate.record(accepted.request_id)).state is RequestState.FAILED
    return accepted.request_id


async def test_it_works(estate: Estate) -> None:
    request_id = await failed(estate)

    answer = await retry(estate, request_id, caller_of(ADA), act(comment="Mended"))

    assert answer == KeptAnswer(QUEUED)
    record = await estate.record(request_id)
    assert (record.state, record.error, record.finished_at) == (RequestState.QUEUED, None, None)
    assert {step.state for step in record.steps} == {StepState.PENDING}
    await estate.work()
    assert (await estate.record(request_id)).state is RequestState.SUCCEEDED
    assert await estate.group(request_id) is not None
    audit = "SELECT payload -> 'before' ->> 'state', payload -> 'after' FROM chamberlain.audit WHERE action = $1"
    assert await estate.rows(audit, "request.retry") == [("failed", '{"state":"queued","comment":"Mended"}')]


async def test_it_goes_on_at_the_step_that_failed(estate: Estate) -> None:
    request_id = await failed(estate)
    steps = '[{"step": "createGroup", "state": "succeeded"}, {"step": "setLabel", "state": "failed", "attempts": 2}]'
    await estate.rows("UPDATE chamberlain.request SET steps = $1", steps)

    await retry(estate, request_id, caller_of(ADA))

    first, second = (await estate.record(request_id)).steps
    assert (first.step, first.state) == (Step.CREATE_GROUP, StepState.SUCCEEDED)
    assert second == StepRecord(Step.SET_LABEL, StepState.PENDING)


async def test_it_keeps_its_address_while_it_has_failed(estate: Estate) -> None:
    request_id = await failed(estate)
    kept = await estate.rows("SELECT value FROM chamberlain.reservation WHERE request_id = $1", request_id)

    await retry(estate, request_id, caller_of(ADA))

    assert len(kept) == 1
    assert await estate.rows("SELECT value FROM chamberlain.reservation WHERE request_id = $1", request_id) == kept


async def test_it_may_fail_and_be_retried_again(estate: Estate) -> None:
    request_id = await failed(estate)
    estate.directory.faults["Apollo"] = Rejected("labelUnknown", "Gone.")
    await retry(estate, request_id, caller_of(ADA))
    await estate.work()
    error = (await estate.record(request_id)).error
    assert error is not None
    assert error.code == "labelUnknown"
    estate.directory.faults.clear()

    await retry(estate, request_id, administrator(ADA))
    await estate.work()

    assert (await estate.record(request_id)).state is RequestState.SUCCEEDED


async def test_it_rejects_one_that_has_not_failed(estate: Estate) -> None:
    accepted = await estate.request("Apollo")

    for state in set(RequestState) - {RequestState.FAILED}:
        await put(estate, accepted.request_id, state)
        with pytest.raises(Conflict) as caught:
            await retry(estate, accepted.request_id, caller_of(ADA))
        assert caught.value.code == "stateDoesNotAllow"
        assert state in caught.value.detail
    assert (await estate.counts())["job"] == 1


async def test_it_rejects_those_whose_request_it_is_not(estate: Estate) -> None:
    request_id = await failed(estate)

    for user in (BEN, CLEO):
        with pytest.raises(NotFound):
            await retry(estate, request_id, caller_of(user))


async def test_a_second_call_with_the_same_key_gets_the_same_answer(estate: Estate) -> None:
    request_id = await failed(estate)
    first = await retry(estate, request_id, caller_of(ADA), act(key="k1"))
    await estate.work()

    second = await retry(estate, request_id, caller_of(ADA), act(key="k1"))

    assert (second.body, second.replayed) == (first.body, True)
    assert (await estate.record(request_id)).state is RequestState.SUCCEEDED


@pytest.mark.heavy
async def test_two_who_retry_at_once_have_one_winner_a_thousand_times(estate: Estate) -> None:
    names = [f"Group {number}" for number in range(TIMES)]
    estate.directory.faults.update({name: Rejected("ruleInvalid", "No.") for name in names})
    accepted = await asyncio.gather(*[estate.request(name) for name in names])
    await estate.provision_groups.provision(await estate.claim(most=TIMES))
    estate.directory.faults.clear()

    both = [each.request_id for each in accepted for _ in range(2)]
    answers: list[object] = []
    for start in range(0, len(both), 2 * TOGETHER):
        retries = [retry(estate, each, caller_of(ADA), ACT) for each in both[start : start + 2 * TOGETHER]]
        answers += await asyncio.gather(*retries, return_exceptions=True)

    pairs = zip(answers[::2], answers[1::2], strict=True)
    assert {tuple(sorted(type(answer).__name__ for answer in pair)) for pair in pairs} == {("Conflict", "KeptAnswer")}
    assert await estate.rows("SELECT state, count(*) FROM chamberlain.request GROUP BY state") == [("queued", TIMES)]
    jobs = await estate.rows("SELECT count(*), count(DISTINCT subject) FROM chamberlain.job")
    assert jobs == [(TIMES, TIMES)]


@pytest.mark.heavy
async def test_retrying_and_cancelling_at_once_end_in_one_state(estate: Estate) -> None:
    for number in range(50):
        request_id = await failed(estate, f"Group {number}")

        retried, cancelled = await asyncio.gather(
            retry(estate, request_id, caller_of(ADA)),
            cancel(estate, request_id, caller_of(ADA)),
            return_exceptions=True,
        )

        # A retried request may still be cancelled; a cancelled one is not retried.
        assert isinstance(cancelled, KeptAnswer)
        assert isinstance(retried, KeptAnswer | Conflict)
        await estate.work()
        assert (await estate.record(request_id)).state is RequestState.CANCELLED
        assert await estate.group(request_id) is None
