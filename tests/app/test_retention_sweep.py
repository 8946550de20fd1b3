# SPDX-License-Identifier: Apache-2.0
"""The sweep: what failed long ago is cancelled, what ended long ago is removed, and the job of it never ends."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from chamberlain.app.retention import BATCH, BATCHES, SHORT_PAUSE, Retention, RetentionJobs, cutoffs
from chamberlain.core.errors import Rejected
from chamberlain.core.ids import RequestId, TenantId
from chamberlain.core.paging import FeedPosition, FeedWanted
from chamberlain.database import clock
from chamberlain.database.clock import PAUSE, ClockReading
from chamberlain.database.transactions import Transaction
from chamberlain.events import feed as event_store
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import NOBODY, Claim, JobKind
from chamberlain.requests.models import RequestState
from chamberlain.webhooks import store as webhook_store
from tests.estates import ADA, BEN, CONFIDENTIAL_TEAM, ESTATE, LEASE, OTHER_HOUSE, TRACE, Estate, caller_of
from tests.requests.request_services import act, cancel, put, watchers

TABLE = "chamberlain.delivery"
KEEP = Retention(failed_requests=timedelta(days=30), finished_requests=timedelta(days=400), events=timedelta(days=500))


def sweeper(estate: Estate, *, after: timedelta = timedelta()) -> RetentionJobs:
    """The sweep as it runs so long from now, with a clock that was read all the time."""

    async def read(tx: Transaction) -> ClockReading:
        reading = await clock.observe(tx)
        return replace(
            reading,
            now=reading.now + after,
            record=replace(reading.record, trusted_at=reading.record.trusted_at + after),
        )

    return RetentionJobs(estate.databases.worker, watchers(estate), KEEP, uuid4, lambda *_: None, read)


async def claim(estate: Estate) -> Claim:
    lease_id = uuid4()
    async with estate.databases.worker.across_tenants() as tx:
        taken = await queue_jobs.claim(
            tx, lease_id, kinds=[JobKind.RETENTION_SWEEP], most=10, lease=LEASE, tenant_limit=10
        )
    return Claim(lease_id, tuple(taken))


async def sweep(estate: Estate, **days: float) -> None:
    """Run what is due of it, once, so long from now."""
    await estate.rows("UPDATE chamberlain.job SET run_at = now() WHERE kind = 'retentionSweep'")
    run = sweeper(estate, after=timedelta(**days))
    await run.begin(TRACE)
    await run.sweep(await claim(estate))


async def failed(estate: Estate, names: Sequence[str]) -> list[RequestId]:
    """Requests that have failed just now."""
    estate.directory.faults.update({name: Rejected("ruleInvalid", "No.") for name in names})
    accepted = await asyncio.gather(*[estate.request(name) for name in names])
    await estate.provision_groups.provision(await estate.claim(most=len(names)))
    return [each.request_id for each in accepted]


async def finish(estate: Estate, request_id: RequestId, *, days_ago: float) -> None:
    """Let a request be made and ended so long ago."""
    then = datetime.now(UTC) - timedelta(days=days_ago)
    await estate.rows(
        "UPDATE chamberlain.request SET created_at = $2, finished_at = $2 WHERE request_id = $1", request_id, then
    )


async def test_it_works(estate: Estate) -> None:
    (request_id,) = await failed(estate, ["Apollo"])

    await sweep(estate, days=31)

    record = await estate.record(request_id)
    assert record.state is RequestState.CANCELLED
    assert record.error is not None
    audit = "SELECT payload -> 'actor' ->> 'type', payload -> 'before' ->> 'state', trace_id FROM chamberlain.audit"
    assert await estate.rows(f"{audit} WHERE action = 'request.cancel'") == [("system", "failed", TRACE)]
    events = await estate.rows("SELECT type FROM chamberlain.event WHERE request_id = $1 ORDER BY sequence", request_id)
    assert events == [("request.failed",), ("request.cancelled",)]


async def test_a_secret_that_does_not_sign_any_more_is_not_kept(estate: Estate) -> None:
    await estate.rows(
        "INSERT INTO chamberlain.webhook_secret (tenant_id, template_id, sealed, previous_secret, previous_until) "
        "VALUES ($1, $2, 'new', 'old', now() + interval '1 day') RETURNING 1",
        ESTATE,
        CONFIDENTIAL_TEAM,
    )
    kept = "SELECT sealed, previous_secret FROM chamberlain.webhook_secret"

    await sweep(estate, days=0.9)
    within = await estate.rows(kept)
    await sweep(estate, days=1.1)

    assert within == [(b"new", b"old")]
    assert await estate.rows(kept) == [(b"new", None)]


async def test_the_address_of_one_that_failed_long_ago_is_free_again(estate: Estate) -> None:
    await failed(estate, ["Apollo"])
    (taken,) = await estate.rows("SELECT value FROM chamberlain.reservation")

    await sweep(estate, days=31)

    assert await estate.rows("SELECT FROM chamberlain.reservation") == []
    await estate.request("Apollo", caller=caller_of(BEN))
    assert await estate.rows("SELECT value FROM chamberlain.reservation") == [taken]


async def test_what_failed_lately_and_what_is_on_its_way_stays(estate: Estate) -> None:
    (request_id,) = await failed(estate, ["Apollo"])
    waiting = await estate.request("Secret", templateId=str(CONFIDENTIAL_TEAM))
    queued = await estate.request("Hermes")

    await sweep(estate, days=29.9)
    early = (await estate.record(request_id)).state
    await sweep(estate, days=399)

    assert early is RequestState.FAILED
    assert (await estate.record(waiting.request_id)).state is RequestState.PENDING_APPROVAL
    assert (await estate.record(queued.request_id)).state is RequestState.QUEUED


async def test_the_time_counts_from_the_last_failure(estate: Estate) -> None:
    (request_id,) = await failed(estate, ["Apollo"])
    await finish(estate, request_id, days_ago=100)

    await sweep(estate, days=1)

    assert (await estate.record(request_id)).state is RequestState.FAILED


async def test_what_ended_long_ago_goes_with_all_that_hangs_on_it(estate: Estate) -> None:
    for state in (RequestState.SUCCEEDED, RequestState.CANCELLED, RequestState.REJECTED, RequestState.EXPIRED):
        accepted = await estate.request(f"{state}", key=f"{state}")
        await finish(estate, accepted.request_id, days_ago=401)
        await put(estate, accepted.request_id, state)
    await estate.work()
    audit = await estate.rows("SELECT count(*) FROM chamberlain.audit")

    await sweep(estate, days=8)

    for table in ("request", "reservation", "idempotency_key", "request_by_state"):
        assert await estate.rows(f"SELECT FROM chamberlain.{table}") == [], table
    assert await estate.rows("SELECT count(*) FROM chamberlain.audit") == audit


async def test_what_ended_lately_or_has_not_ended_stays(estate: Estate) -> None:
    lately, begun = await estate.request("Lately"), await estate.request("Begun")
    await finish(estate, lately.request_id, days_ago=399)
    await finish(estate, begun.request_id, days_ago=500)
    await put(estate, lately.request_id, RequestState.SUCCEEDED)
    await put(estate, begun.request_id, RequestState.WAITING)
    await estate.rows("UPDATE chamberlain.request SET finished_at = NULL WHERE request_id = $1", begun.request_id)

    await sweep(estate)

    assert (await estate.counts())["request"] == 2
    assert (await estate.counts())["reservation"] == 2


async def test_keys_are_kept_for_seven_days(estate: Estate) -> None:
    accepted = await estate.request("Apollo", key="creation")
    await cancel(estate, accepted.request_id, caller_of(ADA), act(key="action"))

    await sweep(estate, days=6.9)
    kept = (await estate.counts())["idempotency_key"]
    await sweep(estate, days=7.1)

    assert kept == 2
    assert (await estate.counts())["idempotency_key"] == 0


async def tell(estate: Estate, number: int, *, tenant_id: TenantId = ESTATE, days_ago: float) -> None:
    """Events that happened so long ago."""
    await estate.rows(
        "INSERT INTO chamberlain.event (event_id, tenant_id, type, at, data) SELECT gen_random_uuid(), $1, "
        "'group.created', now() - $3::interval, '{}' FROM generate_series(1, $2::integer)",
        tenant_id,
        number,
        timedelta(days=days_ago),
    )


async def test_events_go_after_their_time_read_or_not(estate: Estate) -> None:
    await tell(estate, 3, days_ago=501)
    async with estate.databases.application.transaction(ESTATE) as tx:
        await event_store.find_page(tx, FeedWanted(2, FeedPosition(0)))
    await tell(estate, 3, days_ago=501)
    await tell(estate, 2, days_ago=499)
    await tell(estate, 3, tenant_id=OTHER_HOUSE, days_ago=499)

    await sweep(estate)

    counted = "SELECT tenant_id, count(*) FROM chamberlain.event GROUP BY 1 ORDER BY 1"
    assert await estate.rows(counted) == [(ESTATE, 2), (OTHER_HOUSE, 3)]


async def test_events_go_in_batches(estate: Estate) -> None:
    await tell(estate, BATCH * BATCHES // 2 + 1, days_ago=501)
    await tell(estate, BATCH * BATCHES // 2 + 1, tenant_id=OTHER_HOUSE, days_ago=501)

    await sweep(estate)
    left = (await estate.counts())["event"]
    await sweep(estate)

    assert left == 2
    assert (await estate.counts())["event"] == 0


async def test_an_event_that_somebody_reads_just_now_goes_later(estate: Estate) -> None:
    await tell(estate, 3, days_ago=501)

    async with estate.databases.application.transaction(ESTATE) as tx:
        await event_store.find_page(tx, FeedWanted(2, FeedPosition(0)))
        await sweep(estate)
    left = (await estate.counts())["event"]
    await sweep(estate)

    assert left == 3
    assert (await estate.counts())["event"] == 0


async def test_it_goes_on_soon_when_there_is_more_and_rests_when_there_is_not(estate: Estate) -> None:
    await estate.rows(
        "INSERT INTO chamberlain.idempotency_key (tenant_id, client_id, caller_id, key, digest, created_at) "
        "SELECT $1, '', $1, n::text, '', now() - interval '8 days' FROM generate_series(1, $2::integer) n",
        NOBODY,
        BATCH * BATCHES + 1,
    )
    wait = "SELECT run_at - now() < $1, run_at > now(), lease_id FROM chamberlain.job WHERE kind = 'retentionSweep'"

    await sweep(estate)
    left = (await estate.counts())["idempotency_key"]
    soon = await estate.rows(wait, SHORT_PAUSE)
    await sweep(estate)
    later = await estate.rows(wait, PAUSE - timedelta(minutes=1))

    assert left == 1
    assert soon == [(True, True, None)]
    assert later == [(False, True, None)]
    assert (await estate.counts())["idempotency_key"] == 0


async def test_a_batch_of_failed_requests_is_cancelled_at_once(estate: Estate) -> None:
    await failed(estate, [f"Group {number}" for number in range(50)])

    await sweep(estate, days=31)

    assert await estate.rows("SELECT DISTINCT state FROM chamberlain.request") == [("cancelled",)]
    cancelled = await estate.rows("SELECT count(*) FROM chamberlain.event WHERE type = 'request.cancelled'")
    assert cancelled == [(50,)]


async def test_there_is_one_job_however_many_workers_start(estate: Estate) -> None:
    await asyncio.gather(*[sweeper(estate).begin(TRACE) for _ in range(10)])
    await sweeper(estate).begin(TRACE)

    assert await estate.rows("SELECT tenant_id, kind, held_reason FROM chamberlain.job") == [
        (NOBODY, "retentionSweep", None)
    ]
    assert len((await claim(estate)).jobs) == 1
    assert (await claim(estate)).jobs == ()


@pytest.mark.parametrize(("days", "kept"), [(30, 400), (400, 400), (1_000, 1_000)])
def test_findings_are_kept_for_as_long_as_a_group_is_compared_with_its_request(days: int, kept: int) -> None:
    """They alone say whom a policy has removed: without them the guest would be missing from the group."""
    now = datetime.now(UTC)

    before = cutoffs(replace(KEEP, finished_requests=timedelta(days=days)), now)

    assert before.findings == now - timedelta(days=kept)


async def test_findings_that_have_ended_are_kept_for_400_days_and_those_that_stand_for_good(estate: Estate) -> None:
    await estate.rows(
        "INSERT INTO chamberlain.finding (tenant_id, finding_id, kind, state, source, subject_type, subject_id, "
        "subject_name, about, detail, first_seen_at, last_seen_at) SELECT $1, gen_random_uuid(), 'drift', state, "
        "'drift', 'group', gen_random_uuid(), '', '', '', now() - interval '900 days', now() "
        "FROM unnest(ARRAY['open', 'accepted', 'gone', 'repaired']) state",
        ESTATE,
    )

    await sweep(estate, days=399.9)
    early = await estate.rows("SELECT count(*) FROM chamberlain.finding")
    await sweep(estate, days=400.1)

    assert early == [(4,)]
    left = await estate.rows("SELECT state FROM chamberlain.finding ORDER BY state")
    assert left == [("accepted",), ("open",)]


async def test_repairs_that_have_held_are_forgotten(estate: Estate) -> None:
    await estate.rows(
        "INSERT INTO chamberlain.drift_repair (tenant_id, subject_id, about, repairs, digest, found_at, has_given_up) "
        "SELECT $1, gen_random_uuid(), 'city', 2, '', now(), given_up FROM unnest(ARRAY[true, false]) given_up",
        ESTATE,
    )

    await sweep(estate, days=29.9)
    early = await estate.rows("SELECT count(*) FROM chamberlain.drift_repair")
    await sweep(estate, days=30.1)

    assert early == [(2,)]
    assert await estate.rows("SELECT FROM chamberlain.drift_repair") == []


async def test_running_it_twice_is_boring(estate: Estate) -> None:
    await failed(estate, ["Apollo"])
    await sweep(estate, days=31)
    before = await estate.counts()

    await sweep(estate, days=31)

    assert await estate.counts() == before


async def deliver(estate: Estate, *, days_ago: float, known_by_time: bool = True) -> None:
    """Deliveries that were made so long ago, one in each state; with ids that say so, or with such as there once
    were."""
    await estate.rows(
        "INSERT INTO chamberlain.delivery "
        "(tenant_id, delivery_id, event_id, type, template_id, url, payload, trace_id, state, created_at) "
        "SELECT $1, CASE WHEN $4 THEN chamberlain.new_delivery_id(made.at) ELSE gen_random_uuid() END, "
        "gen_random_uuid(), 'group.created', gen_random_uuid(), '', '{}', '', state, made.at "
        "FROM unnest($2::text[]) state, (SELECT now() - $3::interval AS at) made RETURNING 1",
        ESTATE,
        ["pending", "succeeded", "failed", "cancelled"],
        timedelta(days=days_ago),
        known_by_time,
    )


async def weeks(estate: Estate) -> set[str]:
    """The parts of deliveries that belong to a week."""
    found = await estate.rows("SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = $1::regclass", TABLE)
    return {str(name) for (name,) in found} - {"chamberlain.delivery_elsewhere"}


async def test_deliveries_are_removed_after_a_month_with_their_week_but_for_those_that_are_pending(
    estate: Estate,
) -> None:
    await deliver(estate, days_ago=0)

    await sweep(estate, days=29.9)
    assert await estate.rows("SELECT count(*) FROM chamberlain.delivery") == [(4,)]
    await sweep(estate, days=37.1)
    assert await estate.rows("SELECT state FROM chamberlain.delivery") == [("pending",)]


async def test_a_week_of_deliveries_that_has_had_its_time_goes_as_a_whole(estate: Estate) -> None:
    await deliver(estate, days_ago=0)
    await estate.rows("UPDATE chamberlain.delivery SET state = 'succeeded' RETURNING 1")
    before = await weeks(estate)

    await sweep(estate, days=37.1)

    assert await estate.rows("SELECT FROM chamberlain.delivery") == []
    assert before - await weeks(estate) == {min(before)}


async def test_weeks_are_made_before_they_come(estate: Estate) -> None:
    before = await weeks(estate)

    await sweep(estate, days=70)
    far = await weeks(estate)
    await sweep(estate, days=70)

    assert len(far - before) == 3
    assert await weeks(estate) == far


async def test_a_delivery_for_which_there_is_no_week_is_kept_and_goes_as_well(estate: Estate) -> None:
    await deliver(estate, days_ago=300)
    await deliver(estate, days_ago=3, known_by_time=False)

    await sweep(estate)
    kept = await estate.rows("SELECT tableoid::regclass::text, state FROM chamberlain.delivery ORDER BY created_at, 2")
    await sweep(estate, days=37)

    elsewhere = "chamberlain.delivery_elsewhere"
    assert kept[0] == (elsewhere, "pending")
    assert sorted(str(state) for _, state in kept[1:]) == ["cancelled", "failed", "pending", "succeeded"]
    assert await estate.rows("SELECT DISTINCT state FROM chamberlain.delivery") == [("pending",)]


async def test_a_sweep_passes_by_a_week_that_somebody_holds(estate: Estate) -> None:
    await deliver(estate, days_ago=0)
    await estate.rows("UPDATE chamberlain.delivery SET state = 'succeeded' RETURNING 1")

    async with estate.databases.application.transaction(ESTATE) as tx:
        await tx.execute("SELECT FROM chamberlain.delivery FOR UPDATE")
        then = datetime.now(UTC) + timedelta(days=37.1)
        async with estate.databases.worker.across_tenants() as other:
            removed = await webhook_store.maintain_weeks(other, now=then, oldest=cutoffs(KEEP, then).deliveries)
    await sweep(estate, days=37.1)

    assert removed == 0
    assert await estate.rows("SELECT FROM chamberlain.delivery") == []


FAULT = """
INSERT INTO chamberlain.clock_fault (from_at, until_at, resumed_at)
VALUES (now() - interval '1 day', now() + interval '1 day', now() + interval '600 days')
"""
ADOPTION = """
INSERT INTO chamberlain.adoption (
    tenant_id, adoption_id, kind, template_id, template_revision, template_name, filter, state, total, created_by,
    trace_id, created_at, updated_at, finished_at
)
VALUES ($1, gen_random_uuid(), 'group', gen_random_uuid(), 1, '', '{}', 'undone', 0, '{}', '', now(), now(), now())
"""
RELEASE = """
INSERT INTO chamberlain.release (
    tenant_id, release_id, types, state, total, created_by, trace_id, created_at, updated_at, finished_at
)
VALUES ($1, gen_random_uuid(), '{group}', 'succeeded', 0, '{}', '', now(), now(), now())
"""
FINDING = """
INSERT INTO chamberlain.finding (
    tenant_id, finding_id, kind, state, source, subject_type, subject_id, subject_name, about, detail, first_seen_at,
    last_seen_at
)
VALUES ($1, gen_random_uuid(), 'drift', 'gone', 'drift', 'group', gen_random_uuid(), '', '', '', now(), now())
"""
REPAIR = """
INSERT INTO chamberlain.drift_repair (tenant_id, subject_id, about, repairs, digest, found_at, has_given_up)
VALUES ($1, gen_random_uuid(), 'city', 2, '', now(), false)
"""


async def test_rows_of_a_clock_fault_are_not_old_before_the_clock_was_right_for_so_long(estate: Estate) -> None:
    await failed(estate, ["Apollo"])
    ended = await estate.request("Hermes")
    await put(estate, ended.request_id, RequestState.SUCCEEDED)
    await finish(estate, ended.request_id, days_ago=0)
    for statement in (ADOPTION, RELEASE, FINDING, REPAIR):
        await estate.rows(statement, ESTATE)
    await tell(estate, 1, days_ago=0)
    await deliver(estate, days_ago=0)
    await deliver(estate, days_ago=0, known_by_time=False)
    await estate.rows("UPDATE chamberlain.delivery SET state = 'succeeded'")
    await estate.rows(FAULT)
    before = await left(estate)

    await sweep(estate, days=600)
    during = await left(estate)
    await estate.rows("UPDATE chamberlain.clock_fault SET resumed_at = now()")
    await sweep(estate, days=600)

    assert during == before
    # The control: with an earlier end of the fault all of them are old.
    assert await left(estate) == {
        "adoption": 0, "release": 0, "finding": 0, "drift_repair": 0, "delivery": 0,
        "event of a group": 0, "failed request": 0, "succeeded request": 0,
    }  # fmt: skip


async def left(estate: Estate) -> dict[str, int]:
    """The rows of each kind that retention removes or ends."""
    tables = {
        "adoption": "adoption",
        "release": "release",
        "finding": "finding",
        "drift_repair": "drift_repair",
        "delivery": "delivery",
        "event of a group": "event WHERE type = 'group.created'",
        "failed request": "request WHERE state = 'failed'",
        "succeeded request": "request WHERE state = 'succeeded'",
    }
    return {name: len(await estate.rows(f"SELECT FROM chamberlain.{table}")) for name, table in tables.items()}


async def test_substitutions_go_when_they_end(estate: Estate) -> None:
    for user, substitute, days in ((ADA, BEN, 10), (BEN, ADA, 30)):
        await estate.rows(
            "INSERT INTO chamberlain.substitute (tenant_id, user_id, substitute_id, until, created_at) "
            "VALUES ($1, $2, $3, now() + make_interval(days => $4), now()) RETURNING 1",
            ESTATE,
            user,
            substitute,
            days,
        )

    await sweep(estate, days=9)
    before = await estate.rows("SELECT user_id FROM chamberlain.substitute ORDER BY until")
    await sweep(estate, days=11)

    assert [user for (user,) in before] == [ADA, BEN]
    assert [user for (user,) in await estate.rows("SELECT user_id FROM chamberlain.substitute")] == [BEN]


async def test_answers_of_resources_and_questions_go_after_400_days(estate: Estate) -> None:
    await estate.rows(
        "INSERT INTO chamberlain.booking_answer "
        "(tenant_id, resource_id, uid, recurrence, sequence, stamp, method, organizer, state) "
        "VALUES ($1, $1, 'x', '', 0, now(), 'REQUEST', 'vera@outside.example', 'done') RETURNING 1",
        ESTATE,
    )
    await estate.rows(
        "INSERT INTO chamberlain.question (tenant_id, request_id, level, user_id, state, asked_at, seen) "
        "VALUES ($1, $1, 1, $2, 'unreachable', now(), now()) RETURNING 1",
        ESTATE,
        ADA,
    )

    left = []
    for days in (399, 401):
        await sweep(estate, days=days)
        rows = await estate.rows(
            "SELECT uid FROM chamberlain.booking_answer UNION ALL SELECT state FROM chamberlain.question"
        )
        left.append(len(rows))

    assert left == [2, 0]
