# SPDX-License-Identifier: Apache-2.0
"""Notices by mail: each kind, in both languages, with every fault of the mail server."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import UUID

import pytest

from chamberlain.core.errors import Rejected, TryAgain
from chamberlain.core.ids import RequestId, UserId
from chamberlain.notifications.rules import GIVE_UP_AFTER
from tests.databases import Databases
from tests.estates import ADA, BEN, CLEO, DARA, ESTATE, LEASE, PROJECT_TEAM, caller_of
from tests.fake_smtp_server import FakeSmtpServer, open_smtp_server
from tests.notifications.notice_fixture import (
    HAS_MAIL,
    LINK,
    SPEAKS,
    NoticeFixture,
    notice_fixture,
    open_databases_with_notices,
)
from tests.requests.approval_fixture import (
    ALL_STAFF,
    ApprovalFixture,
    all_of,
    any_of,
    group,
    open_approval_fixture,
    user,
)
from tests.requests.request_services import act, administrator, retry


@dataclass
class ApprovalNotices(NoticeFixture):
    """An estate with approvals and notices by mail."""

    approval_fixture: ApprovalFixture

    async def wait(self, span: timedelta) -> None:
        """Let time pass, and leases with it."""
        self.estate.moment += span
        await self.let_pass(span)

    async def fail(self, name: str = "Apollo") -> RequestId:
        """A request that the directory has refused."""
        self.estate.directory.faults[name] = Rejected("quotaExceeded", "The suite has no room for <more> groups.")
        accepted = await self.estate.request(name, templateId=str(PROJECT_TEAM))
        await self.estate.work()
        return accepted.request_id


@pytest.fixture
async def notice_databases(databases: Databases) -> AsyncIterator[Databases]:
    async with open_databases_with_notices(databases) as notice_databases:
        yield notice_databases


@pytest.fixture
async def smtp_server() -> AsyncIterator[FakeSmtpServer]:
    async with open_smtp_server(FakeSmtpServer()) as smtp_server:
        yield smtp_server


def approval_notices_of(approval_fixture: ApprovalFixture, smtp_server: FakeSmtpServer) -> ApprovalNotices:
    notices = notice_fixture(approval_fixture.estate, smtp_server)
    return ApprovalNotices(notices.estate, notices.smtp_server, notices.jobs, approval_fixture)


@pytest.fixture
async def approval_notices(notice_databases: Databases, smtp_server: FakeSmtpServer) -> ApprovalNotices:
    """Two approve at the first level, one of them at the second."""
    approval_fixture = await open_approval_fixture(
        notice_databases, all_of(user(DARA), user(BEN)), any_of(user(CLEO)), days=14
    )
    return approval_notices_of(approval_fixture, smtp_server)


async def test_it_works(approval_notices: ApprovalNotices) -> None:
    request_id = await approval_notices.approval_fixture.ask()

    sent = await approval_notices.work()

    assert sorted(each.to for each in sent) == ["ben@estate.example", "dara@estate.example"]
    content = approval_notices.smtp_server.to("dara@estate.example")
    assert content.sender == "chamberlain@estate.example"
    assert content.message["To"].addresses[0].display_name == "Dara Lindqvist"
    assert content.message["Subject"] == 'Your approval is needed: group "Apollo"'
    assert "Ada Achterberg requested the" in content.part("plain")
    assert "This is level 1 of 2. All approvers must approve it" in content.part("plain")
    assert LINK.format(request_id) in content.part("plain")
    assert f'<a href="{LINK.format(request_id)}">' in content.part("html")
    assert "Example Estate" in content.part("plain")
    assert await approval_notices.left() == (0, 0)


async def test_it_works_for_the_next_level_and_the_approval_of_the_last(approval_notices: ApprovalNotices) -> None:
    request_id = await approval_notices.approval_fixture.ask()
    await approval_notices.work()
    await approval_notices.approval_fixture.approve(request_id, DARA)
    await approval_notices.approval_fixture.approve(request_id, BEN)
    await approval_notices.approval_fixture.look()

    assert [each.to for each in await approval_notices.work()] == ["cleo@estate.example"]

    await approval_notices.approval_fixture.approve(request_id, CLEO, act(comment="Have fun.\nAnd <b>tidy up</b>."))
    (content,) = await approval_notices.work()

    assert content.to == "ada@estate.example"
    assert content.message["Subject"] == 'Approved: group "Apollo"'
    assert "Cleo Marchetti wrote:" in content.part("plain")
    assert "> And <b>tidy up</b>." in content.part("plain")
    assert "&lt;b&gt;tidy up&lt;/b&gt;" in content.part("html")
    assert await approval_notices.left() == (0, 0)


async def test_it_works_for_a_rejection(approval_notices: ApprovalNotices) -> None:
    request_id = await approval_notices.approval_fixture.ask()
    await approval_notices.work()

    await approval_notices.approval_fixture.reject(request_id, BEN, act(comment="No."))
    (content,) = await approval_notices.work()

    assert (content.to, content.message["Subject"]) == ("ada@estate.example", 'Rejected: group "Apollo"')
    assert "Ben Okafor wrote:\n\n> No." in content.part("plain").replace("\r", "")


async def test_it_works_for_what_nobody_has_decided_on_in_time(approval_notices: ApprovalNotices) -> None:
    await approval_notices.approval_fixture.ask()
    await approval_notices.work()

    await approval_notices.wait(timedelta(days=15))
    await approval_notices.approval_fixture.look_again()
    (content,) = await approval_notices.work()

    assert (content.to, content.message["Subject"]) == ("ada@estate.example", 'Expired: group "Apollo"')


async def test_it_works_for_a_failure(approval_notices: ApprovalNotices) -> None:
    await approval_notices.fail()

    (content,) = await approval_notices.work()

    assert (content.to, content.message["Subject"]) == ("ada@estate.example", 'Failed: team "Apollo"')
    assert "> The suite has no room for <more> groups." in content.part("plain")
    assert "The suite has no room for &lt;more&gt; groups." in content.part("html")


async def test_it_works_for_approvers_whom_an_administrator_has_named(
    notice_databases: Databases, smtp_server: FakeSmtpServer
) -> None:
    gone = UUID("0000dead-0000-4000-8000-000000000000")
    approval_notices = approval_notices_of(
        await open_approval_fixture(notice_databases, any_of(group(gone))), smtp_server
    )
    request_id = await approval_notices.approval_fixture.ask()
    assert await approval_notices.work() == []

    await approval_notices.approval_fixture.name_approvers(request_id, administrator(ADA), DARA)

    assert [each.to for each in await approval_notices.work()] == ["dara@estate.example"]


async def test_it_tells_those_who_were_named_once_after_the_mail_server_was_away(
    notice_databases: Databases, smtp_server: FakeSmtpServer
) -> None:
    gone = UUID("0000dead-0000-4000-8000-000000000000")
    approval_notices = approval_notices_of(
        await open_approval_fixture(notice_databases, any_of(group(gone))), smtp_server
    )
    request_id = await approval_notices.approval_fixture.ask()
    await approval_notices.approval_fixture.name_approvers(request_id, administrator(ADA), DARA)

    assert [each.to for each in await approval_notices.work()] == ["dara@estate.example"]


async def test_it_works_in_the_language_of_each(approval_notices: ApprovalNotices) -> None:
    await approval_notices.change(SPEAKS, DARA, "de-CH")
    await approval_notices.change(SPEAKS, BEN, "fr-FR")
    await approval_notices.approval_fixture.ask()

    await approval_notices.work()

    german, english = (
        approval_notices.smtp_server.to("dara@estate.example"),
        approval_notices.smtp_server.to("ben@estate.example"),
    )
    assert german.message["Subject"] == "Ihre Genehmigung ist gefragt: Gruppe „Apollo“"
    assert "Eine Anfrage von Ada Achterberg wartet auf Genehmigung" in german.part("plain")
    assert '<html lang="de">' in german.part("html")
    assert english.message["Subject"] == 'Your approval is needed: group "Apollo"'


async def test_it_handles_a_name_as_data(approval_notices: ApprovalNotices) -> None:
    hostile = "</title><script>alert('x')</script> {requester} =?utf-8?q?x?= \u202eevil"
    request_id = await approval_notices.approval_fixture.ask(name=hostile)

    await approval_notices.work()

    content = approval_notices.smtp_server.to("dara@estate.example")
    assert content.message["Subject"].startswith('Your approval is needed: group "</title><script>')
    assert "<script" not in content.part("html")
    assert "{requester}" in content.part("plain")
    assert "\u202e" not in content.part("plain") + content.part("html") + content.message["Subject"]
    assert (await approval_notices.estate.record(request_id)).display_name == hostile


async def test_it_tells_everybody_but_who_is_refused(
    approval_notices: ApprovalNotices, caplog: pytest.LogCaptureFixture
) -> None:
    approval_notices.smtp_server.refusals["ben@estate.example"] = "550 5.1.1 no such user"
    await approval_notices.approval_fixture.ask()

    with caplog.at_level(logging.WARNING):
        sent = await approval_notices.work()

    assert [each.to for each in sent] == ["dara@estate.example"]
    assert await approval_notices.left() == (0, 0)
    (line,) = [each for each in caplog.records if each.name == "chamberlain.notifications.jobs"]
    assert line.levelname == "WARNING"
    assert vars(line)["userId"] == str(BEN)
    assert "550 5.1.1" in vars(line)["reason"]


async def test_it_tries_again_for_whom_the_server_puts_off(approval_notices: ApprovalNotices) -> None:
    approval_notices.smtp_server.refusals["ben@estate.example"] = "450 4.2.0 come back later"
    await approval_notices.approval_fixture.ask()
    assert [each.to for each in await approval_notices.work()] == ["dara@estate.example"]
    assert await approval_notices.left() == (1, 1)

    del approval_notices.smtp_server.refusals["ben@estate.example"]
    assert await approval_notices.work() == []
    await approval_notices.wait(timedelta(seconds=10))

    assert [each.to for each in await approval_notices.work()] == ["ben@estate.example"]
    assert await approval_notices.left() == (0, 0)


async def test_it_tells_the_others_where_the_server_hangs_up_at_one(approval_notices: ApprovalNotices) -> None:
    approval_notices.smtp_server.refusals = {"dara@estate.example": "421 4.7.0 not now"}
    await approval_notices.approval_fixture.ask()

    assert await approval_notices.work() == []
    await approval_notices.wait(timedelta(seconds=10))

    assert [each.to for each in await approval_notices.work()] == ["ben@estate.example"]
    assert await approval_notices.left() == (1, 1)


async def test_it_handles_a_server_that_is_away_for_a_while(notice_databases: Databases) -> None:
    with socket.socket() as reserved:
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.bind(("127.0.0.1", 0))
        smtp_server = FakeSmtpServer(port=reserved.getsockname()[1])
        approval_notices = approval_notices_of(
            await open_approval_fixture(notice_databases, any_of(user(DARA))), smtp_server
        )
        await approval_notices.approval_fixture.ask()
        for wait in (10, 30, 120):
            assert await approval_notices.work() == []
            assert await approval_notices.left() == (1, 1)
            await approval_notices.wait(timedelta(seconds=wait - 1))
            assert (await approval_notices.claim()).jobs == ()
            await approval_notices.wait(timedelta(seconds=1))

    async with open_smtp_server(smtp_server):
        (content,) = await approval_notices.work()

    assert content.to == "dara@estate.example"
    assert await approval_notices.left() == (0, 0)


async def test_it_gives_up_after_days_with_a_line(
    notice_databases: Databases, caplog: pytest.LogCaptureFixture
) -> None:
    approval_notices = approval_notices_of(
        await open_approval_fixture(notice_databases, any_of(user(DARA))), FakeSmtpServer(port=1)
    )
    await approval_notices.fail()
    await approval_notices.work()
    assert await approval_notices.left() == (1, 1)

    await approval_notices.wait(GIVE_UP_AFTER)
    with caplog.at_level(logging.ERROR):
        await approval_notices.work()

    assert await approval_notices.left() == (0, 0)
    assert [each.name for each in caplog.records if each.levelno == logging.ERROR] == ["chamberlain.notifications.jobs"]


async def test_it_sends_again_under_the_same_id_when_the_worker_is_killed(approval_notices: ApprovalNotices) -> None:
    await approval_notices.fail()
    approval_notices.smtp_server.holds = True
    killed = asyncio.create_task(approval_notices.work())
    async with asyncio.timeout(10):
        await approval_notices.smtp_server.arrived.wait()
    killed.cancel()
    with suppress(asyncio.CancelledError):
        await killed
    approval_notices.smtp_server.holds = False
    assert (await approval_notices.claim()).jobs == ()

    await approval_notices.wait(LEASE + timedelta(seconds=1))
    await approval_notices.work()

    first, second = approval_notices.smtp_server.received
    assert first.message["Message-ID"] == second.message["Message-ID"]
    assert first.part("plain") == second.part("plain")
    assert await approval_notices.left() == (0, 0)


async def test_it_handles_a_directory_that_does_not_answer(approval_notices: ApprovalNotices) -> None:
    await approval_notices.fail()
    approval_notices.estate.people.error = TryAgain(timedelta(seconds=1), "Not now.")
    assert await approval_notices.work() == []

    approval_notices.estate.people.error = None
    await approval_notices.wait(timedelta(seconds=10))

    assert [each.to for each in await approval_notices.work()] == ["ada@estate.example"]


@pytest.mark.parametrize("mail", [None, "no address", "x@y.example\r\nBcc: eve@evil.example"])
async def test_it_passes_by_who_has_no_address(approval_notices: ApprovalNotices, mail: str | None) -> None:
    await approval_notices.change(HAS_MAIL, BEN, mail)
    await approval_notices.approval_fixture.ask()

    assert [each.to for each in await approval_notices.work()] == ["dara@estate.example"]
    assert await approval_notices.left() == (0, 0)


async def test_it_passes_by_who_has_left(approval_notices: ApprovalNotices) -> None:
    await approval_notices.approval_fixture.ask()
    await approval_notices.approval_fixture.leave(BEN)

    assert [each.to for each in await approval_notices.work()] == ["dara@estate.example"]
    assert await approval_notices.left() == (0, 0)


async def test_it_tells_nobody_what_is_not_so_any_more(approval_notices: ApprovalNotices) -> None:
    asked = await approval_notices.approval_fixture.ask()
    failed = await approval_notices.fail("Gemini")
    await approval_notices.approval_fixture.approve(asked, DARA)
    await approval_notices.approval_fixture.reject(asked, BEN)
    await retry(approval_notices.estate, failed, caller_of(ADA))

    sent = await approval_notices.work()

    assert [(each.to, each.message["Subject"]) for each in sent] == [("ada@estate.example", 'Rejected: group "Apollo"')]
    assert await approval_notices.left() == (0, 0)


async def test_it_waits_where_there_is_no_server_any_more(approval_notices: ApprovalNotices) -> None:
    await approval_notices.fail()
    without = replace(approval_notices, jobs=replace(approval_notices.jobs, server=None))

    assert await without.work() == []
    assert await approval_notices.left() == (1, 1)
    await approval_notices.wait(timedelta(seconds=10))

    assert len(await approval_notices.work()) == 1


async def test_it_works_for_a_large_group(notice_databases: Databases, smtp_server: FakeSmtpServer) -> None:
    users = [UserId(UUID(int=0xBEEF0000 << 96 | number)) for number in range(55)]
    approval_notices = approval_notices_of(
        await open_approval_fixture(notice_databases, any_of(group(ALL_STAFF))), smtp_server
    )
    await approval_notices.change(MANY, ESTATE, users, ALL_STAFF)
    approval_notices.smtp_server.refusals = {f"user{number}@estate.example": "550 no" for number in (3, 30)}
    await approval_notices.approval_fixture.ask()

    sent = await approval_notices.work()

    # Everybody but who asks and the two who are refused; of All staff, Ben, Cleo, Dara, Eli and the guest.
    assert len(sent) == len({each.to for each in sent}) == 55 - 2 + 5
    assert await approval_notices.left() == (0, 0)


MANY = """
WITH made AS (
    INSERT INTO directory.users SELECT (json_populate_record(u, json_build_object(
        'id', many.id, 'display_name', 'User ' || many.place, 'mail', 'user' || many.place - 1 || '@estate.example',
        'user_principal_name', 'user' || many.place || '@estate.example'
    ))).* FROM directory.users u, unnest($2::uuid[]) WITH ORDINALITY AS many (id, place)
    WHERE u.tenant_id = $1 AND u.id = 'da7a0000-0000-4000-8000-000000000004'
)
INSERT INTO directory.memberships (tenant_id, group_id, member_id, is_owner, is_member, is_group)
SELECT $1, $3, many.id, false, true, false FROM unnest($2::uuid[]) AS many (id)
"""
