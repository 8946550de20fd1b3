# SPDX-License-Identifier: Apache-2.0
"""Watch a request: every event comes once, in order, from any process."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from chamberlain.app.processes import running
from chamberlain.auth.permissions import ScopePrefixes
from chamberlain.core.errors import Malformed, NotFound, Rejected, TryAgain
from chamberlain.core.idempotency import Act
from chamberlain.core.ids import RequestId, TenantId
from chamberlain.database.connection import WatchfulPool
from chamberlain.database.notify import REQUESTS_CHANNEL, Watchers, listen
from chamberlain.database.transactions import Database, Transaction
from chamberlain.requests import finish
from chamberlain.requests.models import ApprovalRecord, RequestRecord, RequestState, StepRecord
from chamberlain.requests.service import RequestService
from chamberlain.requests.steps import MOST_ENTRIES, Happening
from chamberlain.requests.timeline import Timelines, await_result
from tests.estates import ADA, BEN, CONFIDENTIAL_TEAM, OTHER_HOUSE, PROJECT_TEAM, TRACE, ZOE, Estate, caller_of, until
from tests.postgres import connected
from tests.requests.request_services import request_service

PREFIX = "https://api.estate.example"
PREFIXES = ScopePrefixes(PREFIX, PREFIX)
DUE = "UPDATE chamberlain.job SET run_at = now() RETURNING job_id"
END_LISTENERS = """
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE 'LISTEN%'
"""


class CountedDatabase(Database):
    """Counts its transactions."""

    def __init__(self, pool: WatchfulPool) -> None:
        super().__init__(pool)
        self.transactions = 0

    @asynccontextmanager
    async def transaction(self, tenant_id: TenantId, *, first: str = "") -> AsyncIterator[Transaction]:
        self.transactions += 1
        async with super().transaction(tenant_id, first=first) as tx:
            yield tx


@dataclass
class WatchFixture:
    """The watching parts of one process. `looks` counts the reads of timelines."""

    estate: Estate
    looks: CountedDatabase
    watchers: Watchers
    timelines: Timelines
    requests: RequestService

    async def events(self, request_id: RequestId, after: int = 0) -> list[Happening]:
        """All that happens to a request, to its end."""
        happenings = await self.requests.watch(caller_of(ADA), request_id, after)
        assert happenings is not None
        async with aclosing(happenings):
            return [each async for several in happenings for each in several]


@asynccontextmanager
async def watching(estate: Estate, *, quiet: timedelta = timedelta(seconds=20)) -> AsyncIterator[WatchFixture]:
    database, watchers = estate.databases.application, Watchers()
    looks = CountedDatabase(database.pool)
    timelines = Timelines(looks, watchers, quiet=quiet)
    requests = request_service(estate, timelines=timelines)
    address, listens = estate.databases.addresses.application, asyncio.Event()

    def heard(payload: str) -> None:
        listens.set()
        watchers.heard(payload)

    async with (
        running(listen(address, REQUESTS_CHANNEL, heard, pause=timedelta(milliseconds=10))),
        running(estate.provision_groups.notifier.run()),
    ):
        await listens.wait()
        yield WatchFixture(estate, looks, watchers, timelines, requests)


@pytest.fixture
async def watch_fixture(estate: Estate) -> AsyncIterator[WatchFixture]:
    async with watching(estate) as found, asyncio.timeout(60):
        yield found


def watched(watch_fixture: WatchFixture, number: int = 1) -> Callable[[], Awaitable[bool]]:
    """So many watch, and have seen what there was."""

    async def condition() -> bool:
        return len(watch_fixture.watchers) == number and watch_fixture.looks.transactions > 1

    return condition


async def retry(estate: Estate, request_id: RequestId) -> None:
    """Queue a failed request again, as the one who made it."""
    await request_service(estate).retry(caller_of(ADA), request_id, Act(None, None, TRACE), lambda _: b"{}")


def told(happenings: list[Happening]) -> list[tuple[int, str]]:
    """Numbers and what they are of: a state, or a step with its state."""
    return [(each.number, _word(each.what)) for each in happenings]


def _word(what: RequestRecord | StepRecord | ApprovalRecord) -> str:
    match what:
        case RequestRecord():
            return what.state
        case ApprovalRecord():
            return f"level {what.level} {what.state}"
        case StepRecord():
            return f"{what.step} {what.state}"


WHOLE = [
    (1, "queued"),
    (2, "running"),
    (3, "createGroup succeeded"),
    (4, "succeeded"),
]


async def test_it_works(watch_fixture: WatchFixture) -> None:
    accepted = await watch_fixture.estate.request()
    events = asyncio.create_task(watch_fixture.events(accepted.request_id))
    await until(watched(watch_fixture))

    await watch_fixture.estate.work()

    assert told(await events) == WHOLE
    assert len(watch_fixture.watchers) == 0


async def test_what_has_happened_is_reported_as_well(watch_fixture: WatchFixture) -> None:
    accepted = await watch_fixture.estate.request()
    await watch_fixture.estate.work()

    assert told(await watch_fixture.events(accepted.request_id)) == WHOLE
    assert told(await watch_fixture.events(accepted.request_id, 2)) == WHOLE[2:]


async def test_nothing_is_behind_the_last_event_of_what_has_ended(watch_fixture: WatchFixture) -> None:
    accepted = await watch_fixture.estate.request()
    await watch_fixture.estate.work()

    assert await watch_fixture.requests.watch(caller_of(ADA), accepted.request_id, 4) is None


async def test_each_state_is_reported_as_it_was(watch_fixture: WatchFixture) -> None:
    estate = watch_fixture.estate
    accepted = await estate.request()
    estate.directory.faults["Apollo"] = TryAgain(timedelta(seconds=10), "Not yet.")
    await estate.work()
    estate.directory.faults.clear()
    estate.moment += timedelta(seconds=11)
    await estate.rows(DUE)
    await estate.work()

    happenings = await watch_fixture.events(accepted.request_id)

    states = [each.what for each in happenings if isinstance(each.what, RequestRecord)]
    assert [state.state for state in states] == ["queued", "running", "waiting", "running", "succeeded"]
    assert [state.waiting is not None for state in states] == [False, False, True, False, False]
    assert [state.result is not None for state in states] == [False, False, False, False, True]
    assert [state.finished_at is not None for state in states] == [False, False, False, False, True]
    assert (states[2].waiting and states[2].waiting.shown_reason.sentence) == "Not yet."
    now = await estate.record(accepted.request_id)
    assert states[4] == replace(now, body=b"", steps=())


async def test_a_failed_request_goes_on_counting_when_it_is_retried(watch_fixture: WatchFixture) -> None:
    estate = watch_fixture.estate
    accepted = await estate.request()
    estate.directory.faults["Apollo"] = Rejected("addressTaken", "Somebody has it.")
    await estate.work()
    failed = told(await watch_fixture.events(accepted.request_id))
    await retry(estate, accepted.request_id)
    events = asyncio.create_task(watch_fixture.events(accepted.request_id, failed[-1][0]))
    await until(watched(watch_fixture))
    estate.directory.faults.clear()

    await estate.work()

    assert failed == [(1, "queued"), (2, "running"), (3, "createGroup failed"), (4, "failed")]
    begun_anew = ["createGroup pending", "queued", *[word for _, word in WHOLE[1:]]]
    assert [word for _, word in told(await events)] == begun_anew
    assert told(await watch_fixture.events(accepted.request_id))[:4] == failed


async def test_of_a_long_timeline_the_newest_entries_stay_with_their_numbers(watch_fixture: WatchFixture) -> None:
    estate = watch_fixture.estate
    accepted = await estate.request()
    estate.directory.faults["Apollo"] = TryAgain(timedelta(seconds=1), "Not yet.")
    tries = MOST_ENTRIES // 3 + 5
    timeline = None
    for _ in range(tries):
        await estate.rows(DUE)
        await estate.work()
        timeline = await watch_fixture.timelines.find(accepted.tenant_id, accepted.request_id)
        assert timeline is not None
        assert len(timeline.entries) <= MOST_ENTRIES

    assert timeline is not None
    numbers = [number for number, _ in timeline.after(0)]

    assert timeline.newest == 1 + 3 * tries
    assert numbers[0] == 1
    assert numbers[1] > MOST_ENTRIES / 2
    assert numbers[1:] == list(range(numbers[1], timeline.newest + 1))
    assert timeline.entries[-1].state is not None
    assert timeline.entries[-1].state.state is RequestState.WAITING


async def test_a_worker_that_takes_over_does_not_tell_the_same_again(watch_fixture: WatchFixture) -> None:
    estate = watch_fixture.estate
    accepted = await estate.request()
    for _ in range(2):
        async with estate.databases.worker.across_tenants() as tx:
            await finish.take_up(tx, [accepted.request_id])

    await estate.work()

    assert told(await watch_fixture.events(accepted.request_id)) == WHOLE


async def test_it_rejects_what_is_not_ones_own(watch_fixture: WatchFixture) -> None:
    accepted = await watch_fixture.estate.request(caller=caller_of(BEN))

    for stranger in (caller_of(ADA), caller_of(ZOE, OTHER_HOUSE)):
        with pytest.raises(NotFound):
            await watch_fixture.requests.watch(stranger, accepted.request_id, 0)


async def test_it_rejects_a_number_that_is_not_reached(watch_fixture: WatchFixture) -> None:
    accepted = await watch_fixture.estate.request()

    with pytest.raises(Malformed):
        await watch_fixture.requests.watch(caller_of(ADA), accepted.request_id, 2)


async def test_it_says_now_and_then_that_nothing_happens(estate: Estate) -> None:
    accepted = await estate.request()
    async with watching(estate, quiet=timedelta(milliseconds=50)) as watch_fixture, asyncio.timeout(20):
        happenings = await watch_fixture.requests.watch(caller_of(ADA), accepted.request_id, 1)
        assert happenings is not None
        async with aclosing(happenings):
            assert [await anext(happenings) for _ in range(3)] == [(), (), ()]
        assert len(watch_fixture.watchers) == 0


async def test_a_wake_up_that_is_lost_costs_the_quiet_time(estate: Estate) -> None:
    accepted = await estate.request()
    async with watching(estate, quiet=timedelta(milliseconds=50)) as watch_fixture, asyncio.timeout(20):
        happenings = await watch_fixture.requests.watch(caller_of(ADA), accepted.request_id, 1)
        assert happenings is not None
        async with aclosing(happenings):
            assert await anext(happenings) == ()
            # No watcher is notified of this one.
            async with estate.databases.worker.across_tenants() as tx:
                await finish.take_up(tx, [accepted.request_id])
            news = [await anext(happenings) for _ in range(20)]

    assert [told([each]) for several in news for each in several] == [[(2, "running")]]


async def test_it_handles_a_connection_that_is_ended_while_it_listens(watch_fixture: WatchFixture) -> None:
    accepted = await watch_fixture.estate.request()
    events = asyncio.create_task(watch_fixture.events(accepted.request_id))
    await until(watched(watch_fixture))
    async with connected(watch_fixture.estate.databases.addresses.application) as another:
        ended = await another.fetchval(END_LISTENERS)

    await watch_fixture.estate.work()

    assert ended == 1
    assert told(await events) == WHOLE


async def test_it_handles_a_request_that_is_removed(watch_fixture: WatchFixture) -> None:
    accepted = await watch_fixture.estate.request()
    events = asyncio.create_task(watch_fixture.events(accepted.request_id))
    await until(watched(watch_fixture))

    await watch_fixture.estate.rows("DELETE FROM chamberlain.request RETURNING request_id")
    watch_fixture.watchers.heard("")

    assert told(await events) == [(1, "queued")]


async def test_whoever_leaves_leaves_nothing_behind(watch_fixture: WatchFixture) -> None:
    accepted = await watch_fixture.estate.request()
    before = asyncio.all_tasks()
    leaving = [asyncio.create_task(watch_fixture.events(accepted.request_id)) for _ in range(50)]
    await until(watched(watch_fixture, 50))

    for task in leaving:
        task.cancel()
    await asyncio.wait(leaving)

    assert len(watch_fixture.watchers) == 0

    async def nothing_else_runs() -> bool:
        return asyncio.all_tasks() == before

    await until(nothing_else_runs)


@pytest.mark.heavy
async def test_a_thousand_watchers_of_different_requests_are_cheap(watch_fixture: WatchFixture) -> None:
    estate = watch_fixture.estate
    accepted = await asyncio.gather(*[estate.request(f"Group {number}") for number in range(1000)])
    everybody = [asyncio.create_task(watch_fixture.events(one.request_id)) for one in accepted]
    await until(watched(watch_fixture, 1000))
    looks = watch_fixture.looks.transactions

    # All of them read at once, as after a connection that was opened again.
    watch_fixture.watchers.heard("")
    while (claim := await estate.claim()).jobs:
        await estate.provision_groups.provision(claim)
    events = await asyncio.gather(*everybody)

    assert all(told(each) == WHOLE for each in events)
    assert watch_fixture.looks.transactions - looks < 100


async def test_waiting_for_the_result_ends_with_it(watch_fixture: WatchFixture) -> None:
    accepted = await watch_fixture.estate.request(templateId=str(PROJECT_TEAM))
    waiting = asyncio.create_task(await_result(watch_fixture.timelines, accepted))
    await until(watched(watch_fixture))

    await watch_fixture.estate.work()

    assert await waiting == (await watch_fixture.estate.record(accepted.request_id)).result
    assert len(watch_fixture.watchers) == 0


async def test_waiting_for_the_result_ends_with_a_failure(watch_fixture: WatchFixture) -> None:
    accepted = await watch_fixture.estate.request()
    watch_fixture.estate.directory.faults["Apollo"] = Rejected("addressTaken", "Somebody has it.")
    await watch_fixture.estate.work()

    assert await await_result(watch_fixture.timelines, accepted) is None


async def test_a_request_that_wants_approval_begins_there(watch_fixture: WatchFixture) -> None:
    accepted = await watch_fixture.estate.request(templateId=str(CONFIDENTIAL_TEAM))

    happenings = await watch_fixture.requests.watch(caller_of(ADA), accepted.request_id, 0)

    assert happenings is not None
    async with aclosing(happenings):
        assert told(list(await anext(happenings))) == [(1, "pendingApproval")]
