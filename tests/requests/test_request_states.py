# SPDX-License-Identifier: Apache-2.0
"""The state of a request: every way to change it, tried in every state, and no other way anywhere."""

import asyncio
import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

import chamberlain
from chamberlain.core.ids import RequestId
from chamberlain.directory.steps import Step
from chamberlain.queries import load_queries
from chamberlain.requests import finish
from chamberlain.requests import records as request_records
from chamberlain.requests.models import MOVES, Progress, RequestState, StepRecord, StepState
from chamberlain.requests.rules import Action
from chamberlain.requests.steps import Settlement
from tests.estates import ESTATE, Estate, until
from tests.requests.request_services import put

SOURCE = Path(chamberlain.__file__).parent
# Files with statements that change a state. database/sql/requests.sql accepts requests and sets the first state.
HOMES = {"requests/queries.sql", "requests/finish.py"}

STEPS = (StepRecord(Step.CREATE_GROUP, StepState.PENDING),)


@pytest.mark.parametrize("action", [Action.CANCEL, Action.RETRY])
async def test_it_works_where_the_state_is_still_the_one_that_was_seen(estate: Estate, action: Action) -> None:
    accepted = await estate.request("Apollo")

    for seen in RequestState:
        await put(estate, accepted.request_id, seen)
        before = await estate.record(accepted.request_id)
        for state in RequestState:
            await put(estate, accepted.request_id, state)
            async with estate.databases.application.transaction(ESTATE) as tx:
                move = request_records.cancel if action is Action.CANCEL else request_records.retry
                moved = await move(tx, before, at=estate.moment) is not None
            after = (await estate.record(accepted.request_id)).state
            target = RequestState.CANCELLED if action is Action.CANCEL else RequestState.QUEUED
            assert (moved, after) == ((True, target) if state is seen else (False, state))


@pytest.mark.parametrize("target", [RequestState.QUEUED, RequestState.REJECTED, RequestState.EXPIRED])
async def test_what_is_decided_moves_where_nobody_has_moved_it_meanwhile(estate: Estate, target: RequestState) -> None:
    accepted = await estate.request("Apollo")
    await put(estate, accepted.request_id, RequestState.PENDING_APPROVAL)
    before = await estate.record(accepted.request_id)

    for state in RequestState:
        await put(estate, accepted.request_id, state)
        async with estate.databases.application.transaction(ESTATE) as tx:
            moved = await request_records.move(tx, before, replace(before, state=target))
        after = (await estate.record(accepted.request_id)).state
        is_seen = state is RequestState.PENDING_APPROVAL
        assert (moved, after) == ((True, target) if is_seen else (False, state))


@pytest.mark.parametrize("state", RequestState)
async def test_a_worker_takes_up_what_is_on_its_way_and_nothing_else(estate: Estate, state: RequestState) -> None:
    accepted = await estate.request("Apollo")
    await put(estate, accepted.request_id, state)

    async with estate.databases.worker.across_tenants() as tx:
        taken = await finish.take_up(tx, [accepted.request_id])

    takes = state in {RequestState.QUEUED, RequestState.WAITING, RequestState.RUNNING}
    assert takes == (state is RequestState.RUNNING or RequestState.RUNNING in MOVES[state])
    assert len(taken) == takes
    assert (await estate.record(accepted.request_id)).state is (RequestState.RUNNING if takes else state)


async def test_a_request_is_new_until_somebody_has_begun_with_it(estate: Estate) -> None:
    accepted = await estate.request("Apollo")
    taken: list[bool] = []

    # As it was accepted, as a worker has left it that was stopped, as one that waited, and as one that is retried.
    for state in (None, RequestState.RUNNING, RequestState.WAITING, RequestState.QUEUED):
        if state is not None:
            await put(estate, accepted.request_id, state)
        async with estate.databases.worker.across_tenants() as tx:
            taken += [task.is_new for task in await finish.take_up(tx, [accepted.request_id])]

    assert taken == [True, False, False, False]


async def test_what_somebody_has_begun_with_while_another_waited_is_not_new(estate: Estate) -> None:
    accepted = [await estate.request(f"Group {number}") for number in range(8)]
    # Two that are taken up in this order, whether by their ids or as they lie.
    held, other = next(
        (one.request_id, later.request_id)
        for one, later in combinations(accepted, 2)
        if one.request_id < later.request_id
    )

    async def waits() -> object:
        return await estate.rows(
            "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )

    async def take_up(*request_ids: RequestId) -> dict[RequestId, bool]:
        async with estate.databases.worker.across_tenants() as tx:
            return {task.request_id: task.is_new for task in await finish.take_up(tx, request_ids)}

    async with estate.databases.application.transaction(ESTATE) as tx:
        await tx.execute("SELECT FROM chamberlain.request WHERE request_id = $1 FOR UPDATE", held)
        both = asyncio.create_task(take_up(held, other))
        await until(waits)
        first = await take_up(other)
        await put(estate, other, RequestState.WAITING)

    assert first == {other: True}
    assert await both == {held: True, other: False}


@pytest.mark.parametrize("new", [RequestState.WAITING, RequestState.SUCCEEDED, RequestState.FAILED])
async def test_a_worker_puts_down_what_is_running_and_nothing_else(estate: Estate, new: RequestState) -> None:
    accepted = await estate.request("Apollo")
    settlement = Settlement(
        accepted.request_id, Progress(new, STEPS), None, people_checked=True, at=estate.moment, timeline=()
    )

    for state in RequestState:
        await put(estate, accepted.request_id, state)
        async with estate.databases.worker.across_tenants() as tx:
            await finish.put_down(tx, [settlement])
        after = (await estate.record(accepted.request_id)).state
        assert after is (new if state is RequestState.RUNNING else state)
        assert after is state or after in MOVES[state]


def test_no_other_statement_sets_a_state() -> None:
    # The assigned columns are before the first WHERE.
    setting = re.compile(
        r"UPDATE\s+chamberlain\.request\b(?!_)(?:(?!\bWHERE\b).)*?\bstate\s*=", re.IGNORECASE | re.DOTALL
    )
    texts = {path.relative_to(SOURCE).as_posix(): path for path in [*SOURCE.rglob("*.py"), *SOURCE.rglob("*.sql")]}

    found = {name for name, path in texts.items() if setting.search(path.read_text(encoding="utf-8"))}

    assert found == HOMES


def test_every_statement_that_sets_a_state_compares_the_old_one() -> None:
    built = [each for each in vars(finish).values() if isinstance(each, str)]
    statements = [*load_queries(finish.__name__).values(), *built]
    setting = [each for each in statements if re.search(r"\bSET\b.*\bstate = .*\bWHERE\b", each, re.DOTALL)]

    assert len(setting) == 4
    for statement in setting:
        assert re.search(r"\bWHERE\b.*\bstate (=|IN)\s", statement, re.DOTALL), statement
