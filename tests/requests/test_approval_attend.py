# SPDX-License-Identifier: Apache-2.0
"""Automatic changes of requests that wait for approval: levels open, are blocked, and end in time."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from uuid import UUID

import pytest

from chamberlain.core.errors import TryAgain
from chamberlain.core.ids import TenantId, UserId
from chamberlain.directory.models import Label, PeopleAnswer, PeopleQuestion, Person
from chamberlain.directory.port import People
from tests.databases import Databases
from tests.estates import ADA, BEN, CLEO, DARA, ESTATE, NOBODY, caller_of
from tests.requests.approval_fixture import (
    ALL_STAFF,
    BOARD,
    MANAGER,
    ApprovalFixture,
    Rule,
    all_of,
    any_of,
    approval_fixture_of,
    group,
    open_approval_fixture,
    user,
)
from tests.requests.request_services import cancel

ELI = UserId(UUID("e1100000-0000-4000-8000-000000000005"))
GIL = UserId(UUID("9e570000-0000-4000-8000-000000000001"))
BOSS = UUID("94000000-0000-4000-8000-0000000000b1")


async def test_it_works(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA)), all_of(group(ALL_STAFF)), days=3)
    request_id = await approval_fixture.ask()
    await approval_fixture.look()
    await approval_fixture.approve(request_id, DARA)
    approval_fixture.estate.moment += timedelta(hours=1)

    await approval_fixture.look()

    first, second = await approval_fixture.levels(request_id)
    assert (first.state, first.deadline) == ("approved", approval_fixture.estate.moment + timedelta(days=3, hours=-1))
    assert (second.state, second.deadline) == ("pending", approval_fixture.estate.moment + timedelta(days=3))
    assert {person.id for person in second.approvers} == {BEN, CLEO, DARA, ELI, GIL}
    named = [str(person.id) for person in second.approvers]
    assert (await approval_fixture.events(request_id))[-1] == ("request.approvalRequired", named)
    assert (await approval_fixture.audit(request_id))[-1] == (
        "request.openLevel",
        {"level": 2, "state": "pending", "approvers": named},
    )
    assert await approval_fixture.told(request_id) == ["pendingApproval", "level 1 approved", "level 2 pending"]
    assert await approval_fixture.jobs() == ["approvalAttend"]


async def test_it_writes_nothing_when_nothing_has_changed(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA)))
    request_id = await approval_fixture.ask()
    before = await approval_fixture.estate.record(request_id)

    for _ in range(3):
        await approval_fixture.look_again()

    assert await approval_fixture.estate.record(request_id) == before
    assert await approval_fixture.audit(request_id) == []
    ((wait,),) = await approval_fixture.estate.rows(
        "SELECT extract(epoch FROM run_at - now())::float FROM chamberlain.job"
    )
    assert 3590 < float(str(wait)) <= 3600


@pytest.mark.parametrize(
    ("level", "groups", "who", "found"),
    [
        pytest.param(any_of(group(BOARD)), {BOARD: [BEN, DARA]}, ADA, {BEN, DARA}, id="a group"),
        pytest.param(any_of(group(BOSS)), {BOARD: [BEN, ADA], BOSS: [BOARD, DARA]}, ADA, {BEN, DARA}, id="nested"),
        pytest.param(any_of(group(BOSS)), {BOARD: [BOSS, BEN], BOSS: [BOARD]}, ADA, {BEN}, id="groups in a circle"),
        pytest.param(any_of(MANAGER), {}, CLEO, {BEN}, id="a manager"),
        pytest.param(any_of(MANAGER), {}, BEN, set(), id="no manager"),
        pytest.param(any_of(MANAGER), {}, DARA, set(), id="a manager who is the requester"),
        pytest.param(any_of(user(NOBODY), user(DARA)), {}, ADA, {DARA}, id="one of two has left"),
        pytest.param(any_of(user(NOBODY)), {}, ADA, set(), id="the only one has left"),
        pytest.param(any_of(group(BOARD)), {BOARD: [ADA]}, ADA, set(), id="a group of the requester alone"),
        pytest.param(any_of(group(UUID(int=9))), {}, ADA, set(), id="a group that is not there"),
        pytest.param(all_of(user(BEN), group(BOARD), MANAGER), {BOARD: [BEN, DARA]}, CLEO, {BEN, DARA}, id="each once"),
    ],
)
async def test_a_later_level_finds_its_approvers_when_it_opens(
    databases: Databases, *, level: Rule, groups: Mapping[UUID, list[UUID]], who: UserId, found: set[UserId]
) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(ELI)), level)
    async with databases.worker.across_tenants() as tx:
        await tx.execute("UPDATE directory.users SET manager_id = id WHERE id = $1", DARA)
    request_id = await approval_fixture.ask(caller_of(who))
    # They come when the request is there already.
    await approval_fixture.make_groups(groups)
    await approval_fixture.approve(request_id, ELI)

    await approval_fixture.look()

    second = (await approval_fixture.levels(request_id))[1]
    assert {person.id for person in second.approvers} == found
    assert second.state == ("pending" if found else "blocked")
    assert (await approval_fixture.estate.record(request_id)).blocked == (None if found else "noApprover")
    assert (await approval_fixture.events(request_id))[-1][0] == "request.approvalRequired"
    assert len(await approval_fixture.events(request_id)) == 2


async def test_what_was_blocked_while_the_directory_was_away_is_opened_by_itself(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA)), days=1)
    approval_fixture.estate.people.error = TryAgain(timedelta(minutes=5), "Away.")
    request_id = await approval_fixture.ask()
    await approval_fixture.look()
    blocked = await approval_fixture.estate.record(request_id)
    approval_fixture.estate.people.error = None
    await approval_fixture.look()
    still = await approval_fixture.estate.record(request_id)
    await approval_fixture.wait_for(timedelta(minutes=5))

    await approval_fixture.look()

    assert (blocked.blocked, blocked.state) == ("noApprover", "pendingApproval")
    assert still == blocked
    record = await approval_fixture.estate.record(request_id)
    assert (record.blocked, await approval_fixture.approvers(request_id)) == (None, [DARA])
    assert record.approvals[0].deadline == blocked.approvals[0].deadline
    assert await approval_fixture.events(request_id) == [
        ("request.approvalRequired", []),
        ("request.approvalRequired", [str(DARA)]),
    ]
    await approval_fixture.approve(request_id, DARA)


async def test_what_is_blocked_opens_when_somebody_is_found(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(group(BOARD)), groups={BOARD: []})
    request_id = await approval_fixture.ask()
    await approval_fixture.look()
    await approval_fixture.join({BOARD: [DARA]})

    await approval_fixture.wait_for(timedelta(hours=1))
    await approval_fixture.look()

    assert await approval_fixture.approvers(request_id) == [DARA]


async def test_a_level_whose_approvers_have_all_left_opens_again_or_is_blocked(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(group(BOARD)), groups={BOARD: [DARA]})
    request_id = await approval_fixture.ask()
    await approval_fixture.look()
    await approval_fixture.join({BOARD: [BEN]})
    await approval_fixture.leave(DARA)

    await approval_fixture.look_again()
    anew = await approval_fixture.approvers(request_id)
    await approval_fixture.leave(BEN)
    await approval_fixture.look_again()

    assert anew == [BEN]
    record = await approval_fixture.estate.record(request_id)
    assert (record.blocked, record.approvals[0].state, record.approvals[0].approvers) == ("noApprover", "blocked", ())
    assert await approval_fixture.told(request_id) == ["pendingApproval", "level 1 pending", "level 1 blocked"]


async def test_a_level_of_all_is_approved_when_those_who_have_not_decided_have_left(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, all_of(user(DARA), user(BEN)), any_of(user(ELI)))
    request_id = await approval_fixture.ask()
    await approval_fixture.look()
    await approval_fixture.approve(request_id, DARA)
    await approval_fixture.leave(BEN)

    await approval_fixture.look_again()
    first = await approval_fixture.levels(request_id)
    await approval_fixture.look()

    assert [each.state for each in first] == ["approved", "notReached"]
    assert [each.state for each in await approval_fixture.levels(request_id)] == ["approved", "pending"]
    assert tuple(action for action, _ in (await approval_fixture.audit(request_id))[-2:]) == (
        "request.closeLevel",
        "request.openLevel",
    )


async def test_the_last_level_may_close_so_as_well(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, all_of(user(DARA), user(BEN)))
    request_id = await approval_fixture.ask()
    await approval_fixture.look()
    await approval_fixture.approve(request_id, DARA)
    await approval_fixture.leave(BEN)

    await approval_fixture.look_again()

    assert (await approval_fixture.estate.record(request_id)).state == "queued"
    assert await approval_fixture.jobs() == ["groupProvision"]


async def test_it_expires_when_nobody_has_decided_in_time(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA)), days=1)
    request_id = await approval_fixture.ask()
    await approval_fixture.look()
    deadline = approval_fixture.estate.moment + timedelta(days=1)
    for _ in range(23):
        await approval_fixture.wait_for(timedelta(hours=1))
        await approval_fixture.look()
    await approval_fixture.wait_for(timedelta(minutes=59))
    await approval_fixture.look()
    before = await approval_fixture.estate.record(request_id)
    await approval_fixture.wait_for(timedelta(minutes=1))

    await approval_fixture.look()

    record = await approval_fixture.estate.record(request_id)
    assert (before.state, record.state, record.finished_at) == ("pendingApproval", "expired", deadline)
    assert [(each.state, each.deadline) for each in record.approvals] == [("notReached", deadline)]
    assert [person.id for person in record.approvals[0].approvers] == [DARA]
    assert await approval_fixture.jobs() == []
    assert await approval_fixture.estate.rows("SELECT FROM chamberlain.reservation") == []
    assert (await approval_fixture.events(request_id))[-1] == ("request.expired", None)
    assert await approval_fixture.audit(request_id) == [("request.expire", {"state": "expired"})]
    assert await approval_fixture.told(request_id) == ["pendingApproval", "level 1 notReached", "expired"]
    await approval_fixture.ask()


async def test_a_later_level_has_a_deadline_of_its_own(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA)), any_of(user(BEN)), days=1)
    request_id = await approval_fixture.ask()
    await approval_fixture.look()
    await approval_fixture.wait_for(timedelta(hours=23))
    await approval_fixture.approve(request_id, DARA)
    await approval_fixture.look()
    await approval_fixture.wait_for(timedelta(hours=2))
    await approval_fixture.look()

    assert (await approval_fixture.estate.record(request_id)).state == "pendingApproval"
    await approval_fixture.wait_for(timedelta(hours=22))
    await approval_fixture.look()
    assert (await approval_fixture.estate.record(request_id)).state == "expired"


async def test_it_expires_blocked_or_with_the_directory_away(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(NOBODY)), days=1)
    request_id = await approval_fixture.ask()
    approval_fixture.estate.people.error = TryAgain(timedelta(days=30), "Away.")
    await approval_fixture.look()
    ((wait,),) = await approval_fixture.estate.rows(
        "SELECT extract(epoch FROM run_at - now())::float FROM chamberlain.job"
    )
    await approval_fixture.wait_for(timedelta(days=1))

    await approval_fixture.look()

    record = await approval_fixture.estate.record(request_id)
    assert float(str(wait)) <= timedelta(days=1).total_seconds()
    assert (record.state, record.blocked) == ("expired", None)


async def test_a_request_that_is_cancelled_is_attended_to_no_more(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA)), days=1)
    request_id = await approval_fixture.ask()

    await cancel(approval_fixture.estate, request_id, caller_of(ADA))

    assert await approval_fixture.jobs() == []
    assert await approval_fixture.estate.rows("SELECT FROM chamberlain.request_approver") == []


async def test_a_request_without_a_job_gets_one_by_its_next_decision(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA)), any_of(user(BEN)))
    request_id = await approval_fixture.ask()
    async with databases.worker.across_tenants() as tx:
        await tx.execute("DELETE FROM chamberlain.job")

    await approval_fixture.approve(request_id, DARA)
    await approval_fixture.look()

    assert await approval_fixture.approvers(request_id, 2) == [BEN]


async def test_jobs_of_a_suspended_tenant_rest_and_go_on_later(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA)), days=1)
    request_id = await approval_fixture.ask()
    await suspend(approval_fixture, suspended=True)
    await approval_fixture.wait_for(timedelta(days=2))
    await approval_fixture.look()
    resting = (await approval_fixture.estate.record(request_id)).state
    await suspend(approval_fixture, suspended=False)

    await approval_fixture.look()

    assert (resting, (await approval_fixture.estate.record(request_id)).state) == ("pendingApproval", "expired")


async def test_a_decision_while_the_directory_is_asked_makes_it_look_again(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA)), any_of(user(BEN)))
    request_id = await approval_fixture.ask()
    estate = approval_fixture.estate
    inner = estate.people.people

    class SlowPeople(People):
        """While the directory is asked about the first level, Dara decides."""

        asked = 0

        async def look_up(self, question: PeopleQuestion) -> PeopleAnswer:
            self.asked += 1
            if self.asked == 1:
                await approval_fixture.approve(request_id, DARA)
            return await inner.look_up(question)

        async def find(self, tenant_id: TenantId, text: str, limit: int) -> Sequence[Person]:
            return await inner.find(tenant_id, text, limit)

        async def labels(self, tenant_id: TenantId) -> Sequence[Label]:
            return await inner.labels(tenant_id)

    slow = SlowPeople()
    estate.people.people = slow
    await approval_fixture_of(estate).look()
    between = await approval_fixture.levels(request_id)
    await approval_fixture.look()

    assert [each.state for each in between] == ["approved", "notReached"]
    assert [each.state for each in await approval_fixture.levels(request_id)] == ["approved", "pending"]


async def test_two_workers_with_one_job_open_a_level_once(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA)), any_of(user(BEN)))
    request_id = await approval_fixture.ask()
    await approval_fixture.approve(request_id, DARA)
    claims = []
    for _ in range(2):
        # The lease of the first has ended.
        async with databases.worker.across_tenants() as tx:
            await tx.execute("UPDATE chamberlain.job SET lease_until = now() - interval '1 s'")
        claims.append(await approval_fixture.estate.claim())

    for claim in claims:
        await approval_fixture.request_jobs.attend_approvals(claim)

    assert [len(claim.jobs) for claim in claims] == [1, 1]
    assert [type_ for type_, _ in await approval_fixture.events(request_id)] == ["request.approvalRequired"] * 2
    assert await approval_fixture.jobs() == ["approvalAttend"]


async def suspend(approval_fixture: ApprovalFixture, *, suspended: bool) -> None:
    async with approval_fixture.estate.databases.worker.across_tenants() as tx:
        await tx.execute("UPDATE chamberlain.tenant SET suspended = $2 WHERE tenant_id = $1", ESTATE, suspended)
