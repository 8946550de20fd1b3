# SPDX-License-Identifier: Apache-2.0
"""Notices are written with their events, by transactions that send mail, and by no others."""

from collections.abc import AsyncIterator
from contextlib import suppress
from uuid import uuid4

import pytest

from chamberlain.changes.models import Event, EventType
from chamberlain.changes.records import append_events
from chamberlain.core.ids import EventId, NoticeId, RequestId
from chamberlain.database.transactions import Database, open_database
from chamberlain.directory.models import NamedPerson
from chamberlain.notifications import store as notification_store
from chamberlain.notifications.models import AboutRequest, NoticeKind
from chamberlain.requests.events import approval_required, request_event, summary_of
from tests.databases import Databases
from tests.estates import ADA, BEN, CONFIDENTIAL_TEAM, ESTATE, OTHER_HOUSE, Estate, open_estate, rows

WRITTEN = """
SELECT n.kind, n.level FROM chamberlain.notice n JOIN chamberlain.job j
ON j.tenant_id = n.tenant_id AND j.subject = n.notice_id AND j.kind = 'noticeSend' AND j.trace_id <> ''
WHERE n.request_id = $1 ORDER BY n.kind
"""
APPROVE = "UPDATE chamberlain.request SET state = 'queued' WHERE tenant_id = $1 AND request_id = $2"


@pytest.fixture
async def notice_databases(databases: Databases) -> AsyncIterator[Databases]:
    """The same database, for processes that tell people by mail."""
    addresses = databases.addresses
    application = await open_database(addresses.application, most=4, name="test application", notices=True)
    worker = await open_database(addresses.worker, most=4, name="test worker", notices=True)
    yield Databases(addresses, application, worker)
    await application.close()
    await worker.close()


async def event_of(estate: Estate, request_id: RequestId, event_type: EventType) -> Event:
    summary = summary_of(await estate.record(request_id))
    return request_event(EventId(uuid4()), event_type, summary, now=estate.moment, more={})


async def write_everything(database: Database, estate: Estate, request_id: RequestId) -> None:
    """Write every outcome of a request that waits for approval."""
    async with database.transaction(ESTATE) as tx:
        for event_type in (EventType.REQUEST_REJECTED, EventType.REQUEST_EXPIRED, EventType.REQUEST_FAILED):
            await append_events(tx, [await event_of(estate, request_id, event_type)])
        await tx.execute(APPROVE, ESTATE, request_id)


async def test_it_works_for_every_kind(notice_databases: Databases) -> None:
    estate = await open_estate(notice_databases)
    accepted = await estate.request("Secret", templateId=str(CONFIDENTIAL_TEAM))
    await write_everything(notice_databases.worker, estate, accepted.request_id)

    written = await rows(notice_databases, WRITTEN, accepted.request_id)

    kinds = ["approved", "expired", "failed", "rejected"]
    assert written == [("approvalRequired", 1), *[(kind, None) for kind in kinds]]


async def test_it_works_for_both_roles(notice_databases: Databases) -> None:
    estate = await open_estate(notice_databases)
    accepted = await estate.request("Apollo")
    first, second, third = [await event_of(estate, accepted.request_id, EventType.REQUEST_FAILED) for _ in range(3)]

    async with notice_databases.application.transaction(ESTATE) as tx:
        await append_events(tx, [first])
    async with notice_databases.worker.transaction(ESTATE) as tx:
        await append_events(tx, [second])
    async with notice_databases.worker.across_tenants() as tx:
        await append_events(tx, [third])

    assert await rows(notice_databases, WRITTEN, accepted.request_id) == [("failed", None)] * 3


async def test_it_writes_nothing_by_default(databases: Databases) -> None:
    estate = await open_estate(databases)
    accepted = await estate.request("Secret", templateId=str(CONFIDENTIAL_TEAM))
    await write_everything(databases.worker, estate, accepted.request_id)

    assert await rows(databases, "SELECT FROM chamberlain.notice") == []
    assert await rows(databases, "SELECT FROM chamberlain.job WHERE kind = 'noticeSend'") == []


async def test_a_level_is_reported_of_when_it_has_approvers(notice_databases: Databases) -> None:
    estate = await open_estate(notice_databases)
    accepted = await estate.request("Apollo")
    summary = summary_of(await estate.record(accepted.request_id))
    ada = NamedPerson(ADA, "Ada Achterberg")
    opened, blocked = [
        approval_required(EventId(uuid4()), summary, level=level, approvers=approvers, now=estate.moment)
        for level, approvers in ((2, [ada]), (3, []))
    ]

    async with notice_databases.worker.transaction(ESTATE) as tx:
        await append_events(tx, [opened, blocked])

    assert await rows(notice_databases, WRITTEN, accepted.request_id) == [("approvalRequired", 2)]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("pendingApproval", "queued", [("approved", None)]),
        ("pendingApproval", "cancelled", []),
        ("waiting", "queued", []),
        ("queued", "running", []),
    ],
)
async def test_an_approval_is_reported_of_when_the_request_goes_on(
    notice_databases: Databases, before: str, after: str, expected: list[tuple[str, None]]
) -> None:
    estate = await open_estate(notice_databases)
    accepted = await estate.request("Apollo")

    async with notice_databases.worker.transaction(ESTATE) as tx:
        for state in (before, after):
            await tx.execute("UPDATE chamberlain.request SET state = $1", state)

    assert await rows(notice_databases, WRITTEN, accepted.request_id) == expected


async def test_a_notice_is_about_one_request_of_its_tenant(databases: Databases) -> None:
    estate = await open_estate(databases)
    apollo, _ = await estate.request("Apollo"), await estate.request("Borealis")
    queue = "SELECT chamberlain.queue_notice($1, gen_random_uuid(), 'failed', $2, NULL, now())"

    for tenant_id in (ESTATE, OTHER_HOUSE):
        await rows(databases, queue, tenant_id, apollo.request_id)

    assert await rows(databases, WRITTEN, apollo.request_id) == [("failed", None)]
    written = "SELECT tenant_id, lane FROM chamberlain.job WHERE kind = 'noticeSend'"
    assert await rows(databases, written) == [(ESTATE, ESTATE)]
    assert await rows(databases, "SELECT count(*) FROM chamberlain.notice") == [(1,)]


async def test_it_writes_nothing_for_what_is_taken_back(notice_databases: Databases) -> None:
    estate = await open_estate(notice_databases)
    accepted = await estate.request("Apollo")

    with suppress(ZeroDivisionError):
        async with notice_databases.worker.transaction(ESTATE) as tx:
            await append_events(tx, [await event_of(estate, accepted.request_id, EventType.REQUEST_FAILED)])
            raise ZeroDivisionError

    assert await rows(notice_databases, WRITTEN, accepted.request_id) == []


async def test_it_writes_nothing_for_what_concerns_nobody(notice_databases: Databases) -> None:
    estate = await open_estate(notice_databases)
    accepted = await estate.request("Apollo")
    await estate.work()

    assert await rows(notice_databases, WRITTEN, accepted.request_id) == []


async def test_it_remembers_who_has_it(notice_databases: Databases) -> None:
    estate = await open_estate(notice_databases)
    accepted = await estate.request("Apollo")
    event = await event_of(estate, accepted.request_id, EventType.REQUEST_FAILED)
    notice_id = NoticeId(event.id)

    async with notice_databases.worker.transaction(ESTATE) as tx:
        await append_events(tx, [event])
        await notification_store.save_notified(tx, notice_id, [ADA])
        await notification_store.save_notified(tx, notice_id, [BEN])
        await notification_store.count_attempt(tx, notice_id)
        found = await notification_store.find(tx, notice_id)
        await notification_store.delete(tx, notice_id)
        gone = await notification_store.find(tx, notice_id)

    assert found is not None
    assert found.about == AboutRequest(NoticeKind.FAILED, accepted.request_id, None)
    assert found.at == estate.moment
    assert (found.attempts, found.notified) == (1, frozenset({ADA, BEN}))
    assert gone is None
