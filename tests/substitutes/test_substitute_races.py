# SPDX-License-Identifier: Apache-2.0
"""Concurrent changes of substitutes and decisions."""

import asyncio

import pytest

from chamberlain.core.errors import Conflict, Forbidden, NotFound
from chamberlain.core.idempotency import KeptAnswer
from chamberlain.core.ids import RequestId
from tests.databases import Databases
from tests.estates import BEN, CLEO, DARA
from tests.requests.approval_fixture import all_of, any_of, user
from tests.substitutes.substitute_fixture import SubstituteFixture, open_substitute_fixture

TIMES = 20


async def ask_and_look(it: SubstituteFixture, number: int) -> RequestId:
    """A request at whose level the substitute is known."""
    request_id = await it.approvals.ask(name=f"Race {number}")
    await it.approvals.look()
    return request_id


@pytest.mark.heavy
async def test_it_works(databases: Databases) -> None:
    it = await open_substitute_fixture(databases, any_of(user(DARA)))
    await it.name(DARA, BEN)

    for number in range(TIMES):
        request_id = await ask_and_look(it, number)
        came = await asyncio.gather(
            it.approvals.approve(request_id, DARA), it.approvals.reject(request_id, BEN), return_exceptions=True
        )

        assert sorted(type(each).__name__ for each in came) == ["Conflict", "KeptAnswer"]
        ((decision,),) = [level.decisions for level in await it.approvals.levels(request_id)]
        approver = decision.on_behalf_of
        assert (decision.by.id, approver and approver.id) == (
            (DARA, None) if isinstance(came[0], KeptAnswer) else (BEN, DARA)
        )


@pytest.mark.heavy
async def test_two_approvers_with_one_substitute_decide_at_the_same_moment(databases: Databases) -> None:
    it = await open_substitute_fixture(databases, all_of(user(DARA), user(CLEO)))
    await it.name(DARA, BEN)
    await it.name(CLEO, BEN)

    for number in range(TIMES):
        request_id = await ask_and_look(it, number)
        came = await asyncio.gather(
            it.approvals.approve(request_id, BEN),
            it.approvals.approve(request_id, BEN),
            it.approvals.approve(request_id, DARA),
            return_exceptions=True,
        )

        assert [each for each in came if isinstance(each, BaseException) and not isinstance(each, Conflict)] == []
        ((decisions),) = [level.decisions for level in await it.approvals.levels(request_id)]
        deciders = [each.by.id for each in decisions]
        assert len(deciders) == len(set(deciders))
        represented = [each.on_behalf_of.id if each.on_behalf_of else each.by.id for each in decisions]
        assert len(represented) == len(set(represented))


@pytest.mark.heavy
async def test_a_substitute_who_is_withdrawn_at_the_moment_of_the_decision(databases: Databases) -> None:
    it = await open_substitute_fixture(databases, any_of(user(DARA)))

    for number in range(TIMES):
        await it.name(DARA, BEN)
        request_id = await ask_and_look(it, number)
        decided, withdrawn = await asyncio.gather(
            it.approvals.approve(request_id, BEN), it.withdraw(DARA), return_exceptions=True
        )

        assert withdrawn is None
        state = (await it.approvals.estate.record(request_id)).state
        if isinstance(decided, KeptAnswer):
            assert state == "queued"
        else:
            assert isinstance(decided, Forbidden | NotFound)
            assert state == "pendingApproval"


@pytest.mark.heavy
async def test_a_substitute_who_is_named_while_levels_open_gets_them(databases: Databases) -> None:
    it = await open_substitute_fixture(databases, any_of(user(CLEO)), any_of(user(DARA)))

    for number in range(TIMES):
        request_id = await ask_and_look(it, number)
        await it.approvals.approve(request_id, CLEO)
        await asyncio.gather(it.name(DARA, BEN), it.approvals.look())
        # At the latest an hour later.
        await it.approvals.look_again()
        await it.approvals.look_again()

        assert await it.substituted(request_id, 2) == [(BEN, DARA)]
        await it.withdraw(DARA)


@pytest.mark.heavy
async def test_two_approvers_of_the_same_requests_name_substitutes_at_once(databases: Databases) -> None:
    it = await open_substitute_fixture(databases, any_of(user(CLEO), user(DARA)))
    asked = [await ask_and_look(it, number) for number in range(TIMES)]

    for _ in range(TIMES):
        await asyncio.gather(
            it.name(CLEO, BEN), it.name(DARA, BEN), it.withdraw(CLEO), it.approvals.look_again(), it.name(DARA, BEN)
        )

    await it.name(CLEO, BEN)
    await it.approvals.look_again()
    await it.approvals.look_again()
    assert [sorted(await it.substituted(each)) for each in asked] == [sorted([(BEN, CLEO), (BEN, DARA)])] * TIMES
