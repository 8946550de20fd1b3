# SPDX-License-Identifier: Apache-2.0
"""Held jobs: an administrator sees those of the tenant and lets one run again."""

import json

import pytest

from chamberlain.auth.models import Caller
from chamberlain.core.errors import Forbidden, NotFound
from chamberlain.core.idempotency import KeptAnswer
from chamberlain.core.ids import JobId, RequestId
from chamberlain.core.paging import PageWanted
from chamberlain.queue.models import NOBODY, HeldJob, job_id_of, public_id_of
from chamberlain.queue.service import JobOperations
from chamberlain.requests.models import RequestState
from tests.estates import ADA, BEN, ESTATE, OPERATOR, OTHER_HOUSE, TRACE, ZOE, Estate, caller_of
from tests.requests.request_services import ADDRESS, act, administrator, application, job_service

FIRST = PageWanted(200, None)


def render(job: HeldJob) -> bytes:
    return json.dumps([str(job.public_id), job.held_reason, job.attempts]).encode()


async def hold(estate: Estate, name: str = "Apollo") -> tuple[JobId, RequestId]:
    """A request whose job is held."""
    accepted = await estate.request(name)
    held = await estate.rows(
        "UPDATE chamberlain.job SET held_reason = 'A bug.', attempts = 3 WHERE subject = $1 RETURNING job_id",
        accepted.request_id,
    )
    return JobId(int(str(held[0][0]))), accepted.request_id


async def release(estate: Estate, caller: Caller, job_id: JobId, key: str | None = None) -> KeptAnswer:
    return await job_service(estate).release(caller, job_id, act(comment="Mended", key=key), render)


async def test_it_works(estate: Estate) -> None:
    job_id, request_id = await hold(estate)
    listed = await job_service(estate).list(administrator(ADA), FIRST)
    await estate.work()
    before = await estate.record(request_id)

    answer = await release(estate, administrator(ADA), job_id)
    await estate.work()

    (job,) = listed.items
    assert (job.id, job.request_id, job.held_reason, job.attempts) == (job_id, request_id, "A bug.", 3)
    assert listed.next is None
    assert before.state is RequestState.QUEUED
    assert json.loads(answer.body) == [str(public_id_of(job_id)), None, 0]
    assert (await estate.record(request_id)).state is RequestState.SUCCEEDED
    assert (await job_service(estate).list(administrator(ADA), FIRST)).items == []


async def test_the_audit_trail_says_who_released_it(estate: Estate) -> None:
    job_id, request_id = await hold(estate)

    await release(estate, administrator(ADA), job_id)

    audit = "SELECT tenant_id, request_id, payload::text FROM chamberlain.audit WHERE action = 'job.release'"
    ((tenant_id, about, payload),) = await estate.rows(audit)
    written = json.loads(str(payload))
    assert (tenant_id, about) == (ESTATE, request_id)
    assert (written["actor"]["displayName"], written["clientAddress"]) == ("Ada Achterberg", ADDRESS)
    assert written["subject"] == {"type": "job", "id": str(public_id_of(job_id)), "displayName": "groupProvision"}
    assert written["before"] == {"heldReason": "A bug.", "attempts": 3}
    assert written["after"] == {"heldReason": None, "attempts": 0, "comment": "Mended"}


async def test_pages_hold_every_job_once_newest_first(estate: Estate) -> None:
    ids = [(await hold(estate, f"Group {number}"))[0] for number in range(7)]
    # Some of one moment, so that the number has to decide.
    await estate.rows(
        "UPDATE chamberlain.job SET queued_at = date_trunc('hour', queued_at) WHERE job_id = ANY ($1)", ids[:4]
    )

    found: list[JobId] = []
    page = await job_service(estate).list(administrator(ADA), PageWanted(2, None))
    found += [job.id for job in page.items]
    while page.next:
        page = await job_service(estate).list(administrator(ADA), PageWanted(2, page.next))
        found += [job.id for job in page.items]

    assert found == [*reversed(ids[4:]), *reversed(ids[:4])]


async def test_a_second_call_with_the_same_key_gets_the_same_answer(estate: Estate) -> None:
    job_id, _ = await hold(estate)
    first = await release(estate, administrator(ADA), job_id, "k1")
    await estate.work()

    second = await release(estate, administrator(ADA), job_id, "k1")

    assert (second.body, second.replayed) == (first.body, True)


async def test_an_application_that_configures_may_do_it(estate: Estate) -> None:
    job_id, _ = await hold(estate)
    program = application("Mail.Config.ReadWrite.All")

    assert len((await job_service(estate).list(program, FIRST)).items) == 1
    await release(estate, program, job_id)


async def test_it_rejects_whoever_does_not_administer_the_tenant(estate: Estate) -> None:
    job_id, _ = await hold(estate)

    for caller in (caller_of(ADA), administrator(BEN), application("Collab.Manage.ReadWrite.All")):
        with pytest.raises(Forbidden):
            await job_service(estate).list(caller, FIRST)
        with pytest.raises(Forbidden):
            await release(estate, caller, job_id)
    assert await estate.rows("SELECT held_reason FROM chamberlain.job") == [("A bug.",)]


async def test_it_rejects_a_job_of_another_tenant(estate: Estate) -> None:
    job_id, _ = await hold(estate)
    stranger = application("Mail.Config.ReadWrite.All", OTHER_HOUSE)

    assert (await job_service(estate).list(stranger, FIRST)).items == []
    with pytest.raises(NotFound):
        await release(estate, stranger, job_id)
    assert (await estate.rows("SELECT held_reason FROM chamberlain.job")) == [("A bug.",)]


async def test_it_rejects_a_job_that_is_not_held(estate: Estate) -> None:
    job_id, _ = await hold(estate)
    await release(estate, administrator(ADA), job_id)

    for each in (job_id, JobId(4711)):
        with pytest.raises(NotFound):
            await release(estate, administrator(ADA), each)


async def test_a_caller_who_has_the_database_sees_and_releases_those_of_all_tenants(estate: Estate) -> None:
    operations = JobOperations(estate.databases.worker)
    job_id, request_id = await hold(estate)
    values = "VALUES ($1, 'ofTheFuture', $1, '', 'x')"
    await estate.rows(f"INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id, held_reason) {values}", NOBODY)

    listed = await operations.list()
    released = await operations.release(job_id, actor=OPERATOR, trace_id=TRACE)

    assert [(job.kind, job.request_id) for job in listed] == [("groupProvision", request_id), ("ofTheFuture", None)]
    assert (released.id, released.held_reason) == (job_id, None)
    assert [job.kind for job in await operations.list()] == ["ofTheFuture"]
    audit = (
        "SELECT payload -> 'actor' ->> 'displayName', payload ->> 'clientAddress' FROM chamberlain.audit "
        "WHERE action = 'job.release'"
    )
    assert await estate.rows(audit) == [("Test", None)]
    with pytest.raises(NotFound):
        await operations.release(job_id, actor=OPERATOR, trace_id=TRACE)


@pytest.mark.parametrize("number", [1, 42, 2**62 - 1])
def test_a_job_is_called_by_a_uuid_of_version_8_and_found_by_it(number: int) -> None:
    public_id = public_id_of(JobId(number))

    assert (public_id.version, public_id.variant) == (8, "specified in RFC 4122")
    assert job_id_of(public_id) == number


def test_any_other_id_is_no_job() -> None:
    assert job_id_of(ZOE) is None
    assert job_id_of(public_id_of(JobId(0))) is None
