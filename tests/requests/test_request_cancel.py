# SPDX-License-Identifier: Apache-2.0
"""Cancelling a request: it ends and gives its address back, or is too far on its way."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from chamberlain.core.errors import Conflict, Forbidden, KeyReused, NotFound, Rejected, TryAgain
from chamberlain.core.idempotency import KeptAnswer
from chamberlain.core.ids import RequestId
from chamberlain.core.paging import PageWanted
from chamberlain.database.notify import Watchers
from chamberlain.directory.groups import GroupReference
from chamberlain.requests.finish import RequestJobHolder
from chamberlain.requests.models import ApprovalState, RequestFilter, RequestState, StepState
from chamberlain.requests.rules import Action
from chamberlain.requests.steps import Entry, EntryKind
from chamberlain.requests.timeline import Timelines
from tests.databases import Databases
from tests.estates import ADA, BEN, CLEO, CONFIDENTIAL_TEAM, DARA, ESTATE, OTHER_HOUSE, ZOE, Estate, caller_of
from tests.requests.approval_fixture import any_of, open_approval_fixture, user, view_of
from tests.requests.request_services import ACT, act, administrator, application, cancel, retry, watchers

# A thousand times in all.
ROUNDS = 20
EACH = 50
REMOVED = b'{"state": "cancelled", "actions": 0}'


async def entries(estate: Estate, request_id: RequestId) -> list[Entry]:
    """The entries of its timeline."""
    timeline = await Timelines(estate.databases.application, Watchers()).find(ESTATE, request_id)
    assert timeline is not None
    return [entry for _, entry in timeline.after(0)]


async def test_it_works(estate: Estate) -> None:
    accepted = await estate.request("Apollo")

    answer = await cancel(estate, accepted.request_id, caller_of(ADA), act(comment="Not needed"))

    assert answer == KeptAnswer(REMOVED)
    record = await estate.record(accepted.request_id)
    assert (record.state, record.updated_at, record.finished_at) == (
        RequestState.CANCELLED,
        estate.moment,
        estate.moment,
    )
    audit = "SELECT payload -> 'before' ->> 'state', payload -> 'after' FROM chamberlain.audit WHERE action = $1"
    (written,) = await estate.rows(audit, "request.cancel")
    assert written == ("queued", '{"state":"cancelled","comment":"Not needed"}')
    assert await estate.rows("SELECT type, request_id FROM chamberlain.event") == [
        ("request.cancelled", accepted.request_id)
    ]


async def test_the_worker_leaves_it_alone(estate: Estate) -> None:
    accepted = await estate.request("Apollo")
    await cancel(estate, accepted.request_id, caller_of(ADA))

    await estate.work()

    assert await estate.group(accepted.request_id) is None
    assert (await estate.counts())["job"] == 0
    assert (await estate.record(accepted.request_id)).state is RequestState.CANCELLED


async def test_its_address_is_free_again(estate: Estate) -> None:
    first = await estate.request("Apollo")
    taken = await estate.rows("SELECT value FROM chamberlain.reservation")
    await cancel(estate, first.request_id, caller_of(ADA))

    await estate.request("Apollo", caller=caller_of(BEN))

    assert await estate.rows("SELECT value FROM chamberlain.reservation") == taken


async def test_its_timeline_ends_with_it(estate: Estate) -> None:
    accepted = await estate.request("Apollo")
    await cancel(estate, accepted.request_id, caller_of(ADA))

    told = await entries(estate, accepted.request_id)

    states = [entry.state and entry.state.state for entry in told if entry.kind is EntryKind.STATE]
    assert states == [RequestState.QUEUED, RequestState.CANCELLED]


async def test_one_that_waits_for_an_approval_is_cancelled(estate: Estate) -> None:
    accepted = await estate.request("Secret", templateId=str(CONFIDENTIAL_TEAM))

    assert (await cancel(estate, accepted.request_id, caller_of(ADA))).body == REMOVED


async def test_one_that_waits_for_the_directory_is_cancelled(estate: Estate) -> None:
    accepted = await estate.request("Apollo")
    estate.directory.error = TryAgain(timedelta(minutes=1), "Later.")
    await estate.work()

    assert (await cancel(estate, accepted.request_id, caller_of(ADA))).body == REMOVED
    record = await estate.record(accepted.request_id)
    assert (record.state, record.waiting) == (RequestState.CANCELLED, None)


async def test_one_that_failed_is_cancelled_and_still_says_why_it_failed(estate: Estate) -> None:
    accepted = await estate.request("Apollo")
    estate.directory.faults["Apollo"] = Rejected("ruleInvalid", "No.")
    await estate.work()

    await cancel(estate, accepted.request_id, caller_of(ADA))

    record = await estate.record(accepted.request_id)
    assert (record.state, record.error and record.error.code) == (RequestState.CANCELLED, "ruleInvalid")
    *_, last = await entries(estate, accepted.request_id)
    assert last.state is not None
    assert (last.state.state, last.state.error) == (RequestState.CANCELLED, record.error)


async def test_no_step_promises_another_try_any_more(estate: Estate) -> None:
    accepted = await estate.request("Apollo")
    estate.directory.error = TryAgain(timedelta(minutes=1), "Later.")
    await estate.work()

    await cancel(estate, accepted.request_id, caller_of(ADA))

    (step,) = (await estate.record(accepted.request_id)).steps
    assert (step.state, step.attempts) == (StepState.PENDING, 1)
    assert (step.reason, step.next_attempt_at) == (None, None)
    *_, told, _ = await entries(estate, accepted.request_id)
    assert told.step == step


async def test_nobody_is_to_decide_any_more(estate: Estate) -> None:
    accepted = await estate.request("Secret", templateId=str(CONFIDENTIAL_TEAM))

    await cancel(estate, accepted.request_id, caller_of(ADA))

    (level,) = (await estate.record(accepted.request_id)).approvals
    assert (level.state, level.deadline) == (ApprovalState.NOT_REACHED, None)
    assert [person.id for person in level.approvers] == [DARA]
    *_, told, _ = await entries(estate, accepted.request_id)
    assert told.approval == level


async def test_its_job_goes_with_it_and_makes_room_for_another(estate: Estate) -> None:
    await estate.rows("UPDATE chamberlain.tenant SET open_requests = 1, revision = revision + 1 RETURNING 1")
    queued = await estate.request("Queued")
    await cancel(estate, queued.request_id, caller_of(ADA))
    waiting = await estate.request("Waiting")
    estate.directory.error = TryAgain(timedelta(minutes=45), "Later.")
    await estate.work()

    await cancel(estate, waiting.request_id, caller_of(ADA))

    assert (await estate.counts())["job"] == 0
    await estate.request("Another")


async def test_a_held_job_goes_with_it(estate: Estate) -> None:
    accepted = await estate.request("Apollo")
    claim = await estate.claim()
    await RequestJobHolder(estate.databases.worker, watchers(estate)).hold(claim, claim.jobs[0], "A bug.")

    await cancel(estate, accepted.request_id, caller_of(ADA))

    assert (await estate.counts())["job"] == 0


async def test_a_job_that_a_worker_is_at_ends_by_itself(estate: Estate) -> None:
    accepted = await estate.request("Apollo")
    claim = await estate.claim()

    await cancel(estate, accepted.request_id, caller_of(ADA))

    left = (await estate.counts())["job"]
    await estate.provision_groups.provision(claim)
    assert (left, (await estate.counts())["job"]) == (1, 0)


async def test_a_comment_that_nobody_made_is_not_on_the_audit_trail(estate: Estate) -> None:
    accepted = await estate.request("Apollo")

    await cancel(estate, accepted.request_id, caller_of(ADA))

    audit = "SELECT payload ->> 'after' FROM chamberlain.audit WHERE action = 'request.cancel'"
    assert await estate.rows(audit) == [('{"state":"cancelled"}',)]


async def test_it_rejects_one_that_has_ended_and_changes_nothing(estate: Estate) -> None:
    accepted = await estate.request("Apollo")
    await estate.work()
    before = await estate.counts()

    with pytest.raises(Conflict) as caught:
        await cancel(estate, accepted.request_id, caller_of(ADA))

    assert caught.value.code == "stateDoesNotAllow"
    assert "succeeded" in caught.value.detail
    assert await estate.counts() == before


async def test_an_administrator_cancels_those_of_others(estate: Estate) -> None:
    accepted = await estate.request("Apollo", caller=caller_of(BEN))

    assert (await cancel(estate, accepted.request_id, administrator(ADA))).body == REMOVED


async def test_it_rejects_those_whose_request_it_is_not(estate: Estate) -> None:
    accepted = await estate.request("Apollo", caller=caller_of(BEN))

    strangers = [
        caller_of(CLEO),
        caller_of(ADA),
        caller_of(ZOE, OTHER_HOUSE),
        caller_of(BEN, OTHER_HOUSE),
        application("Collab.Manage.ReadWrite.All"),
    ]
    for stranger in strangers:
        with pytest.raises(NotFound):
            await cancel(estate, accepted.request_id, stranger)
    with pytest.raises(Forbidden):
        await cancel(estate, accepted.request_id, administrator(CLEO))
    assert (await estate.record(accepted.request_id)).state is RequestState.QUEUED


@pytest.mark.parametrize("has_decided", [False, True])
async def test_an_approver_cannot_cancel_or_retry(databases: Databases, *, has_decided: bool) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA)))
    request_id = await approval_fixture.ask(caller_of(BEN))
    await approval_fixture.look()
    if has_decided:
        await approval_fixture.approve(request_id, DARA)
    before = (await approval_fixture.estate.record(request_id)).state

    for attempt in (cancel, retry):
        with pytest.raises(Forbidden) as refusal:
            await attempt(approval_fixture.estate, request_id, caller_of(DARA))
        assert refusal.value.code == "notAdministrator"

    assert (await approval_fixture.estate.record(request_id)).state is before
    seen = {*(await view_of(approval_fixture, request_id, DARA)).actions}
    assert seen == (set() if has_decided else {Action.APPROVE, Action.REJECT})
    assert Action.CANCEL in (await view_of(approval_fixture, request_id, BEN)).actions


async def test_an_approver_who_is_an_administrator_cancels(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(ADA)))
    request_id = await approval_fixture.ask(caller_of(BEN))
    both = replace(caller_of(ADA), permissions=caller_of(ADA).permissions | administrator(ADA).permissions)

    with pytest.raises(Forbidden):
        await cancel(approval_fixture.estate, request_id, caller_of(ADA))
    requests = approval_fixture.requests
    (listed,) = (await requests.list(both, RequestFilter(to_decide=True), PageWanted(50, None))).items
    assert (await requests.read(caller_of(ADA), request_id)).actions == (Action.APPROVE, Action.REJECT)
    assert (await requests.read(both, request_id)).actions == (Action.APPROVE, Action.REJECT, Action.CANCEL)
    assert listed.actions == (Action.APPROVE, Action.REJECT, Action.CANCEL)
    assert (await cancel(approval_fixture.estate, request_id, both)).body == REMOVED


async def test_a_second_call_with_the_same_key_gets_the_same_answer(estate: Estate) -> None:
    accepted = await estate.request("Apollo")
    first = await cancel(estate, accepted.request_id, caller_of(ADA), act(key="k1"))
    before = await estate.counts()

    second = await cancel(estate, accepted.request_id, caller_of(ADA), act(key="k1"))

    assert (second.body, first.replayed, second.replayed) == (first.body, False, True)
    assert await estate.counts() == before


async def test_ten_calls_at_once_with_one_key_get_one_answer(estate: Estate) -> None:
    accepted = await estate.request("Apollo")

    calls = [cancel(estate, accepted.request_id, caller_of(ADA), act(key="k1")) for _ in range(10)]
    answers = await asyncio.gather(*calls)

    assert {answer.body for answer in answers} == {REMOVED}
    assert sorted(answer.replayed for answer in answers) == [False] + [True] * 9


async def test_it_rejects_a_key_that_was_used_for_something_else(estate: Estate) -> None:
    accepted, other = await estate.request("Apollo", key="creation"), await estate.request("Hermes")
    await cancel(estate, accepted.request_id, caller_of(ADA), act(key="k1", digest=b"1"))

    for key in ("k1", "creation"):
        with pytest.raises(KeyReused):
            await cancel(estate, other.request_id, caller_of(ADA), act(key=key, digest=b"2"))
    with pytest.raises(KeyReused):
        await estate.request("Zeus", key="k1")

    assert (await estate.record(other.request_id)).state is RequestState.QUEUED


async def test_a_refusal_is_not_kept(estate: Estate) -> None:
    accepted = await estate.request("Apollo")
    await estate.work()
    with pytest.raises(Conflict):
        await cancel(estate, accepted.request_id, caller_of(ADA), act(key="k1"))

    assert (await estate.counts())["idempotency_key"] == 0


@pytest.mark.heavy
async def test_the_worker_that_starts_and_the_cancelling_have_one_winner_a_thousand_times(estate: Estate) -> None:
    answers: dict[RequestId, KeptAnswer | BaseException] = {}
    for start in range(ROUNDS):
        answers.update(await race(estate, worker_starts_after=start))

    by_callers = {each for each, answer in answers.items() if isinstance(answer, KeptAnswer)}
    assert {type(answer) for answer in answers.values()} == {KeptAnswer, Conflict}
    states = await estate.rows("SELECT request_id, state FROM chamberlain.request")
    assert set(states) == {(each, "cancelled" if each in by_callers else "succeeded") for each in answers}
    told = await estate.rows("SELECT request_id, type FROM chamberlain.event")
    assert set(told) == {(each, "request.cancelled" if each in by_callers else "group.created") for each in answers}
    assert len(told) == len(answers) == ROUNDS * EACH
    groups = await estate.directory.observe([GroupReference(ESTATE, "chamberlain_group", each) for each in answers])
    assert [group is None for group in groups] == [each in by_callers for each in answers]
    assert (await estate.counts())["job"] == 0


async def race(estate: Estate, *, worker_starts_after: int) -> dict[RequestId, KeptAnswer | BaseException]:
    """Requests that are all cancelled, while the worker, which has claimed them, starts when some are through."""
    accepted = await asyncio.gather(*[estate.request(f"Group {number}") for number in range(EACH)])
    claim = await estate.claim()
    through = asyncio.Semaphore(0)

    async def cancel_one(request_id: RequestId) -> KeptAnswer:
        try:
            return await cancel(estate, request_id, caller_of(ADA), ACT)
        finally:
            through.release()

    async def work() -> None:
        for _ in range(worker_starts_after):
            await through.acquire()
        await estate.provision_groups.provision(claim)

    ids = [each.request_id for each in accepted]
    cancelling = asyncio.gather(*[cancel_one(each) for each in ids], return_exceptions=True)
    answers, _ = await asyncio.gather(cancelling, work())
    return dict(zip(ids, answers, strict=True))
