# SPDX-License-Identifier: Apache-2.0
"""Concurrent changes have one winner: two approvers, a requester who cancels, a deadline that passes."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta

import pytest

from chamberlain.core.errors import Conflict
from chamberlain.core.idempotency import KeptAnswer
from chamberlain.core.ids import RequestId
from tests.databases import Databases
from tests.estates import ADA, BEN, DARA, caller_of
from tests.requests.approval_fixture import ApprovalFixture, all_of, any_of, open_approval_fixture, user
from tests.requests.request_services import cancel

pytestmark = pytest.mark.heavy

TIMES = [pytest.param(40, id="40 times"), pytest.param(1_000, id="1,000 times", marks=pytest.mark.heavy)]
# So many pairs at once, so that they meet in every order.
TOGETHER = 20

# A decision has less statements than that.
LATEST = 30

# Two things that happen to a request at the same moment.
Pair = Callable[[RequestId], Sequence[Awaitable[object]]]


async def race(approval_fixture: ApprovalFixture, times: int, pair: Pair) -> list[tuple[RequestId, list[object]]]:
    """The requests, each with what came of both."""
    raced: list[tuple[RequestId, list[object]]] = []
    for start in range(0, times, TOGETHER):
        asked = [await approval_fixture.ask(name=f"Race {start + number}") for number in range(TOGETHER)]
        raced += zip(asked, await asyncio.gather(*[both(pair(each)) for each in asked]), strict=True)
    return raced


async def both(pair: Sequence[Awaitable[object]]) -> list[object]:
    return list(await asyncio.gather(*pair, return_exceptions=True))


async def outcomes(approval_fixture: ApprovalFixture, request_id: RequestId) -> tuple[str, int, list[str], list[str]]:
    """State, number of decisions, events and what the audit trail tells."""
    record = await approval_fixture.estate.record(request_id)
    return (
        record.state,
        sum(len(each.decisions) for each in record.approvals),
        [type_ for type_, _ in await approval_fixture.events(request_id)][1:],
        [action for action, _ in await approval_fixture.audit(request_id)],
    )


def one_winner(came: list[object]) -> bool:
    """Exactly one got an answer, and the other a conflict."""
    kinds = sorted(type(each).__name__ for each in came)
    lost = [each for each in came if isinstance(each, Conflict)]
    return kinds == ["Conflict", "KeptAnswer"] and [each.code for each in lost] == ["stateDoesNotAllow"]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("times", TIMES)
async def test_two_approvers_at_the_same_moment(databases: Databases, times: int) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA), user(BEN)))

    raced = await race(
        approval_fixture, times, lambda each: (approval_fixture.approve(each, DARA), approval_fixture.reject(each, BEN))
    )

    for request_id, came in raced:
        assert one_winner(came)
        approved = isinstance(came[0], KeptAnswer)
        assert await outcomes(approval_fixture, request_id) == (
            ("queued", 1, ["request.approved"], ["request.approve"])
            if approved
            else ("rejected", 1, ["request.rejected"], ["request.reject"])
        )
    queued = [came for _, came in raced if isinstance(came[0], KeptAnswer)]
    assert await approval_fixture.jobs() == ["groupProvision"] * len(queued)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("times", TIMES)
async def test_the_last_two_of_all_at_the_same_moment(databases: Databases, times: int) -> None:
    approval_fixture = await open_approval_fixture(databases, all_of(user(DARA), user(BEN)))

    raced = await race(
        approval_fixture,
        times,
        lambda each: (approval_fixture.approve(each, DARA), approval_fixture.approve(each, BEN)),
    )

    for request_id, came in raced:
        assert [type(each) for each in came] == [KeptAnswer, KeptAnswer]
        assert await outcomes(approval_fixture, request_id) == (
            "queued",
            2,
            ["request.approved"],
            ["request.approve"] * 2,
        )
    assert await approval_fixture.jobs() == ["groupProvision"] * len(raced)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("times", TIMES)
async def test_the_requester_cancels_as_the_approver_approves(databases: Databases, times: int) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA)))

    raced = await race(
        approval_fixture,
        times,
        lambda each: (approval_fixture.approve(each, DARA), cancel(approval_fixture.estate, each, caller_of(ADA))),
    )

    cancelled_first = 0
    for request_id, came in raced:
        # A queued request can still be cancelled: then both have succeeded, one after the other.
        assert isinstance(came[1], KeptAnswer)
        if isinstance(came[0], KeptAnswer):
            expected = ["request.approve", "request.cancel"]
        else:
            assert one_winner(came)
            cancelled_first += 1
            expected = ["request.cancel"]
        state, decisions, events, audit = await outcomes(approval_fixture, request_id)
        ends = ["request.approved", "request.cancelled"][2 - len(expected) :]
        assert (state, events, audit) == ("cancelled", ends, expected)
        assert decisions == len(expected) - 1
    assert await approval_fixture.jobs() == []
    assert await approval_fixture.estate.rows("SELECT FROM chamberlain.reservation") == []


@pytest.mark.timeout(600)
@pytest.mark.parametrize("times", TIMES)
async def test_an_approver_decides_as_the_deadline_passes(databases: Databases, times: int) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA)), days=1)

    async def pass_deadline(late: int) -> None:
        for _ in range(late):
            await approval_fixture.estate.rows("SELECT")
        approval_fixture.estate.moment += timedelta(days=1)
        await approval_fixture.look_again()

    expired = 0
    for number in range(times):
        request_id = await approval_fixture.ask(name=f"Race {number}")
        # It passes before the decision has begun, after it, and at every statement in between.
        came = await both([approval_fixture.approve(request_id, DARA), pass_deadline(number % LATEST)])
        (answer,) = [each for each in came if each is not None]

        if isinstance(answer, KeptAnswer):
            approved = ("queued", 1, ["request.approved"], ["request.approve"])
            assert await outcomes(approval_fixture, request_id) == approved
        else:
            assert isinstance(answer, Conflict)
            expired += 1
            assert await outcomes(approval_fixture, request_id) == (
                "expired",
                0,
                ["request.expired"],
                ["request.expire"],
            )
    assert await approval_fixture.jobs() == ["groupProvision"] * (times - expired)
    assert 0 < expired < times


@pytest.mark.timeout(600)
@pytest.mark.parametrize("times", TIMES)
async def test_approval_after_the_deadline_loses_always(databases: Databases, times: int) -> None:
    approval_fixture = await open_approval_fixture(databases, any_of(user(DARA)), days=1)
    asked = [await approval_fixture.ask(name=f"Race {number}") for number in range(times)]
    approval_fixture.estate.moment += timedelta(days=1)
    await approval_fixture.make_due()

    approvals = [approval_fixture.approve(each, DARA) for each in asked]
    came = await asyncio.gather(*approvals, *[approval_fixture.look() for _ in range(10)], return_exceptions=True)
    await approval_fixture.look_again()

    assert {type(each) for each in came[: len(asked)]} == {Conflict}
    for request_id in asked:
        assert await outcomes(approval_fixture, request_id) == ("expired", 0, ["request.expired"], ["request.expire"])
    assert await approval_fixture.jobs() == []
