# SPDX-License-Identifier: Apache-2.0
"""Deliveries: written with their events, recorded under any lease, and sent again on request."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import msgspec
import pytest

from chamberlain.changes.models import Event, EventType
from chamberlain.core.errors import Rejected
from chamberlain.core.ids import DeliveryId, EventId, JobId, TenantId
from chamberlain.core.paging import PageWanted
from chamberlain.embedded import postgres
from chamberlain.events import outbox
from chamberlain.events.outbox import PAYLOAD_LIMIT
from chamberlain.template_admin import webhook_state
from chamberlain.webhooks import store as webhook_store
from chamberlain.webhooks.models import (
    MAX_STORED_ATTEMPTS,
    DeliveryFilter,
    DeliveryRecord,
    DeliveryResult,
    DeliverySpan,
    DeliveryState,
    Reply,
)
from tests.databases import Databases, filled_database
from tests.estates import (
    ADA,
    ESTATE,
    OTHER_HOUSE,
    PROJECT_GROUP,
    PROJECT_TEAM,
    SHARED_MAILBOX,
    Estate,
    caller_of,
    changed_estate,
    open_estate,
    service_of,
)
from tests.example import configuration_in, example_document
from tests.requests.request_services import cancel

MOMENT = datetime(2026, 11, 20, 9, 30, 1, tzinfo=UTC)
URL = "https://hooks.estate.example/a"
HOOK = {"webhook": {"url": URL}}
KEY = ESTATE, PROJECT_GROUP
ANY = DeliveryFilter()
OK = Reply(MOMENT, timedelta(milliseconds=210), status=200, answer="thanks")
OOPS = Reply(MOMENT, timedelta(milliseconds=210), status=500, answer="oops")
JOBS = "SELECT kind, subject, lane, lease_id, run_at <= now() FROM chamberlain.job WHERE kind = 'webhookDeliver'"


@pytest.fixture
async def estate(postgres_server: postgres.Server) -> AsyncIterator[Estate]:
    async with filled_database(postgres_server, "hooked", fill) as databases:
        yield service_of(databases)


async def fill(databases: Databases) -> None:
    await open_estate(databases, changed_estate(project_group=HOOK))


async def listed(estate: Estate, wanted: DeliveryFilter = ANY, tenant_id: TenantId = ESTATE) -> list[DeliveryRecord]:
    async with estate.databases.application.transaction(tenant_id) as tx:
        page = await webhook_store.find_page(tx, wanted, PageWanted(200, None))
    return list(page.items)


async def only(estate: Estate) -> DeliveryRecord:
    (found,) = await listed(estate)
    return found


async def lease(estate: Estate) -> UUID:
    """Have the jobs of all deliveries, as a worker has them that serves lanes."""
    lease_id = uuid4()
    await estate.rows(
        "UPDATE chamberlain.job SET lease_id = $1, lease_until = now() + interval '10 s' "
        "WHERE kind = 'webhookDeliver' RETURNING 1",
        lease_id,
    )
    return lease_id


async def record(
    estate: Estate,
    delivery_id: DeliveryId,
    reply: Reply | None = OK,
    *,
    state: DeliveryState = DeliveryState.SUCCEEDED,
    after: timedelta | None = None,
    lease_id: UUID | None = None,
) -> None:
    ((job_id,),) = await estate.rows("SELECT job_id FROM chamberlain.delivery WHERE delivery_id = $1", delivery_id)
    held = lease_id or await lease(estate)
    async with estate.databases.worker.across_tenants() as tx:
        (due,) = await webhook_store.load_due(tx, [(ESTATE, delivery_id)])
        await webhook_store.save_results(tx, [DeliveryResult(due, held, JobId(int(str(job_id))), state, reply, after)])


async def test_it_works(estate: Estate) -> None:
    accepted = await estate.request("Apollo", metadata={"el-text-1": "x"})
    await estate.work()

    found = await only(estate)
    ((event_id, type_, at),) = await estate.rows("SELECT event_id, type, at FROM chamberlain.event")
    assert (found.event_id, found.type, found.request_id) == (event_id, type_, accepted.request_id)
    assert (found.state, found.url, found.attempts) == (DeliveryState.PENDING, URL, ())
    assert found.next_attempt_at == found.created_at
    assert await estate.rows(JOBS) == [("webhookDeliver", found.id, PROJECT_GROUP, None, True)]
    async with estate.databases.worker.across_tenants() as tx:
        (due,) = await webhook_store.load_due(tx, [(ESTATE, found.id)])
    payload = msgspec.json.decode(due.payload)
    assert list(payload) == ["type", "timestamp", "requestId", "tenantId", "data"]
    assert payload["requestId"] == str(accepted.request_id)
    assert payload["data"]["metadata"] == {"el-text-1": "x"}
    assert isinstance(at, datetime)
    assert payload["timestamp"] == at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def test_a_payload_is_small_whatever_is_in_the_metadata() -> None:
    def payload(number: int) -> str:
        """With what was sent and what a template adds, each of which may be 16 KiB."""
        data = {"group": {"displayName": "Apollo"}, "metadata": {f"key {each}": "x" * 1_000 for each in range(number)}}
        return outbox.payload_of(Event(EventId(uuid4()), EventType.GROUP_CREATED, MOMENT, ESTATE, None, data))

    kept, emptied = msgspec.json.decode(payload(16)), msgspec.json.decode(payload(32))

    assert len(kept["data"]["metadata"]) == 16
    assert emptied["data"] == {"group": {"displayName": "Apollo"}, "metadata": {}}
    assert all(len(payload(number)) < PAYLOAD_LIMIT for number in range(33))


async def test_it_tells_of_what_was_created_and_of_nothing_else(estate: Estate) -> None:
    await estate.request("Team", templateId=str(PROJECT_TEAM))
    await estate.ask_mailbox({"name": "Info", "displayName": "Information", "alias": "desk"})
    await estate.work()

    assert await listed(estate) == []
    assert await estate.rows("SELECT count(*) FROM chamberlain.event") == [(2,)]


async def test_it_tells_of_its_own_templates_creations_alone(databases: Databases) -> None:
    document = example_document()
    kinds = {"shared": SHARED_MAILBOX, "group": PROJECT_GROUP, "team": PROJECT_TEAM}
    for template in document["tenants"][0]["templates"]:
        if template["id"] in {str(each) for each in kinds.values()}:
            template.update(HOOK)
    estate = await open_estate(databases, configuration_in(document))
    estate.directory.faults["Lost"] = Rejected("ruleInvalid", "The directory does not take it.")
    await estate.request("Apollo")
    await estate.request("Made", templateId=str(PROJECT_TEAM))
    lost = await estate.request("Lost", templateId=str(PROJECT_TEAM))
    await estate.ask_mailbox({"name": "Info", "displayName": "Information", "alias": "desk"})
    await estate.work()
    await cancel(estate, lost.request_id, caller_of(ADA))

    told = [(each.type, each.template_id) for each in await listed(estate)]
    events = {kind for (kind,) in await estate.rows("SELECT DISTINCT type FROM chamberlain.event")}
    assert sorted(told) == [
        ("group.created", kinds["group"]),
        ("mailbox.created", kinds["shared"]),
        ("team.created", kinds["team"]),
    ]
    assert {"request.failed", "request.cancelled"} < events


@pytest.mark.parametrize("webhook", [None, {"url": URL, "active": False}])
async def test_it_tells_no_webhook_that_is_not_there_when_it_happens(estate: Estate, webhook: object) -> None:
    await estate.request("Apollo")
    await estate.rows(
        "UPDATE chamberlain.template_revision "
        "SET content = (content::jsonb || jsonb_build_object('webhook', $2::jsonb))::json "
        "WHERE template_id = $1 RETURNING 1",
        PROJECT_GROUP,
        msgspec.json.encode(webhook).decode(),
    )
    await estate.work()

    assert await listed(estate) == []


async def test_it_tells_no_webhook_that_is_disabled(estate: Estate) -> None:
    async with estate.databases.worker.across_tenants() as tx:
        assert await webhook_state.fail(tx, [KEY], at=MOMENT) == {KEY: MOMENT}
        assert await webhook_state.disable(tx, KEY, reason="Gone.", at=MOMENT)
        assert not await webhook_state.disable(tx, KEY, reason="Gone.", at=MOMENT)
    await estate.request("Apollo")
    await estate.work()
    assert await listed(estate) == []

    async with estate.databases.application.transaction(ESTATE) as tx:
        await webhook_state.enable(tx, ESTATE, PROJECT_GROUP)
    await estate.request("Mercury")
    await estate.work()
    assert [each.state for each in await listed(estate)] == [DeliveryState.PENDING]


async def test_it_records_every_attempt(estate: Estate) -> None:
    await estate.request("Apollo")
    await estate.work()
    found = await only(estate)

    await record(estate, found.id, OOPS, state=DeliveryState.PENDING, after=timedelta(minutes=5))
    waiting = await only(estate)
    await record(estate, found.id)

    assert [each.status for each in waiting.attempts] == [500]
    assert waiting.next_attempt_at is not None
    assert waiting.next_attempt_at > waiting.created_at + timedelta(minutes=4)
    through = await only(estate)
    assert (through.state, through.next_attempt_at) == (DeliveryState.SUCCEEDED, None)
    assert [(each.number, each.status, each.duration_ms, each.answer) for each in through.attempts] == [
        (1, 500, 210, "oops"),
        (2, 200, 210, "thanks"),
    ]
    assert [each.at for each in through.attempts] == [MOMENT, MOMENT]
    assert await estate.rows(JOBS) == []


async def test_an_attempt_of_one_who_lost_the_job_is_on_record_and_decides_nothing(estate: Estate) -> None:
    await estate.request("Apollo")
    await estate.work()
    found = await only(estate)
    await lease(estate)

    await record(estate, found.id, OOPS, state=DeliveryState.FAILED, lease_id=uuid4())

    now = await only(estate)
    assert (now.state, len(now.attempts)) == (DeliveryState.PENDING, 1)
    assert now.next_attempt_at is not None


async def test_it_keeps_the_newest_attempts(estate: Estate) -> None:
    await estate.request("Apollo")
    await estate.work()
    found = await only(estate)

    for _ in range(MAX_STORED_ATTEMPTS + 2):
        await record(estate, found.id, OOPS, state=DeliveryState.PENDING, after=timedelta())

    numbers = [each.number for each in (await only(estate)).attempts]
    assert numbers == list(range(3, MAX_STORED_ATTEMPTS + 3))


async def test_it_redelivers(estate: Estate) -> None:
    await estate.request("Apollo")
    await estate.work()
    found = await only(estate)
    await record(estate, found.id, OOPS, state=DeliveryState.FAILED)

    async with estate.databases.application.transaction(ESTATE) as tx:
        assert await webhook_store.redeliver(tx, found.id)
    async with estate.databases.application.transaction(OTHER_HOUSE) as tx:
        assert not await webhook_store.redeliver(tx, found.id)

    again = await only(estate)
    assert (again.state, len(again.attempts)) == (DeliveryState.PENDING, 1)
    assert again.next_attempt_at is not None
    assert await estate.rows(JOBS) == [("webhookDeliver", found.id, PROJECT_GROUP, None, True)]
    assert await estate.rows("SELECT tries FROM chamberlain.delivery") == [(0,)]


async def test_what_is_pending_is_redelivered_at_once_and_not_twice(estate: Estate) -> None:
    await estate.request("Apollo")
    await estate.work()
    found = await only(estate)
    await record(estate, found.id, OOPS, state=DeliveryState.PENDING, after=timedelta(hours=5))

    async with estate.databases.application.transaction(ESTATE) as tx:
        assert await webhook_store.redeliver(tx, found.id)

    assert await estate.rows(JOBS) == [("webhookDeliver", found.id, PROJECT_GROUP, None, True)]


async def test_one_whose_job_is_held_is_redelivered_too(estate: Estate) -> None:
    await estate.request("Apollo")
    await estate.work()
    found = await only(estate)
    held = "UPDATE chamberlain.job SET held_reason = 'A bug.', attempts = 20 WHERE kind = 'webhookDeliver' RETURNING 1"
    await estate.rows(held)

    async with estate.databases.application.transaction(ESTATE) as tx:
        assert await webhook_store.redeliver(tx, found.id)

    assert await estate.rows("SELECT held_reason, attempts FROM chamberlain.job WHERE kind = 'webhookDeliver'") == [
        (None, 0)
    ]


async def again(
    estate: Estate, span: DeliverySpan, *, most: int = 500, tenant_id: TenantId = ESTATE
) -> list[DeliveryId]:
    """Redeliver a span, in as many batches as it takes."""
    found: list[DeliveryId] = []
    behind = None
    while True:
        async with estate.databases.application.transaction(tenant_id) as tx:
            batch = await webhook_store.redeliver_batch(tx, span, after=behind, limit=most)
        found += batch.ids
        if (behind := batch.next) is None:
            return found


async def three(estate: Estate) -> tuple[list[DeliveryRecord], DeliverySpan]:
    """Three that have succeeded, and the span in which the two newest of them were made."""
    for name in ("Apollo", "Mercury", "Gemini"):
        await estate.request(name)
    await estate.work()
    for each in await listed(estate):
        await record(estate, each.id)
    found = await listed(estate)
    await estate.rows(
        "UPDATE chamberlain.delivery SET created_at = created_at - interval '1 day' WHERE delivery_id = $1 RETURNING 1",
        found[-1].id,
    )
    now = found[0].created_at
    return found, DeliverySpan(now, now + timedelta(seconds=1))


@pytest.mark.parametrize("most", [1, 2, 500])
async def test_it_redelivers_a_span_in_batches_of_any_size(estate: Estate, most: int) -> None:
    found, span = await three(estate)

    queued = await again(estate, span, most=most)

    assert sorted(queued) == sorted(each.id for each in found[:2])
    pending = await listed(estate, DeliveryFilter(state=DeliveryState.PENDING))
    assert {each.id for each in pending} == set(queued)
    assert len(await estate.rows(JOBS)) == 2
    assert await again(estate, DeliverySpan(span.since, span.since)) == []


async def test_it_redelivers_of_one_template_and_tenant_alone(estate: Estate) -> None:
    _, span = await three(estate)

    assert await again(estate, replace(span, template_id=PROJECT_TEAM)) == []
    assert await again(estate, span, tenant_id=OTHER_HOUSE) == []
    assert len(await again(estate, replace(span, template_id=PROJECT_GROUP))) == 2


async def test_it_redelivers_nothing_to_a_webhook_that_is_not_to_be_called(estate: Estate) -> None:
    _, span = await three(estate)
    async with estate.databases.worker.across_tenants() as tx:
        await webhook_state.fail(tx, [KEY], at=MOMENT)
        await webhook_state.disable(tx, KEY, reason="Gone.", at=MOMENT)

    assert await again(estate, span) == []


async def test_it_does_not_wait_for_who_writes_about_one(estate: Estate) -> None:
    found, span = await three(estate)

    async with estate.databases.worker.across_tenants() as tx:
        await tx.execute("SELECT FROM chamberlain.delivery WHERE delivery_id = $1 FOR UPDATE", found[0].id)
        queued = await again(estate, span)

    assert queued == [found[1].id]


async def test_it_does_not_wait_for_who_ends_a_job_either(estate: Estate) -> None:
    """That one would wait for us next: it writes about the delivery."""
    await estate.request("Apollo")
    await estate.work()
    found = await only(estate)
    span = DeliverySpan(found.created_at, found.created_at + timedelta(seconds=1))

    async with estate.databases.worker.across_tenants() as tx:
        await tx.execute("SELECT FROM chamberlain.job WHERE kind = 'webhookDeliver' FOR UPDATE")
        async with asyncio.timeout(10), estate.databases.application.transaction(ESTATE) as other:
            assert await webhook_store.redeliver(other, found.id)
        async with asyncio.timeout(10):
            assert await again(estate, span) == [found.id]


async def test_it_cancels_what_is_pending_but_for_what_somebody_is_at(estate: Estate) -> None:
    for name in ("Apollo", "Mercury"):
        await estate.request(name)
    await estate.work()
    await estate.rows(
        "UPDATE chamberlain.job SET lease_id = gen_random_uuid(), lease_until = now() + interval '10 s' "
        "WHERE job_id = (SELECT min(job_id) FROM chamberlain.job WHERE kind = 'webhookDeliver') RETURNING 1"
    )

    async with estate.databases.application.transaction(ESTATE) as tx:
        await outbox.cancel_pending(tx, ESTATE, PROJECT_GROUP)

    states = sorted(each.state for each in await listed(estate))
    assert states == [DeliveryState.CANCELLED, DeliveryState.PENDING]


async def test_it_lists_by_every_filter_newest_first(estate: Estate) -> None:
    accepted = [await estate.request(name) for name in ("Apollo", "Mercury", "Gemini")]
    await estate.work()
    (first, *others) = await listed(estate)
    await record(estate, first.id, OOPS, state=DeliveryState.FAILED)
    everything = await listed(estate)

    assert [each.id for each in everything] == [first.id, *[each.id for each in others]]
    assert await listed(estate, DeliveryFilter(template_id=PROJECT_GROUP)) == everything
    assert await listed(estate, DeliveryFilter(template_id=PROJECT_TEAM)) == []
    assert [each.id for each in await listed(estate, DeliveryFilter(DeliveryState.FAILED, PROJECT_GROUP))] == [first.id]
    assert await listed(estate, DeliveryFilter(DeliveryState.SUCCEEDED)) == []
    of_request = await listed(estate, DeliveryFilter(request_id=accepted[0].request_id))
    assert [each.request_id for each in of_request] == [accepted[0].request_id]
    assert await listed(estate, tenant_id=OTHER_HOUSE) == []


async def test_it_removes_what_is_old_and_not_pending(estate: Estate) -> None:
    for name in ("Apollo", "Mercury"):
        await estate.request(name)
    await estate.work()
    (first, second) = await listed(estate)
    await record(estate, first.id)
    later = first.created_at + timedelta(seconds=1)

    async with estate.databases.worker.across_tenants() as tx:
        assert await webhook_store.delete_old(tx, before=first.created_at, limit=10) == 0
        assert await webhook_store.delete_old(tx, before=later, limit=10) == 1

    assert [each.id for each in await listed(estate)] == [second.id]
