# SPDX-License-Identifier: Apache-2.0
"""Administrators name approvers of requests without any."""

import asyncio
from datetime import timedelta

import pytest

from chamberlain.auth.models import Caller
from chamberlain.core.errors import Conflict, Forbidden, KeyReused, NotFound, NotPossible, TryAgain, Unavailable
from chamberlain.core.ids import RequestId, UserId
from tests.databases import Databases
from tests.estates import ADA, BEN, CLEO, DARA, NOBODY, OTHER_HOUSE, ZOE, caller_of
from tests.requests.approval_fixture import ApprovalFixture, all_of, any_of, open_approval_fixture, user
from tests.requests.request_services import ADDRESS, act, administrator, application, cancel

ADMIN = administrator(ADA)


async def blocked(databases: Databases, *, days: int | None = None) -> tuple[ApprovalFixture, RequestId]:
    """A request of Dara's that only she could approve."""
    approval_fixture = await open_approval_fixture(databases, all_of(user(DARA)), any_of(user(BEN)), days=days)
    return approval_fixture, await approval_fixture.ask(caller_of(DARA))


async def test_it_works(databases: Databases) -> None:
    approval_fixture, request_id = await blocked(databases, days=2)
    before = await approval_fixture.estate.record(request_id)

    answer = await approval_fixture.name_approvers(request_id, ADMIN, BEN, CLEO, BEN)

    record = await approval_fixture.estate.record(request_id)
    first, second = record.approvals
    assert answer.body == b'{"state": "pendingApproval", "actions": 1}'
    assert (before.blocked, record.blocked) == ("noApprover", None)
    assert (first.state, first.deadline) == ("pending", before.approvals[0].deadline)
    assert [(each.id, each.display_name) for each in first.approvers] == [
        (BEN, "Ben Okafor"),
        (CLEO, "Cleo Marchetti"),
    ]
    assert second == before.approvals[1]
    told = {"blocked": None, "level": 1, "approvers": [str(BEN), str(CLEO)]}
    assert await approval_fixture.audit(request_id) == [("request.nameApprovers", told)]
    assert await approval_fixture.events(request_id) == [
        ("request.approvalRequired", []),
        ("request.approvalRequired", [str(BEN), str(CLEO)]),
    ]
    assert await approval_fixture.told(request_id) == ["pendingApproval", "level 1 pending"]


async def test_what_callers_do_is_on_record_with_their_address_and_what_the_service_does_without(
    databases: Databases,
) -> None:
    approval_fixture, request_id = await blocked(databases)
    await approval_fixture.name_approvers(request_id, ADMIN, CLEO)
    await approval_fixture.approve(request_id, CLEO)
    await approval_fixture.look()

    found = await approval_fixture.estate.rows(
        "SELECT action, payload ->> 'clientAddress' FROM chamberlain.audit WHERE request_id = $1 ORDER BY sequence",
        request_id,
    )

    assert found[1:] == [
        ("request.nameApprovers", ADDRESS),
        ("request.approve", ADDRESS),
        ("request.openLevel", None),
    ]


async def test_those_who_were_named_decide(databases: Databases) -> None:
    approval_fixture, request_id = await blocked(databases)
    await approval_fixture.name_approvers(request_id, ADMIN, BEN, ADA)

    await approval_fixture.approve(request_id, BEN)
    await approval_fixture.approve(request_id, ADA)
    await approval_fixture.look()
    await approval_fixture.approve(request_id, BEN)

    assert (await approval_fixture.estate.record(request_id)).state == "queued"


async def test_the_service_lets_them_be(databases: Databases) -> None:
    approval_fixture, request_id = await blocked(databases)
    await approval_fixture.name_approvers(request_id, ADMIN, BEN)

    await approval_fixture.look_again()

    assert await approval_fixture.approvers(request_id) == [BEN]


@pytest.mark.parametrize("users", [[DARA], [BEN, DARA], [DARA, NOBODY]])
async def test_it_rejects_the_requester(databases: Databases, users: list[UserId]) -> None:
    approval_fixture, request_id = await blocked(databases)

    with pytest.raises(Forbidden) as caught:
        await approval_fixture.name_approvers(request_id, ADMIN, *users)

    assert caught.value.code == "selfApproval"
    assert (await approval_fixture.estate.record(request_id)).blocked == "noApprover"


async def test_an_administrator_cannot_name_themselves_for_an_own_request(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(ADA)))
    request_id = await approval_fixture.ask(caller_of(ADA))

    with pytest.raises(Forbidden) as caught:
        await approval_fixture.name_approvers(request_id, ADMIN, ADA)

    assert caught.value.code == "selfApproval"


async def test_it_rejects_whom_the_directory_does_not_have(databases: Databases) -> None:
    approval_fixture, request_id = await blocked(databases)

    with pytest.raises(NotPossible) as caught:
        await approval_fixture.name_approvers(request_id, ADMIN, NOBODY, BEN, ZOE)

    assert [(each.pointer, each.code) for each in caught.value.faults] == [
        ("/userIds/0", "userUnknown"),
        ("/userIds/2", "userUnknown"),
    ]
    assert await approval_fixture.audit(request_id) == []


@pytest.mark.parametrize("level", [2, 3])
async def test_it_rejects_a_level_that_is_not_blocked(databases: Databases, level: int) -> None:
    approval_fixture, request_id = await blocked(databases)

    with pytest.raises(Conflict) as caught:
        await approval_fixture.name_approvers(request_id, ADMIN, BEN, level=level)

    assert caught.value.code == "stateDoesNotAllow"


async def test_it_rejects_what_is_not_blocked_any_more(databases: Databases) -> None:
    approval_fixture, request_id = await blocked(databases, days=1)
    await approval_fixture.name_approvers(request_id, ADMIN, BEN)
    other = await approval_fixture.ask(caller_of(DARA), "Borealis")
    await cancel(approval_fixture.estate, other, caller_of(DARA))
    late = await approval_fixture.ask(caller_of(DARA), "Cassini")
    approval_fixture.estate.moment += timedelta(days=1)

    for each in (request_id, other, late):
        with pytest.raises(Conflict) as caught:
            await approval_fixture.name_approvers(each, ADMIN, CLEO)
        assert caught.value.code == "stateDoesNotAllow"


@pytest.mark.parametrize(
    ("caller", "code"),
    [
        (caller_of(ADA), "insufficientScope"),
        (administrator(BEN), "notAdministrator"),
        (application("Collab.Config.ReadWrite.All"), "applicationNotSupported"),
        (application("Mail.Config.ReadWrite.All"), "applicationNotSupported"),
    ],
)
async def test_it_rejects_others(databases: Databases, caller: Caller, code: str) -> None:
    approval_fixture, request_id = await blocked(databases)

    with pytest.raises(Forbidden) as caught:
        await approval_fixture.name_approvers(request_id, caller, BEN)

    assert caught.value.code == code


async def test_it_does_not_exist_for_administrators_of_another_tenant(databases: Databases) -> None:
    approval_fixture, request_id = await blocked(databases)
    async with databases.worker.across_tenants() as tx:
        await tx.execute(
            "UPDATE chamberlain.tenant SET administrator_users = ARRAY[$2::uuid] WHERE tenant_id = $1",
            OTHER_HOUSE,
            ZOE,
        )

    with pytest.raises(NotFound):
        await approval_fixture.name_approvers(request_id, administrator(ZOE, OTHER_HOUSE), ZOE)


async def test_one_key_names_once(databases: Databases) -> None:
    approval_fixture, request_id = await blocked(databases)
    key = act(key="k1")

    answers = await asyncio.gather(
        *[approval_fixture.name_approvers(request_id, ADMIN, BEN, said=key) for _ in range(10)]
    )

    assert [each.replayed for each in answers].count(False) == 1
    assert len({each.body for each in answers}) == 1
    with pytest.raises(KeyReused):
        await approval_fixture.name_approvers(request_id, ADMIN, CLEO, said=act(key="k1", digest=b"other"))


async def test_it_handles_a_directory_that_is_away(databases: Databases) -> None:
    approval_fixture, request_id = await blocked(databases)
    approval_fixture.estate.people.error = TryAgain(timedelta(seconds=3), "Away.")

    with pytest.raises(Unavailable) as caught:
        await approval_fixture.name_approvers(request_id, ADMIN, BEN)

    assert caught.value.code == "overloaded"
