# SPDX-License-Identifier: Apache-2.0
"""Approvers list and review their decisions, the soonest deadline first."""

from datetime import timedelta

import pytest

from chamberlain.core.errors import NotFound
from chamberlain.core.ids import RequestId, UserId
from chamberlain.core.paging import PageWanted, Position
from chamberlain.requests.models import RequestState
from chamberlain.requests.rules import Action
from tests.databases import Databases
from tests.estates import ADA, BEN, CLEO, DARA, ESTATE, caller_of
from tests.requests.approval_fixture import ApprovalFixture, all_of, any_of, open_approval_fixture, user


async def listed(approval_fixture: ApprovalFixture, who: UserId, limit: int = 50) -> list[RequestId]:
    """The ids of all pages in their order."""
    found: list[RequestId] = []
    after: Position | None = None
    while True:
        page = await approval_fixture.requests.list_to_decide(caller_of(who), PageWanted(limit, after))
        found += [view.record.request_id for view in page.items]
        if page.next is None:
            return found
        after = page.next


async def set_deadline(approval_fixture: ApprovalFixture, request_id: RequestId, deadline: str | None) -> None:
    """Give the first level this deadline."""
    async with approval_fixture.estate.databases.worker.across_tenants() as tx:
        await tx.execute(
            "UPDATE chamberlain.request SET approvals = "
            "jsonb_set(approvals::jsonb, '{0,deadline}', coalesce(to_jsonb($2::text), 'null'))::json "
            "WHERE request_id = $1",
            request_id,
            deadline,
        )


async def test_it_works(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA), user(BEN)), days=14)
    request_id = await approval_fixture.ask()

    page = await approval_fixture.requests.list_to_decide(caller_of(DARA), PageWanted(50, None))

    (view,) = page.items
    assert (view.record.request_id, view.actions) == (request_id, (Action.APPROVE, Action.REJECT))
    assert b"Apollo" in view.record.body
    assert view.record.approvals[0].deadline == approval_fixture.estate.moment + timedelta(days=14)
    assert await listed(approval_fixture, ADA) == []


@pytest.mark.parametrize("limit", [1, 2, 50])
async def test_the_soonest_deadline_is_first_and_none_is_last(databases: Databases, limit: int) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA)), days=14)
    late, none, soon, also_none = [await approval_fixture.ask(name=f"Group {number}") for number in range(4)]
    await set_deadline(approval_fixture, late, "2026-12-24T10:00:00.123456Z")
    await set_deadline(approval_fixture, soon, "2026-12-03T10:00:00Z")
    for each in (none, also_none):
        await set_deadline(approval_fixture, each, None)

    assert await listed(approval_fixture, DARA, limit) == [soon, late, *sorted([none, also_none])]


async def test_decided_requests_are_neither_listed_nor_counted(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, all_of(user(DARA), user(BEN)))
    first, second = await approval_fixture.ask(name="One"), await approval_fixture.ask(name="Two")
    requests = approval_fixture.requests
    assert await requests.count_to_decide(caller_of(DARA), most=100) == 2
    assert await requests.count_to_decide(caller_of(DARA), most=1) == 1

    await approval_fixture.approve(first, DARA)

    assert await listed(approval_fixture, DARA) == [second]
    assert await requests.count_to_decide(caller_of(DARA), most=100) == 1
    assert await requests.count_to_decide(caller_of(BEN), most=100) == 2
    assert await requests.count_to_decide(caller_of(ADA), most=100) == 0


async def test_an_approver_who_was_too_late_reviews_the_decision_alone(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA), user(BEN)))
    request_id = await approval_fixture.ask()
    before = await approval_fixture.requests.review(caller_of(BEN), request_id)

    await approval_fixture.approve(request_id, DARA)

    after = await approval_fixture.requests.review(caller_of(BEN), request_id)
    assert (before.actions, b"Apollo" in before.record.body) == ((Action.APPROVE, Action.REJECT), True)
    assert (after.actions, after.record.body, after.record.steps) == ((), b"{}", ())
    assert after.record.state is RequestState.QUEUED
    assert [each.by.id for each in after.record.approvals[0].decisions] == [DARA]
    own = await approval_fixture.requests.review(caller_of(DARA), request_id)
    assert b"Apollo" in own.record.body


async def test_other_users_cannot_review(databases: Databases) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA)))
    request_id = await approval_fixture.ask(caller_of(BEN))

    with pytest.raises(NotFound):
        await approval_fixture.requests.review(caller_of(CLEO), request_id)
    with pytest.raises(NotFound):
        await approval_fixture.requests.review(caller_of(DARA), RequestId(ESTATE))
