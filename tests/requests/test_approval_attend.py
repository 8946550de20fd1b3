"""What the service does by itself for requests that wait for approval: levels open, are blocked, and end in time."""

from collections.abc import Mapping
from datetime import timedelta
from uuid import UUID

import pytest

from chamberlain.core.errors import TryAgain
from chamberlain.core.ids import UserId
from chamberlain.directory.models import PeopleAnswer, PeopleQuestion
from tests.databases import Databases
from tests.estates import ADA, BEN, CLEO, DARA, ESTATE, NOBODY, caller_of
from tests.requests.acts import cancel
from tests.requests.approvers import (
    ALL_STAFF,
    BOARD,
    MANAGER,
    Approving,
    Rule,
    all_of,
    any_of,
    approving,
    approving_at,
    group,
    user,
)

ELI = UserId(UUID("e1100000-0000-4000-8000-000000000005"))
GIL = UserId(UUID("9e570000-0000-4000-8000-000000000001"))
BOSS = UUID("94000000-0000-4000-8000-0000000000b1")


async def test_it_works(databases: Databases) -> None:
    house = await approving(databases, any_of(user(DARA)), all_of(group(ALL_STAFF)), days=3)
    request_id = await house.ask()
    await house.look()
    await house.approve(request_id, DARA)
    house.estate.moment += timedelta(hours=1)

    await house.look()

    first, second = await house.levels(request_id)
    assert (first.state, first.deadline) == ("approved", house.estate.moment + timedelta(days=3, hours=-1))
    assert (second.state, second.deadline) == ("pending", house.estate.moment + timedelta(days=3))
    assert {person.id for person in second.approvers} == {BEN, CLEO, DARA, ELI, GIL}
    named = [str(person.id) for person in second.approvers]
    assert (await house.events(request_id))[-1] == ("request.approvalRequired", named)
    assert (await house.audit(request_id))[-1] == (
        "request.openLevel",
        {"level": 2, "state": "pending", "approvers": named},
    )
    assert await house.told(request_id) == ["pendingApproval", "level 1 approved", "level 2 pending"]
    assert await house.jobs() == ["approvalAttend"]


async def test_it_writes_nothing_when_nothing_has_changed(databases: Databases) -> None:
    house = await approving(databases, any_of(user(DARA)))
    request_id = await house.ask()
    before = await house.estate.record(request_id)

    for _ in range(3):
        await house.look_again()

    assert await house.estate.record(request_id) == before
    assert await house.audit(request_id) == []
    ((wait,),) = await house.estate.rows("SELECT extract(epoch FROM run_at - now())::float FROM chamberlain.job")
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
    house = await approving(databases, any_of(user(ELI)), level)
    async with databases.worker.across_tenants() as tx:
        await tx.execute("UPDATE directory.users SET manager_id = id WHERE id = $1", DARA)
    request_id = await house.ask(caller_of(who))
    # They come when the request is there already.
    await house.make_groups(groups)
    await house.approve(request_id, ELI)

    await house.look()

    second = (await house.levels(request_id))[1]
    assert {person.id for person in second.approvers} == found
    assert second.state == ("pending" if found else "blocked")
    assert (await house.estate.record(request_id)).blocked == (None if found else "noApprover")
    assert (await house.events(request_id))[-1][0] == "request.approvalRequired"
    assert len(await house.events(request_id)) == 2


async def test_what_was_blocked_while_the_directory_was_away_is_opened_by_itself(databases: Databases) -> None:
    house = await approving(databases, any_of(user(DARA)), days=1)
    house.estate.people.error = TryAgain(timedelta(minutes=5), "Away.")
    request_id = await house.ask()
    await house.look()
    blocked = await house.estate.record(request_id)
    house.estate.people.error = None
    await house.look()
    still = await house.estate.record(request_id)
    await house.wait_for(timedelta(minutes=5))

    await house.look()

    assert (blocked.blocked, blocked.state) == ("noApprover", "pendingApproval")
    assert still == blocked
    record = await house.estate.record(request_id)
    assert (record.blocked, await house.approvers(request_id)) == (None, [DARA])
    assert record.approvals[0].deadline == blocked.approvals[0].deadline
    assert await house.events(request_id) == [
        ("request.approvalRequired", []),
        ("request.approvalRequired", [str(DARA)]),
    ]
    await house.approve(request_id, DARA)


async def test_what_is_blocked_opens_when_somebody_is_found(databases: Databases) -> None:
    house = await approving(databases, any_of(group(BOARD)), groups={BOARD: []})
    request_id = await house.ask()
    await house.look()
    await house.join({BOARD: [DARA]})

    await house.wait_for(timedelta(hours=1))
    await house.look()

    assert await house.approvers(request_id) == [DARA]


async def test_a_level_whose_approvers_have_all_left_opens_anew_or_is_blocked(databases: Databases) -> None:
    house = await approving(databases, any_of(group(BOARD)), groups={BOARD: [DARA]})
    request_id = await house.ask()
    await house.look()
    await house.join({BOARD: [BEN]})
    await house.leave(DARA)

    await house.look_again()
    anew = await house.approvers(request_id)
    await house.leave(BEN)
    await house.look_again()

    assert anew == [BEN]
    record = await house.estate.record(request_id)
    assert (record.blocked, record.approvals[0].state, record.approvals[0].approvers) == ("noApprover", "blocked", ())
    assert await house.told(request_id) == ["pendingApproval", "level 1 pending", "level 1 blocked"]


async def test_a_level_of_all_is_approved_when_those_who_have_not_decided_have_left(databases: Databases) -> None:
    house = await approving(databases, all_of(user(DARA), user(BEN)), any_of(user(ELI)))
    request_id = await house.ask()
    await house.look()
    await house.approve(request_id, DARA)
    await house.leave(BEN)

    await house.look_again()
    first = await house.levels(request_id)
    await house.look()

    assert [each.state for each in first] == ["approved", "notReached"]
    assert [each.state for each in await house.levels(request_id)] == ["approved", "pending"]
    assert tuple(action for action, _ in (await house.audit(request_id))[-2:]) == (
        "request.closeLevel",
        "request.openLevel",
    )


async def test_the_last_level_may_close_so_as_well(databases: Databases) -> None:
    house = await approving(databases, all_of(user(DARA), user(BEN)))
    request_id = await house.ask()
    await house.look()
    await house.approve(request_id, DARA)
    await house.leave(BEN)

    await house.look_again()

    assert (await house.estate.record(request_id)).state == "queued"
    assert await house.jobs() == ["groupProvision"]


async def test_it_expires_when_nobody_has_decided_in_time(databases: Databases) -> None:
    house = await approving(databases, any_of(user(DARA)), days=1)
    request_id = await house.ask()
    await house.look()
    deadline = house.estate.moment + timedelta(days=1)
    for _ in range(23):
        await house.wait_for(timedelta(hours=1))
        await house.look()
    await house.wait_for(timedelta(minutes=59))
    await house.look()
    before = await house.estate.record(request_id)
    await house.wait_for(timedelta(minutes=1))

    await house.look()

    record = await house.estate.record(request_id)
    assert (before.state, record.state, record.finished_at) == ("pendingApproval", "expired", deadline)
    assert [(each.state, each.deadline) for each in record.approvals] == [("notReached", deadline)]
    assert [person.id for person in record.approvals[0].approvers] == [DARA]
    assert await house.jobs() == []
    assert await house.estate.rows("SELECT FROM chamberlain.reservation") == []
    assert (await house.events(request_id))[-1] == ("request.expired", None)
    assert await house.audit(request_id) == [("request.expire", {"state": "expired"})]
    assert await house.told(request_id) == ["pendingApproval", "level 1 notReached", "expired"]
    await house.ask()


async def test_a_later_level_has_a_deadline_of_its_own(databases: Databases) -> None:
    house = await approving(databases, any_of(user(DARA)), any_of(user(BEN)), days=1)
    request_id = await house.ask()
    await house.look()
    await house.wait_for(timedelta(hours=23))
    await house.approve(request_id, DARA)
    await house.look()
    await house.wait_for(timedelta(hours=2))
    await house.look()

    assert (await house.estate.record(request_id)).state == "pendingApproval"
    await house.wait_for(timedelta(hours=22))
    await house.look()
    assert (await house.estate.record(request_id)).state == "expired"


async def test_it_expires_blocked_or_with_the_directory_away(databases: Databases) -> None:
    house = await approving(databases, any_of(user(NOBODY)), days=1)
    request_id = await house.ask()
    house.estate.people.error = TryAgain(timedelta(days=30), "Away.")
    await house.look()
    ((wait,),) = await house.estate.rows("SELECT extract(epoch FROM run_at - now())::float FROM chamberlain.job")
    await house.wait_for(timedelta(days=1))

    await house.look()

    record = await house.estate.record(request_id)
    assert float(str(wait)) <= timedelta(days=1).total_seconds()
    assert (record.state, record.blocked) == ("expired", None)


async def test_a_request_that_is_cancelled_is_attended_to_no_more(databases: Databases) -> None:
    house = await approving(databases, any_of(user(DARA)), days=1)
    request_id = await house.ask()

    await cancel(house.estate, request_id, caller_of(ADA))

    assert await house.jobs() == []
    assert await house.estate.rows("SELECT FROM chamberlain.request_approver") == []


async def test_a_request_without_a_job_gets_one_by_its_next_decision(databases: Databases) -> None:
    house = await approving(databases, any_of(user(DARA)), any_of(user(BEN)))
    request_id = await house.ask()
    async with databases.worker.across_tenants() as tx:
        await tx.execute("DELETE FROM chamberlain.job")

    await house.approve(request_id, DARA)
    await house.look()

    assert await house.approvers(request_id, 2) == [BEN]


async def test_jobs_of_a_suspended_tenant_rest_and_go_on_later(databases: Databases) -> None:
    house = await approving(databases, any_of(user(DARA)), days=1)
    request_id = await house.ask()
    await suspend(house, suspended=True)
    await house.wait_for(timedelta(days=2))
    await house.look()
    resting = (await house.estate.record(request_id)).state
    await suspend(house, suspended=False)

    await house.look()

    assert (resting, (await house.estate.record(request_id)).state) == ("pendingApproval", "expired")


async def test_a_decision_while_the_directory_is_asked_makes_it_look_again(databases: Databases) -> None:
    house = await approving(databases, any_of(user(DARA)), any_of(user(BEN)))
    request_id = await house.ask()
    estate = house.estate
    inner = estate.people.people

    class Slow:
        """While the directory is asked about the first level, Dara decides."""

        asked = 0

        async def look_up(self, question: PeopleQuestion) -> PeopleAnswer:
            self.asked += 1
            if self.asked == 1:
                await house.approve(request_id, DARA)
            return await inner.look_up(question)

    slow = Slow()
    estate.people.people = slow
    await approving_at(estate).look()
    between = await house.levels(request_id)
    await house.look()

    assert [each.state for each in between] == ["approved", "notReached"]
    assert [each.state for each in await house.levels(request_id)] == ["approved", "pending"]


async def test_two_workers_with_one_job_open_a_level_once(databases: Databases) -> None:
    house = await approving(databases, any_of(user(DARA)), any_of(user(BEN)))
    request_id = await house.ask()
    await house.approve(request_id, DARA)
    claims = []
    for _ in range(2):
        # The lease of the first has ended.
        async with databases.worker.across_tenants() as tx:
            await tx.execute("UPDATE chamberlain.job SET lease_until = now() - interval '1 s'")
        claims.append(await house.estate.claim())

    for claim in claims:
        await house.request_jobs.attend_approvals(claim)

    assert [len(claim.jobs) for claim in claims] == [1, 1]
    assert [type_ for type_, _ in await house.events(request_id)] == ["request.approvalRequired"] * 2
    assert await house.jobs() == ["approvalAttend"]


async def suspend(house: Approving, *, suspended: bool) -> None:
    async with house.estate.databases.worker.across_tenants() as tx:
        await tx.execute("UPDATE chamberlain.tenant SET suspended = $2 WHERE tenant_id = $1", ESTATE, suspended)
