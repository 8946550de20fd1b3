# SPDX-License-Identifier: Apache-2.0
"""Approvers list what it is their turn to decide on, and nothing else of others."""

from dataclasses import replace
from datetime import timedelta

import pytest

from chamberlain.auth.models import Caller
from chamberlain.core.errors import Forbidden, TryAgain
from chamberlain.core.ids import RequestId
from chamberlain.core.paging import PageWanted
from chamberlain.requests.models import RequestFilter, RequestKind, RequestState
from chamberlain.requests.rules import Action
from tests.databases import PACKAGE, Databases
from tests.estates import ADA, BEN, CLEO, DARA, ESTATE, OTHER_HOUSE, caller_of, mail_caller_of
from tests.requests.approval_fixture import (
    ALL_STAFF,
    ApprovalFixture,
    all_of,
    any_of,
    group,
    open_approval_fixture,
    user,
)
from tests.requests.request_services import administrator, application, request_service

MIGRATION = PACKAGE / "database" / "migrations" / "0013_approvals.pre.sql"
TO_DECIDE = RequestFilter(to_decide=True)


async def listed(
    approval_fixture: ApprovalFixture, caller: Caller, wanted: RequestFilter = TO_DECIDE, *, limit: int = 200
) -> list[RequestId]:
    """The ids of all pages in their order."""
    found: list[RequestId] = []
    page = await request_service(approval_fixture.estate).list(caller, wanted, PageWanted(limit, None))
    while True:
        found += [view.record.request_id for view in page.items]
        if page.next is None:
            return found
        page = await request_service(approval_fixture.estate).list(caller, wanted, PageWanted(limit, page.next))


async def test_it_works(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, all_of(user(DARA), user(BEN)))
    first, second = (
        await approval_fixture.ask(name="Apollo"),
        await approval_fixture.ask(caller_of(DARA), name="Borealis"),
    )

    page = await request_service(approval_fixture.estate).list(caller_of(DARA), TO_DECIDE, PageWanted(50, None))

    (view,) = page.items
    assert (view.record.request_id, view.actions) == (first, (Action.APPROVE, Action.REJECT))
    assert await listed(approval_fixture, caller_of(BEN)) == [second, first]
    assert await listed(approval_fixture, mail_caller_of(BEN)) == [second, first]
    assert await listed(approval_fixture, caller_of(ADA)) == []


async def test_what_is_decided_is_listed_no_more(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, all_of(user(DARA), user(BEN)), any_of(user(CLEO)))
    request_id = await approval_fixture.ask()

    await approval_fixture.approve(request_id, DARA)
    after_dara = [await listed(approval_fixture, caller_of(who)) for who in (DARA, BEN, CLEO)]
    await approval_fixture.approve(request_id, BEN)
    between = [await listed(approval_fixture, caller_of(who)) for who in (DARA, BEN, CLEO)]
    await approval_fixture.look()
    second = [await listed(approval_fixture, caller_of(who)) for who in (DARA, BEN, CLEO)]
    await approval_fixture.reject(request_id, CLEO)

    assert after_dara == [[], [request_id], []]
    assert between == [[], [], []]
    assert second == [[], [], [request_id]]
    assert await listed(approval_fixture, caller_of(CLEO)) == []


@pytest.mark.parametrize("limit", [1, 3, 200])
async def test_every_one_once_and_in_order_however_the_pages_are_cut(databases: Databases, limit: int) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA)))
    asked = [await approval_fixture.ask(name=f"Group {number}") for number in range(7)]

    assert await listed(approval_fixture, caller_of(DARA), limit=limit) == asked[::-1]


async def test_filters_go_together(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA)))
    request_id = await approval_fixture.ask()

    for wanted, expected in (
        (RequestFilter(RequestState.PENDING_APPROVAL, RequestKind.GROUP, to_decide=True), [request_id]),
        (RequestFilter(kind=RequestKind.TEAM, to_decide=True), []),
        (RequestFilter(RequestState.QUEUED, to_decide=True), []),
        (RequestFilter(mine=True, to_decide=True), []),
    ):
        assert await listed(approval_fixture, caller_of(DARA), wanted) == expected


async def test_a_member_of_a_group_does_not_list_an_own_request(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(group(ALL_STAFF)))
    request_id = await approval_fixture.ask(caller_of(BEN))

    assert await listed(approval_fixture, caller_of(BEN)) == []
    assert await listed(approval_fixture, caller_of(CLEO)) == [request_id]


async def test_an_administrator_lists_what_is_theirs_to_decide_and_sees_what_is_blocked(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(ADA)))
    blocked, own = (
        await approval_fixture.ask(caller_of(ADA)),
        await approval_fixture.ask(caller_of(CLEO), name="Borealis"),
    )

    page = await request_service(approval_fixture.estate).list(
        administrator(ADA), RequestFilter(RequestState.PENDING_APPROVAL), PageWanted(50, None)
    )

    assert await listed(approval_fixture, administrator(ADA)) == [own]
    assert [(view.record.request_id, view.record.blocked) for view in page.items] == [
        (own, None),
        (blocked, "noApprover"),
    ]
    assert [view.actions for view in page.items] == [(Action.APPROVE, Action.REJECT, Action.CANCEL), (Action.CANCEL,)]


async def test_it_needs_no_directory(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA)))
    request_id = await approval_fixture.ask()
    approval_fixture.estate.people.error = TryAgain(timedelta(seconds=1), "Away.")

    assert await listed(approval_fixture, caller_of(DARA)) == [request_id]


async def test_others_list_nothing(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA)))
    await approval_fixture.ask()

    assert await listed(approval_fixture, replace(caller_of(DARA), tenant_id=OTHER_HOUSE)) == []
    assert await listed(approval_fixture, application("Collab.Manage.ReadWrite.All")) == []
    assert await listed(approval_fixture, replace(application("Collab.Manage.ReadWrite.All"), id=DARA)) == []
    with pytest.raises(Forbidden) as caught:
        await listed(approval_fixture, administrator(DARA))
    assert caught.value.code == "notAdministrator"


async def test_the_migration_finds_those_who_wait_already(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA), user(BEN)), any_of(user(CLEO)))
    request_id = await approval_fixture.ask()
    everything = "SELECT tenant_id, user_id, kind, created_at, request_id FROM chamberlain.request_approver ORDER BY 2"
    before = await approval_fixture.estate.rows(everything)
    async with databases.worker.across_tenants() as tx:
        await tx.execute("DELETE FROM chamberlain.request_approver")
        await tx.execute("DELETE FROM chamberlain.job")

    text = MIGRATION.read_text(encoding="utf-8").partition("-- What waits already")[2].partition("\n")[2]
    async with databases.worker.across_tenants() as tx:
        await tx.connection.execute(text)

    assert await approval_fixture.estate.rows(everything) == before
    assert len(before) == 2
    assert await approval_fixture.estate.rows("SELECT tenant_id, kind, subject FROM chamberlain.job") == [
        (ESTATE, "approvalAttend", request_id)
    ]
