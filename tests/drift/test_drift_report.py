# SPDX-License-Identifier: Apache-2.0
"""One report by mail lists the new drift of a day."""

from collections.abc import AsyncIterator

import pytest

from chamberlain.queue.models import JobKind
from tests.databases import Databases
from tests.drift.drift_fixture import DriftFixture, drift_fixture
from tests.estates import service_of
from tests.fake_smtp_server import FakeSmtpServer, Received, open_smtp_server
from tests.notifications.notice_fixture import NoticeFixture, notice_fixture, open_databases_with_notices

MOVE = "UPDATE directory.users SET properties = properties || '{\"city\": \"Elsewhere\"}' WHERE mail LIKE 'desk%'"
NOTICES = "SELECT kind FROM chamberlain.notice"
A_DAY_AGO = "UPDATE chamberlain.drift_check SET reported_at = reported_at - interval '1 day'"


@pytest.fixture
async def smtp_server() -> AsyncIterator[FakeSmtpServer]:
    async with open_smtp_server(FakeSmtpServer()) as smtp_server:
        yield smtp_server


@pytest.fixture
async def drift(example: Databases) -> AsyncIterator[DriftFixture]:
    async with open_databases_with_notices(example) as databases:
        yield drift_fixture(service_of(databases))


@pytest.fixture
def notices(drift: DriftFixture, smtp_server: FakeSmtpServer) -> NoticeFixture:
    return notice_fixture(drift.estate, smtp_server)


async def send(notices: NoticeFixture) -> list[Received]:
    """Send due reports."""
    before = len(notices.smtp_server.received)
    await notices.jobs.send(await notices.estate.claim_lanes(JobKind.DRIFT_REPORT))
    return notices.smtp_server.received[before:]


async def test_it_works(drift: DriftFixture, notices: NoticeFixture) -> None:
    await drift.mailbox(city="Town")
    await drift.change(MOVE)

    await drift.check_all()
    await drift.check_all()
    sent = await send(notices)

    (finding,) = await drift.records()
    assert {each.to for each in sent} == {"ada@estate.example"}
    assert f"- {finding.id}: city, The desk" in sent[0].part("plain")
    assert (len(sent), await drift.estate.rows(NOTICES)) == (1, [])


async def test_the_next_day_lists_only_new_drift(drift: DriftFixture, notices: NoticeFixture) -> None:
    await drift.mailbox(city="Town", country="Land")
    await drift.change(MOVE)
    await drift.check_all()
    await send(notices)
    await drift.change(A_DAY_AGO)
    await drift.change("UPDATE chamberlain.finding SET opened_at = opened_at - interval '2 days'")
    await drift.check_all()
    nothing = await send(notices)
    await drift.change(MOVE.replace("city", "country"))

    await drift.check_all()
    (sent,) = await send(notices)

    assert nothing == []
    text = sent.part("plain")
    assert ("country, The desk" in text, "city, The desk" in text) == (True, False)


async def test_a_day_without_drift_has_no_report(drift: DriftFixture, notices: NoticeFixture) -> None:
    await drift.mailbox(city="Town")

    await drift.check_all()

    assert await drift.estate.rows(NOTICES) == []
    assert await send(notices) == []


async def test_drift_that_is_gone_is_not_reported(drift: DriftFixture, notices: NoticeFixture) -> None:
    await drift.mailbox(city="Town")
    await drift.change(MOVE)
    await drift.check_all()
    await drift.change(MOVE.replace("Elsewhere", "Town"))
    await drift.check_all()

    assert await send(notices) == []
    assert await drift.estate.rows(NOTICES) == []
