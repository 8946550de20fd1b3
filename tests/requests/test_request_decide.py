# SPDX-License-Identifier: Apache-2.0
"""Approvers decide on requests: who may, what comes of it, and that it is final."""

import asyncio
from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import msgspec
import pytest

from chamberlain.auth.models import Caller
from chamberlain.core.errors import Conflict, Forbidden, NotFound, TryAgain, Unauthenticated, Unavailable
from chamberlain.core.ids import RequestId, UserId
from chamberlain.requests.models import RequestRecord
from chamberlain.requests.rules import Action, viewed_by
from tests.databases import Databases
from tests.estates import ADA, BEN, CLEO, DARA, ESTATE, OTHER_HOUSE, ZOE, caller_of, mail_caller_of
from tests.requests.approval_fixture import (
    ALL_STAFF,
    BOARD,
    MANAGER,
    all_of,
    any_of,
    group,
    open_approval_fixture,
    user,
    view_of,
)
from tests.requests.request_services import act, administrator, application, cancel, render

ELI = UserId(UUID("e1100000-0000-4000-8000-000000000005"))


async def test_it_works(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA)), days=14)
    request_id = await approval_fixture.ask()

    answer = await approval_fixture.approve(request_id, DARA, act(comment="fine"))

    assert answer.body == b'{"state": "queued", "actions": 0}'
    record = await approval_fixture.estate.record(request_id)
    (level,) = record.approvals
    (decision,) = level.decisions
    assert (record.state, record.blocked, record.finished_at) == ("queued", None, None)
    assert (level.state, level.deadline) == ("approved", approval_fixture.estate.moment + timedelta(days=14))
    assert (decision.by.id, decision.by.display_name, decision.outcome) == (DARA, "Dara Lindqvist", "approved")
    assert (decision.comment, decision.decided_at) == ("fine", approval_fixture.estate.moment)
    assert await approval_fixture.jobs() == ["groupProvision"]
    assert await approval_fixture.audit(request_id) == [
        ("request.approve", {"state": "queued", "level": 1, "comment": "fine"}),
    ]
    assert await approval_fixture.told(request_id) == ["pendingApproval", "level 1 approved", "queued"]
    assert await approval_fixture.events(request_id) == [
        ("request.approvalRequired", [str(DARA)]),
        ("request.approved", None),
    ]


async def test_the_worker_makes_what_is_approved(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA)))
    request_id = await approval_fixture.ask()
    await approval_fixture.estate.work()
    assert await approval_fixture.estate.group(request_id) is None

    await approval_fixture.approve(request_id, DARA)
    await approval_fixture.estate.work()

    assert await approval_fixture.estate.group(request_id) is not None
    assert (await approval_fixture.estate.record(request_id)).state == "succeeded"


async def test_a_rejection_ends_it_and_gives_its_address_back(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA)), any_of(user(BEN)))
    request_id = await approval_fixture.ask()
    taken = await approval_fixture.estate.rows("SELECT value FROM chamberlain.reservation")

    answer = await approval_fixture.reject(request_id, DARA, act(comment="no"))

    assert answer.body == b'{"state": "rejected", "actions": 0}'
    record = await approval_fixture.estate.record(request_id)
    assert (record.state, record.finished_at) == ("rejected", approval_fixture.estate.moment)
    assert [each.state for each in record.approvals] == ["rejected", "notReached"]
    assert await approval_fixture.jobs() == []
    assert await approval_fixture.estate.rows("SELECT FROM chamberlain.reservation") == []
    assert (await approval_fixture.audit(request_id))[-1] == (
        "request.reject",
        {"state": "rejected", "level": 1, "comment": "no"},
    )
    assert (await approval_fixture.events(request_id))[-1] == ("request.rejected", None)
    assert await approval_fixture.told(request_id) == ["pendingApproval", "level 1 rejected", "rejected"]
    await approval_fixture.ask()
    assert await approval_fixture.estate.rows("SELECT value FROM chamberlain.reservation") == taken


@pytest.mark.parametrize(
    ("approver", "who"),
    [
        pytest.param(user(ADA), ADA, id="named"),
        pytest.param(group(ALL_STAFF), ADA, id="a member of the group"),
        pytest.param(group(BOARD), ADA, id="a member of a group in the group"),
        pytest.param(MANAGER, CLEO, id="whose manager is the manager of themselves"),
    ],
)
async def test_a_requester_never_approves(databases: Databases, approver: dict[str, str], who: UserId) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(approver, user(DARA)), groups={BOARD: [ALL_STAFF]})
    if who == CLEO:
        async with databases.worker.across_tenants() as tx:
            await tx.execute("UPDATE directory.users SET manager_id = id WHERE id = $1", CLEO)
    request_id = await approval_fixture.ask(caller_of(who))
    before = await approval_fixture.estate.record(request_id)

    assert who not in await approval_fixture.approvers(request_id)
    for caller in (caller_of(who), mail_caller_of(who), replace(caller_of(who), client_id=before.client_id)):
        for decide in (approval_fixture.requests.approve, approval_fixture.requests.reject):
            with pytest.raises(Forbidden) as caught:
                await decide(caller, request_id, act(), render)
            assert caught.value.code == "selfApproval"
    assert await approval_fixture.estate.record(request_id) == before


async def test_no_application_decides(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA)))
    request_id = await approval_fixture.ask()

    for program in (application("Collab.Config.ReadWrite.All"), replace(application("x"), id=DARA)):
        with pytest.raises(Forbidden) as caught:
            await approval_fixture.requests.approve(program, request_id, act(), render)
        assert caught.value.code == "applicationNotSupported"


async def test_it_rejects_others(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA)), any_of(user(BEN)))
    request_id = await approval_fixture.ask(caller_of(CLEO))

    with pytest.raises(Forbidden) as by_administrator:
        await approval_fixture.requests.approve(administrator(ADA), request_id, act(), render)
    # Ben is an approver of a level that is not open yet; he and strangers do not know of it.
    for stranger in (caller_of(ELI), caller_of(BEN), caller_of(ADA), caller_of(ZOE, OTHER_HOUSE)):
        with pytest.raises(NotFound):
            await approval_fixture.requests.approve(stranger, request_id, act(), render)
    with pytest.raises(Forbidden) as by_none:
        await approval_fixture.requests.approve(administrator(ELI), request_id, act(), render)
    with pytest.raises(NotFound):
        await approval_fixture.approve(RequestId(UUID(int=7)), DARA)

    assert (by_administrator.value.code, by_none.value.code) == ("notApprover", "notAdministrator")
    assert (await approval_fixture.estate.record(request_id)).state == "pendingApproval"


async def test_an_administrator_who_is_an_approver_decides_with_that_permission(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(ADA)))
    request_id = await approval_fixture.ask(caller_of(CLEO))

    answer = await approval_fixture.requests.approve(administrator(ADA), request_id, act(), render)

    assert b'"queued"' in answer.body


async def test_three_levels_open_one_after_the_other(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(
        databases, any_of(user(DARA), user(ELI)), all_of(group(BOARD), user(DARA)), any_of(MANAGER), groups={
            BOARD: [BEN, ELI]
        }
    )  # fmt: skip
    request_id = await approval_fixture.ask(caller_of(CLEO))

    await approval_fixture.approve(request_id, ELI)
    with pytest.raises(Conflict):
        await approval_fixture.approve(request_id, DARA)
    await approval_fixture.look()
    second = await approval_fixture.approvers(request_id, 2)
    await approval_fixture.approve(request_id, DARA)
    with pytest.raises(Conflict):
        await approval_fixture.approve(request_id, DARA)
    await approval_fixture.approve(request_id, ELI)
    assert (await approval_fixture.levels(request_id))[1].state == "pending"
    await approval_fixture.approve(request_id, BEN)
    await approval_fixture.look()
    third = await approval_fixture.approvers(request_id, 3)
    await approval_fixture.approve(request_id, BEN)

    assert [after for _, after in await approval_fixture.audit(request_id)][:3] == [
        {"level": 1},
        {"level": 2, "state": "pending", "approvers": [str(each) for each in second]},
        {"level": 2},
    ]
    assert (set(second), third) == ({BEN, ELI, DARA}, [BEN])
    record = await approval_fixture.estate.record(request_id)
    assert [(each.state, len(each.decisions)) for each in record.approvals] == [
        ("approved", 1), ("approved", 3), ("approved", 1),
    ]  # fmt: skip
    assert record.state == "queued"
    types = [type_ for type_, _ in await approval_fixture.events(request_id)]
    assert types == [*["request.approvalRequired"] * 3, "request.approved"]
    assert await approval_fixture.told(request_id) == [
        "pendingApproval",
        "level 1 approved",
        "level 2 pending",
        "level 2 pending",
        "level 2 pending",
        "level 2 approved",
        "level 3 pending",
        "level 3 approved",
        "queued",
    ]


@pytest.mark.parametrize("level", [1, 2, 3])
async def test_a_rejection_at_any_level_rejects(databases: Databases, level: int) -> None:
    approval_fixture = await open_approval_fixture(databases, *[all_of(user(DARA), user(BEN))] * 3)
    request_id = await approval_fixture.ask()
    for _ in range(level - 1):
        await approval_fixture.approve(request_id, DARA)
        await approval_fixture.approve(request_id, BEN)
        await approval_fixture.look()
    await approval_fixture.approve(request_id, DARA)

    await approval_fixture.reject(request_id, BEN)

    record = await approval_fixture.estate.record(request_id)
    assert record.state == "rejected"
    assert [each.state == "approved" for each in record.approvals].count(True) == level - 1
    assert await approval_fixture.jobs() == []
    assert await approval_fixture.estate.rows("SELECT FROM chamberlain.request_approver") == []


async def test_decisions_are_final(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA), user(BEN)))
    request_id = await approval_fixture.ask()
    await approval_fixture.approve(request_id, DARA)

    for who in (DARA, BEN):
        for decide in (approval_fixture.approve, approval_fixture.reject):
            with pytest.raises(Conflict) as caught:
                await decide(request_id, who)
            assert caught.value.code == "stateDoesNotAllow"
    assert (await approval_fixture.estate.record(request_id)).state == "queued"


@pytest.mark.parametrize("late", [timedelta(0), timedelta(microseconds=1), timedelta(days=1)])
async def test_a_decision_after_the_deadline_loses_though_nobody_has_swept(
    databases: Databases, late: timedelta
) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA)), days=1)
    request_id = await approval_fixture.ask()
    approval_fixture.estate.moment += timedelta(days=1) + late

    for decide in (approval_fixture.approve, approval_fixture.reject):
        with pytest.raises(Conflict) as caught:
            await decide(request_id, DARA)
        assert caught.value.code == "stateDoesNotAllow"

    assert (await approval_fixture.estate.record(request_id)).state == "pendingApproval"


async def test_a_decision_just_before_the_deadline_counts(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA)), days=1)
    request_id = await approval_fixture.ask()
    approval_fixture.estate.moment += timedelta(days=1) - timedelta(microseconds=1)

    await approval_fixture.approve(request_id, DARA)

    assert (await approval_fixture.estate.record(request_id)).state == "queued"


async def test_an_approver_who_has_left_does_not_decide(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA), user(BEN)))
    request_id = await approval_fixture.ask()
    await approval_fixture.leave(DARA)

    with pytest.raises(Forbidden) as caught:
        await approval_fixture.approve(request_id, DARA)
    await approval_fixture.approve(request_id, BEN)

    assert caught.value.code == "notApprover"
    assert (await approval_fixture.estate.record(request_id)).state == "queued"


async def test_nobody_waits_for_an_approver_who_has_left(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, all_of(user(DARA), user(BEN), user(ELI)))
    request_id = await approval_fixture.ask()
    await approval_fixture.leave(ELI)

    await approval_fixture.approve(request_id, BEN)
    assert (await approval_fixture.estate.record(request_id)).state == "pendingApproval"
    await approval_fixture.approve(request_id, DARA)

    assert (await approval_fixture.estate.record(request_id)).state == "queued"


async def test_it_is_not_known_who_has_left_while_the_directory_is_away(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA)))
    request_id = await approval_fixture.ask()
    approval_fixture.estate.people.error = TryAgain(timedelta(seconds=7), "Away.")

    with pytest.raises(Unavailable) as caught:
        await approval_fixture.approve(request_id, DARA)

    assert (caught.value.code, caught.value.after) == ("overloaded", timedelta(seconds=7))
    assert (await approval_fixture.estate.record(request_id)).state == "pendingApproval"


async def test_one_key_decides_once(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, all_of(user(DARA), user(BEN)))
    request_id = await approval_fixture.ask()

    answers = await asyncio.gather(*[approval_fixture.approve(request_id, DARA, act(key="k1")) for _ in range(20)])
    again = await approval_fixture.approve(request_id, DARA, act(key="k1"))

    assert len({each.body for each in [*answers, again]}) == 1
    assert [each.replayed for each in answers].count(False) == 1
    assert again.replayed
    assert len((await approval_fixture.levels(request_id))[0].decisions) == 1
    # It stays so when it has gone on.
    await approval_fixture.approve(request_id, BEN)
    assert (await approval_fixture.approve(request_id, DARA, act(key="k1"))).body == again.body


async def test_a_tenant_that_is_suspended_meanwhile_decides_on_nothing(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA)))
    request_id = await approval_fixture.ask()
    async with databases.worker.across_tenants() as tx:
        await tx.execute("UPDATE chamberlain.tenant SET suspended = true WHERE tenant_id = $1", ESTATE)

    with pytest.raises(Unauthenticated):
        await approval_fixture.approve(request_id, DARA)

    assert (await approval_fixture.estate.record(request_id)).state == "pendingApproval"


async def test_it_is_read_by_those_who_have_to_decide_or_have_decided_and_by_nobody_else(
    databases: Databases,
) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA), user(BEN)), any_of(user(ELI)))
    request_id = await approval_fixture.ask()

    async def readers() -> set[UserId]:
        found = set()
        for who in (ADA, BEN, CLEO, DARA, ELI):
            try:
                await view_of(approval_fixture, request_id, who)
            except NotFound:
                continue
            found.add(who)
        return found

    first = await readers()
    await approval_fixture.approve(request_id, DARA)
    between = await readers()
    await approval_fixture.look()
    second = await readers()
    await cancel(approval_fixture.estate, request_id, caller_of(ADA))

    assert first == {ADA, BEN, DARA}
    assert between == {ADA, DARA}
    assert second == {ADA, DARA, ELI}
    assert await readers() == {ADA, DARA}


async def test_actions_are_those_of_the_caller(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA)), any_of(user(BEN)))
    request_id = await approval_fixture.ask()

    async def actions(caller: Caller) -> tuple[Action, ...]:
        return (await approval_fixture.requests.read(caller, request_id)).actions

    assert await actions(caller_of(DARA)) == (Action.APPROVE, Action.REJECT)
    assert await actions(caller_of(ADA)) == (Action.CANCEL,)
    assert await actions(administrator(ADA)) == (Action.CANCEL,)
    await approval_fixture.approve(request_id, DARA)
    assert await actions(caller_of(DARA)) == ()


async def test_a_later_edit_of_the_template_changes_nothing(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA)), any_of(user(BEN)))
    request_id = await approval_fixture.ask()
    await approval_fixture.approve(request_id, DARA)
    other = await open_approval_fixture(databases, any_of(user(ELI)), any_of(user(ELI)), any_of(user(ELI)))

    await other.look()

    assert await other.approvers(request_id, 2) == [BEN]
    assert len(await other.levels(request_id)) == 2


async def test_a_mailbox_follows_its_request(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA)))
    async with databases.worker.across_tenants() as tx:
        await tx.execute(ASK_FOR_APPROVAL, msgspec.json.encode({"approval": {"levels": [any_of(user(DARA))]}}).decode())
    sent = {"name": "Info", "displayName": "Information", "autoMapping": True, "alias": "desk"}
    first = await approval_fixture.estate.ask_mailbox(sent)
    await approval_fixture.reject(first.accepted.request_id, DARA)
    second = await approval_fixture.estate.ask_mailbox(sent)
    await approval_fixture.requests.approve(mail_caller_of(DARA), second.accepted.request_id, act(), render)
    await approval_fixture.estate.work()

    mailboxes = replace(approval_fixture.estate.mailboxes, authorization=approval_fixture.estate.authorization())
    found = [await mailboxes.read(mail_caller_of(ADA), each.record.id) for each in (first, second)]
    states = [each.provisioning_state for each in found]

    assert states == ["rejected", "active"]


ASK_FOR_APPROVAL = """
UPDATE chamberlain.template_revision SET content = (content::jsonb || $1::text::jsonb)::json
WHERE content ->> 'kind' = 'shared'
"""


async def test_those_who_watch_see_what_they_may_do_and_the_levels(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA)), any_of(user(BEN)))
    request_id = await approval_fixture.ask()
    watch = approval_fixture.requests.watch
    with pytest.raises(NotFound):
        await watch(caller_of(BEN), request_id, 0)
    happenings = await watch(caller_of(DARA), request_id, 0)
    assert happenings is not None

    async with aclosing(happenings):
        ((first,),) = [await anext(happenings)]

    assert isinstance(first.what, RequestRecord)
    assert viewed_by(caller_of(DARA), first.what).actions == (Action.APPROVE, Action.REJECT)
    assert viewed_by(caller_of(ADA), first.what).actions == (Action.CANCEL,)


async def test_whoever_had_to_decide_watches_no_more_when_somebody_else_has(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA), user(BEN)), any_of(user(CLEO)))
    request_id = await approval_fixture.ask()
    watch = approval_fixture.requests.watch
    streams = [await watch(caller_of(each), request_id, 0) for each in (BEN, DARA, ADA)]
    first = [[happening.number for happening in await anext(each)] for each in streams if each is not None]

    await approval_fixture.approve(request_id, DARA)
    await approval_fixture.look_again()
    await approval_fixture.reject(request_id, CLEO)

    later = [[happening.number async for news in each for happening in news] for each in streams if each is not None]
    assert first == [[1]] * 3
    assert later == [[], [2, 3, 4, 5], [2, 3, 4, 5]]
