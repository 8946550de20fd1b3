# SPDX-License-Identifier: Apache-2.0
"""Ends of requests are counted once, by the hour, and shown by the day."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from chamberlain.core.errors import Forbidden, Malformed
from chamberlain.figures import store
from chamberlain.figures.jobs import FigureJobs
from chamberlain.figures.models import Figures, TemplateTimes
from chamberlain.figures.service import FigureService
from chamberlain.queue.models import JobKind
from tests.estates import ADA, BEN, ESTATE, OTHER_HOUSE, PROJECT_TEAM, TRACE, ZOE, Estate, caller_of
from tests.guests.assignments.guest_fixture import make_due
from tests.query_plans import rows_looked_at
from tests.requests.request_services import administrator

HOUR = timedelta(hours=1)
# In the middle of an hour and of a day, some days ago: behind all that the fixtures write.
NOON = datetime.now(UTC).replace(hour=12, minute=30, second=0, microsecond=0) - timedelta(days=3)
INSERT = """
INSERT INTO chamberlain.request (
    request_id, tenant_id, kind, state, display_name, template_id, body, approval_required, people_checked, client_id,
    actor_type, actor_name, trace_id, steps, approvals, created_at
)
SELECT gen_random_uuid(), $1, $2, $3, '', $4, '{}', $5::json IS NOT NULL, true, '', 'user', '', '', '[]', $5, $6
FROM generate_series(1, $7::integer)
RETURNING request_id
"""
END = """
INSERT INTO chamberlain.event (event_id, tenant_id, type, request_id, at, data)
SELECT gen_random_uuid(), $2, $3, request_id, $4, '{}' FROM unnest($1::uuid[]) AS r (request_id)
"""
COUNTED = "SELECT coalesce(sum(number), 0)::integer FROM chamberlain.ended_hour"
EVENTS = {
    "assignment": "group.assignmentChanged",
    "team": "team.created",
    "room": "mailbox.created",
    "repair": "finding.repaired",
}


@dataclass
class Counting:
    """Figures of an estate, and requests that ended at given times."""

    estate: Estate
    service: FigureService
    jobs: FigureJobs

    async def end(
        self,
        *,
        took: timedelta = timedelta(seconds=10),
        at: datetime = NOON,
        state: str = "succeeded",
        kind: str = "team",
        approved_at: datetime | None = None,
        number: int = 1,
        tenant: object = ESTATE,
    ) -> None:
        decision = {"outcome": "approved", "decided_at": approved_at}
        levels = [{"decisions": []}, {"decisions": [decision]}]
        approvals = None if approved_at is None else msgspec.json.encode(levels).decode()
        values = (tenant, kind, state, PROJECT_TEAM, approvals, at - took, number)
        ids = [row[0] for row in await self.estate.rows(INSERT, *values)]
        event = EVENTS[kind] if state == "succeeded" else f"request.{state}"
        await self.estate.rows(END, ids, tenant, event, at)

    async def count(self) -> None:
        """Run the job of the worker, until what was committed before is counted."""
        await self.jobs.begin(TRACE)
        for _ in range(2):
            await self.estate.rows("UPDATE chamberlain.figures_counted SET seen_at = '-infinity'")
            await self.run()

    async def run(self) -> None:
        """Run the job of the worker once."""
        await make_due(self.estate)
        await self.jobs.count(await self.estate.claim(kinds=[JobKind.FIGURES_COUNT]))

    async def read(self, days: int = 7) -> Figures:
        today = datetime.now(UTC).date()
        return await self.service.read(administrator(ADA), today - timedelta(days=days), today)

    async def days(self) -> list[tuple[str, str, str, int]]:
        return [(str(each.day), each.kind, each.state, each.count) for each in (await self.read()).days]

    async def recent(self, *, most: int = 100) -> Sequence[TemplateTimes]:
        async with self.estate.databases.worker.across_tenants() as tx:
            return await store.read_recent(tx, most=most)


@pytest.fixture
async def counting(estate: Estate) -> Counting:
    database = estate.databases
    service = FigureService(database.application, estate.authorization(), lambda: datetime.now(UTC))
    return Counting(estate, service, FigureJobs(database.worker))


async def test_it_works(counting: Counting) -> None:
    await counting.end(took=timedelta(seconds=10), number=19)
    await counting.end(took=timedelta(hours=10), approved_at=NOON - timedelta(seconds=40))
    await counting.end(state="failed", kind="room")
    await counting.end(kind="repair")

    await counting.count()
    figures = await counting.read()

    day = str(NOON.date())
    assert await counting.days() == [
        (day, "repair", "succeeded", 1), (day, "room", "failed", 1), (day, "team", "succeeded", 20),
    ]  # fmt: skip
    (times,) = figures.time_to_ready
    shown = (times.template_id, times.template_name, str(times.day), times.count)
    assert shown == (PROJECT_TEAM, "Project team", day, 20)
    assert times.from_acceptance.p50_ms == pytest.approx(10_000, rel=0.025)
    assert times.from_acceptance.p95_ms == pytest.approx(10_000, rel=0.025)
    assert times.from_approval.p95_ms == pytest.approx(10_000, rel=0.025)


async def test_the_second_time_begins_at_the_last_approval(counting: Counting) -> None:
    await counting.end(took=timedelta(hours=10), approved_at=NOON - timedelta(seconds=40))

    await counting.count()
    (times,) = (await counting.read()).time_to_ready

    assert times.from_acceptance.p50_ms == pytest.approx(36_000_000, rel=0.025)
    assert times.from_approval.p50_ms == pytest.approx(40_000, rel=0.025)


async def test_a_request_is_counted_once_by_all_runs_and_shown_before_the_first(counting: Counting) -> None:
    await counting.end(number=3)
    seen = [await counting.days()]
    await counting.jobs.begin(TRACE)

    await counting.run()
    seen.append(await counting.days())
    early = await counting.estate.rows(COUNTED)
    for _ in range(2):
        await counting.count()
        seen.append(await counting.days())

    # A transaction that drew an earlier sequence may not have ended yet.
    assert early == [(0,)]
    assert await counting.estate.rows(COUNTED) == [(3,)]
    assert {sum(count for *_, count in days) for days in seen} == {3}


async def test_the_first_event_of_an_installation_counts(counting: Counting) -> None:
    await counting.count()
    await counting.end()

    await counting.count()

    assert await counting.estate.rows(COUNTED) == [(1,)]


async def test_small_batches_add_up_in_one_hour(counting: Counting) -> None:
    for minutes in range(7):
        await counting.end(at=NOON + timedelta(minutes=minutes), took=timedelta(seconds=1 + minutes % 2))
    counting.jobs = FigureJobs(counting.estate.databases.worker, batch=2)

    await counting.count()

    hours = "SELECT hour, number::integer FROM chamberlain.ended_hour"
    assert await counting.estate.rows(hours) == [(NOON.replace(minute=0), 7)]
    histogram = "SELECT numbers FROM chamberlain.ready_hour WHERE since = 'acceptance'"
    assert await counting.estate.rows(histogram) == [([4, 3],)]


async def test_a_request_that_waits_counts_on_the_day_of_its_acceptance(counting: Counting) -> None:
    await counting.estate.rows(INSERT, ESTATE, "team", "pendingApproval", PROJECT_TEAM, None, NOON, 2)

    assert await counting.days() == [(str(NOON.date()), "team", "pendingApproval", 2)]


async def test_an_assignment_counts_from_its_acceptance_without_a_time(counting: Counting) -> None:
    await counting.end(kind="assignment")
    await counting.end(kind="assignment", state="failed")
    # The assignment of a new group has the request of the group.
    await counting.estate.rows("UPDATE chamberlain.event SET type = 'group.assignmentChanged'")
    await counting.end(kind="team")
    await counting.estate.rows(
        "INSERT INTO chamberlain.event (event_id, tenant_id, type, request_id, at, data) SELECT gen_random_uuid(), "
        "tenant_id, 'group.assignmentChanged', request_id, at, data FROM chamberlain.event WHERE type = 'team.created'"
    )

    await counting.count()
    figures = await counting.read()

    assert [(each.kind, each.state, each.count) for each in figures.days] == [
        ("assignment", "succeeded", 1),
        ("team", "succeeded", 1),
    ]
    assert [each.count for each in figures.time_to_ready] == [1]


async def test_figures_outlast_their_requests_and_go_with_their_own_time(counting: Counting) -> None:
    await counting.end()
    await counting.count()
    await counting.estate.rows("DELETE FROM chamberlain.request")
    kept = await counting.days()

    async with counting.estate.databases.worker.across_tenants() as tx:
        early = await store.remove(tx, NOON - HOUR, 100)
        late = await store.remove(tx, NOON + HOUR, 100)

    assert [count for *_, count in kept] == [1]
    assert (early, late) == (0, 2)
    assert (await counting.read()).time_to_ready == []


async def test_a_clock_that_went_back_does_not_stop_the_count(counting: Counting) -> None:
    await counting.end()
    await counting.count()
    await counting.end(number=2)
    await counting.estate.rows("UPDATE chamberlain.figures_counted SET seen_at = now() + interval '1 year'")

    await counting.run()
    await counting.count()

    assert await counting.estate.rows(COUNTED) == [(3,)]


async def test_metrics_have_the_busiest_templates_of_the_last_day(counting: Counting) -> None:
    await counting.end(number=2)
    await counting.end(at=datetime.now(UTC) - HOUR, number=2)
    await counting.end(at=datetime.now(UTC) - HOUR, tenant=OTHER_HOUSE)
    await counting.count()

    found = await counting.recent(most=1)

    assert [(each.tenant_id, each.since, each.count) for each in found] == [
        (ESTATE, "acceptance", 2),
        (ESTATE, "approval", 2),
    ]
    assert len(await counting.recent()) == 4


async def test_it_counts_what_waits_and_fails(counting: Counting) -> None:
    await counting.estate.request()
    await counting.estate.rows(
        "INSERT INTO chamberlain.delivery (tenant_id, delivery_id, event_id, type, template_id, url, payload, trace_id,"
        " state, tries) SELECT $1, gen_random_uuid(), gen_random_uuid(), 'group.created', gen_random_uuid(), '', '',"
        " '', state, tries FROM unnest(ARRAY['pending', 'pending', 'failed', 'succeeded'], ARRAY[0, 1, 9, 2])"
        " AS d (state, tries)",
        ESTATE,
    )

    backlog = (await counting.read()).backlog

    assert (backlog.jobs_due, backlog.jobs_held, backlog.findings_open, backlog.deliveries_failing) == (1, 0, 0, 2)


async def test_another_tenant_sees_nothing_of_it(counting: Counting) -> None:
    await counting.end()
    await counting.count()
    make_administrator = "UPDATE chamberlain.tenant SET administrator_users = ARRAY[$1::uuid] WHERE tenant_id = $2"
    await counting.estate.rows(make_administrator, ZOE, OTHER_HOUSE)
    zoe = administrator(ZOE, OTHER_HOUSE)

    figures = await counting.service.read(zoe, NOON.date(), None)

    assert (figures.days, figures.time_to_ready) == ([], [])


async def test_only_administrators_read_it_and_only_some_days(counting: Counting) -> None:
    with pytest.raises(Forbidden):
        await counting.service.read(caller_of(BEN), None, None)
    with pytest.raises(Malformed):
        await counting.read(days=400)


async def test_it_looks_at_no_more_rows_than_events_since(counting: Counting) -> None:
    await counting.end(number=3_000)
    ((until,),) = await counting.estate.rows("SELECT max(sequence) FROM chamberlain.event")
    await counting.end(number=10)

    async with counting.estate.databases.worker.across_tenants() as tx:
        found = await rows_looked_at(tx, store.COUNT, 1.05, until, int(str(until)) + 10)

    assert found <= 50
