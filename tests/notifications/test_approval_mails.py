# SPDX-License-Identifier: Apache-2.0
"""Mails that ask for a decision: to substitutes, as reminders, and with a reply code."""

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from chamberlain.core.ids import UserId
from chamberlain.notifications.mail_server import MailServer, parse_smtp_url
from chamberlain.requests.replies import Asking
from tests.databases import Databases
from tests.estates import BEN, CLEO, DARA, ESTATE
from tests.fake_smtp_server import FakeSmtpServer, Received, open_smtp_server
from tests.notifications.notice_fixture import (
    SENDER,
    SPEAKS,
    NoticeFixture,
    notice_fixture,
    open_databases_with_notices,
)
from tests.requests.approval_fixture import all_of, any_of, user
from tests.requests.request_services import act, reply_tokens
from tests.substitutes.substitute_fixture import SubstituteFixture, open_substitute_fixture

REPLY_TO = "approvals@estate.example"
CODE = re.compile(r"CR1\.[A-Za-z0-9_-]+")


@pytest.fixture
async def notice_databases(databases: Databases) -> AsyncIterator[Databases]:
    async with open_databases_with_notices(databases) as notice_databases:
        yield notice_databases


@pytest.fixture
async def smtp_server() -> AsyncIterator[FakeSmtpServer]:
    async with open_smtp_server(FakeSmtpServer()) as smtp_server:
        yield smtp_server


def notices_with_replies(it: SubstituteFixture, smtp_server: FakeSmtpServer) -> NoticeFixture:
    """A worker whose mails take replies, and link to the review page."""
    notices = notice_fixture(it.approvals.estate, smtp_server)
    server = MailServer(parse_smtp_url(smtp_server.url), replace(SENDER, reply_to=REPLY_TO))
    notices.jobs = replace(
        notices.jobs,
        server=server,
        review_link_of=lambda _, request_id: f"https://c.example/console/approvals/{request_id}",
        reply_tokens=reply_tokens(),
    )
    return notices


def recipients(sent: list[Received]) -> list[str]:
    return sorted(str(each.to) for each in sent)


async def test_it_works(notice_databases: Databases, smtp_server: FakeSmtpServer) -> None:
    it = await open_substitute_fixture(notice_databases, any_of(user(DARA), user(CLEO)))
    notices = notices_with_replies(it, smtp_server)
    request_id = await it.approvals.ask()

    sent = await notices.work()

    assert recipients(sent) == ["cleo@estate.example", "dara@estate.example"]
    content = smtp_server.to("dara@estate.example")
    assert content.message["Reply-To"] == REPLY_TO
    (code,) = CODE.findall(content.part("plain"))
    assert reply_tokens().read(code, ESTATE) == Asking(ESTATE, request_id, 1, DARA)
    assert code in content.part("html")
    assert f"https://c.example/console/approvals/{request_id}" in content.part("plain")
    assert code not in smtp_server.to("cleo@estate.example").part("plain")


async def test_without_an_address_for_replies_it_invites_none(
    notice_databases: Databases, smtp_server: FakeSmtpServer
) -> None:
    it = await open_substitute_fixture(notice_databases, any_of(user(DARA)))
    await it.approvals.ask()

    (sent,) = await notice_fixture(it.approvals.estate, smtp_server).work()

    assert sent.message["Reply-To"] is None
    assert CODE.findall(sent.part("plain")) == []


async def test_only_mails_that_ask_take_replies(notice_databases: Databases, smtp_server: FakeSmtpServer) -> None:
    it = await open_substitute_fixture(notice_databases, any_of(user(DARA)))
    notices = notices_with_replies(it, smtp_server)
    request_id = await it.approvals.ask()
    await notices.work()
    await it.approvals.approve(request_id, DARA)

    (sent,) = await notices.work()

    assert sent.to == "ada@estate.example"
    assert sent.message["Reply-To"] is None
    assert CODE.findall(sent.part("plain")) == []


async def test_a_new_substitute_gets_one_mail(notice_databases: Databases, smtp_server: FakeSmtpServer) -> None:
    it = await open_substitute_fixture(notice_databases, all_of(user(DARA), user(CLEO)))
    notices = notices_with_replies(it, smtp_server)
    request_id = await it.approvals.ask()
    await notices.work()
    await it.name(DARA, BEN)
    await it.approvals.look()

    sent = await notices.work()

    assert recipients(sent) == ["ben@estate.example"]
    assert "Dara Lindqvist" in sent[0].part("plain")
    (code,) = CODE.findall(sent[0].part("plain"))
    assert reply_tokens().read(code, ESTATE) == Asking(ESTATE, request_id, 1, BEN)
    for _ in range(2):
        await it.approvals.look_again()
    assert await notices.work() == []


async def test_a_second_substitute_does_not_repeat_the_mail_of_the_first(
    notice_databases: Databases, smtp_server: FakeSmtpServer
) -> None:
    it = await open_substitute_fixture(notice_databases, all_of(user(DARA), user(CLEO)))
    notices = notices_with_replies(it, smtp_server)
    await it.approvals.ask()
    await it.name(DARA, BEN)
    await it.approvals.look()
    await notices.work()

    await it.name(CLEO, UserId(UUID("e1100000-0000-4000-8000-000000000005")))
    await it.approvals.look()

    assert recipients(await notices.work()) == ["eli@estate.example"]


async def test_the_requester_reads_who_decided_for_whom(
    notice_databases: Databases, smtp_server: FakeSmtpServer
) -> None:
    it = await open_substitute_fixture(notice_databases, any_of(user(DARA)))
    notices = notices_with_replies(it, smtp_server)
    request_id = await it.approvals.ask()
    await it.name(DARA, BEN)
    await it.approvals.look()
    await notices.work()
    await it.approvals.reject(request_id, BEN, act(comment="No room."))

    (sent,) = await notices.work()

    assert "Ben Okafor for Dara Lindqvist" in sent.part("plain")
    assert "> No room." in sent.part("plain")


async def test_a_decision_for_another_is_named_without_a_comment_too(
    notice_databases: Databases, smtp_server: FakeSmtpServer
) -> None:
    it = await open_substitute_fixture(notice_databases, any_of(user(DARA)))
    notices = notices_with_replies(it, smtp_server)
    await notices.change(SPEAKS, UUID("ada00000-0000-4000-8000-000000000001"), "de-CH")
    request_id = await it.approvals.ask()
    await it.name(DARA, BEN)
    await it.approvals.look()
    await notices.work()
    await it.approvals.approve(request_id, BEN)

    (sent,) = await notices.work()

    assert "Ben Okafor in Vertretung von Dara Lindqvist" in sent.part("plain")


@pytest.mark.parametrize(
    ("days", "before"),
    [(14, timedelta(days=1)), (4, timedelta(days=1)), (2, timedelta(hours=12)), (1, timedelta(hours=6))],
)
async def test_it_reminds_once_before_the_deadline(
    notice_databases: Databases, smtp_server: FakeSmtpServer, days: int, before: timedelta
) -> None:
    it = await open_substitute_fixture(notice_databases, all_of(user(DARA), user(CLEO)), days=days)
    notices = notices_with_replies(it, smtp_server)
    request_id = await it.approvals.ask()
    await it.approvals.look()
    await notices.work()
    await it.approvals.wait_for(timedelta(days=days) - before - timedelta(seconds=1))
    await it.approvals.look_again()
    assert await notices.work() == []

    await it.approvals.wait_for(timedelta(seconds=1))
    await it.approvals.look()

    sent = await notices.work()
    assert recipients(sent) == ["cleo@estate.example", "dara@estate.example"]
    assert sent[0].message["Subject"] == 'Reminder: your approval is needed: group "Apollo"'
    await it.approvals.wait_for(timedelta(hours=1))
    await it.approvals.look_again()
    assert await notices.work() == []
    assert await it.approvals.told(request_id) == ["pendingApproval"]


async def test_it_reminds_those_who_have_not_decided_and_their_substitutes(
    notice_databases: Databases, smtp_server: FakeSmtpServer
) -> None:
    it = await open_substitute_fixture(notice_databases, all_of(user(DARA), user(CLEO)), days=14)
    notices = notices_with_replies(it, smtp_server)
    request_id = await it.approvals.ask()
    await it.name(DARA, BEN)
    await it.approvals.look()
    await it.approvals.approve(request_id, CLEO)
    await notices.work()
    await it.approvals.wait_for(timedelta(days=13))

    await it.approvals.look_again()

    assert recipients(await notices.work()) == ["ben@estate.example", "dara@estate.example"]


async def test_a_level_without_a_deadline_has_no_reminder(
    notice_databases: Databases, smtp_server: FakeSmtpServer
) -> None:
    it = await open_substitute_fixture(notice_databases, any_of(user(DARA)))
    notices = notices_with_replies(it, smtp_server)
    await it.approvals.ask()
    await notices.work()
    await it.approvals.wait_for(timedelta(days=400))

    await it.approvals.look_again()

    assert await notices.work() == []


async def test_each_level_has_a_reminder(notice_databases: Databases, smtp_server: FakeSmtpServer) -> None:
    it = await open_substitute_fixture(notice_databases, any_of(user(DARA)), any_of(user(CLEO)), days=2)
    notices = notices_with_replies(it, smtp_server)
    request_id = await it.approvals.ask()
    await it.approvals.wait_for(timedelta(hours=40))
    await it.approvals.look_again()
    await it.approvals.approve(request_id, DARA)
    await it.approvals.look_again()
    await notices.work()
    await it.approvals.wait_for(timedelta(hours=36))

    await it.approvals.look_again()

    assert recipients(await notices.work()) == ["cleo@estate.example"]
