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
class House(NoticeFixture):
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


def approval_notices_of(approval_fixture: ApprovalFixture, smtp_server: FakeSmtpServer) -> House:
    notices = notice_fixture(approval_fixture.estate, smtp_server)
    return House(notices.estate, notices.smtp_server, notices.jobs, approval_fixture)


@pytest.fixture
async def place(notice_databases: Databases, smtp_server: FakeSmtpServer) -> House:
    """Two approve at the first level, one of them at the second."""
    approval_fixture = await open_approval_fixture(
        notice_databases, all_of(user(DARA), user(BEN)), any_of(user(CLEO)), days=14
    )
    return approval_notices_of(approval_fixture, smtp_server)


async def test_it_works(place: House) -> None:
    request_id = await place.approval_fixture.ask()

    sent = await place.work()

    assert sorted(each.to for each in sent) == ["ben@estate.example", "dara@estate.example"]
    content = place.smtp_server.to("dara@estate.example")
    assert content.sender == "chamberlain@estate.example"
    assert content.message["To"].addresses[0].display_name == "Dara Lindqvist"
    assert content.message["Subject"] == 'Your approval is needed: group "Apollo"'
    assert "Ada Achterberg requested the" in content.part("plain")
    assert "This is level 1 of 2. All approvers must approve it" in content.part("plain")
    assert LINK.format(request_id) in content.part("plain")
    assert f'<a href="{LINK.format(request_id)}">' in content.part("html")
    assert "Example Estate" in content.part("plain")
    assert await place.left() == (0, 0)


async def test_it_works_for_the_next_level_and_the_approval_of_the_last(place: House) -> None:
    request_id = await place.approval_fixture.ask()
    await place.work()
    await place.approval_fixture.approve(request_id, DARA)
    await place.approval_fixture.approve(request_id, BEN)
    await place.approval_fixture.look()

    assert [each.to for each in await place.work()] == ["cleo@estate.example"]

    await place.approval_fixture.approve(request_id, CLEO, act(comment="Have fun.\nAnd <b>tidy up</b>."))
    (content,) = await place.work()

    assert content.to == "ada@estate.example"
    assert content.message["Subject"] == 'Approved: group "Apollo"'
    assert "Cleo Marchetti wrote:" in content.part("plain")
    assert "> And <b>tidy up</b>." in content.part("plain")
    assert "&lt;b&gt;tidy up&lt;/b&gt;" in content.part("html")
    assert await place.left() == (0, 0)


async def test_it_works_for_a_rejection(place: House) -> None:
    request_id = await place.approval_fixture.ask()
    await place.work()

    await place.approval_fixture.reject(request_id, BEN, act(comment="No."))
    (content,) = await place.work()

    assert (content.to, content.message["Subject"]) == ("ada@estate.example", 'Rejected: group "Apollo"')
    assert "Ben Okafor wrote:\n\n> No." in content.part("plain").replace("\r", "")


async def test_it_works_for_what_nobody_has_decided_on_in_time(place: House) -> None:
    await place.approval_fixture.ask()
    await place.work()

    await place.wait(timedelta(days=15))
    await place.approval_fixture.look_again()
    (content,) = await place.work()

    assert (content.to, content.message["Subject"]) == ("ada@estate.example", 'Expired: group "Apollo"')


async def test_it_works_for_a_failure(place: House) -> None:
    await place.fail()

    (content,) = await place.work()

    assert (content.to, content.message["Subject"]) == ("ada@estate.example", 'Failed: team "Apollo"')
    assert "> The suite has no room for <more> groups." in content.part("plain")
    assert "The suite has no room for &lt;more&gt; groups." in content.part("html")


async def test_it_works_for_approvers_whom_an_administrator_has_named(
    notice_databases: Databases, smtp_server: FakeSmtpServer
) -> None:
    gone = UUID("0000dead-0000-4000-8000-000000000000")
    place = approval_notices_of(await open_approval_fixture(notice_databases, any_of(group(gone))), smtp_server)
    request_id = await place.approval_fixture.ask()
    assert await place.work() == []

    await place.approval_fixture.name_approvers(request_id, administrator(ADA), DARA)

    assert [each.to for each in await place.work()] == ["dara@estate.example"]


async def test_it_tells_those_who_were_named_once_after_the_mail_server_was_away(
    notice_databases: Databases, smtp_server: FakeSmtpServer
) -> None:
    gone = UUID("0000dead-0000-4000-8000-000000000000")
    place = approval_notices_of(await open_approval_fixture(notice_databases, any_of(group(gone))), smtp_server)
    request_id = await place.approval_fixture.ask()
    await place.approval_fixture.name_approvers(request_id, administrator(ADA), DARA)

    assert [each.to for each in await place.work()] == ["dara@estate.example"]


async def test_it_works_in_the_language_of_each(place: House) -> None:
    await place.change(SPEAKS, DARA, "de-CH")
    await place.change(SPEAKS, BEN, "fr-FR")
    await place.approval_fixture.ask()

    await place.work()

    german, english = place.smtp_server.to("dara@estate.example"), place.smtp_server.to("ben@estate.example")
    assert german.message["Subject"] == "Ihre Genehmigung ist gefragt: Gruppe „Apollo“"
    assert "Ein Antrag von Ada Achterberg wartet auf Genehmigung" in german.part("plain")
    assert '<html lang="de">' in german.part("html")
    assert english.message["Subject"] == 'Your approval is needed: group "Apollo"'


async def test_it_handles_a_name_as_data(place: House) -> None:
    hostile = "</title><script>alert('x')</script> {requester} =?utf-8?q?x?= \u202eevil"
    request_id = await place.approval_fixture.ask(name=hostile)

    await place.work()

    content = place.smtp_server.to("dara@estate.example")
    assert content.message["Subject"].startswith('Your approval is needed: group "</title><script>')
    assert "<script" not in content.part("html")
    assert "{requester}" in content.part("plain")
    assert "\u202e" not in content.part("plain") + content.part("html") + content.message["Subject"]
    assert (await place.estate.record(request_id)).display_name == hostile


async def test_it_tells_everybody_but_who_is_refused(place: House, caplog: pytest.LogCaptureFixture) -> None:
    place.smtp_server.refusals["ben@estate.example"] = "550 5.1.1 no such user"
    await place.approval_fixture.ask()

    with caplog.at_level(logging.WARNING):
        sent = await place.work()

    assert [each.to for each in sent] == ["dara@estate.example"]
    assert await place.left() == (0, 0)
    (line,) = [each for each in caplog.records if each.name == "chamberlain.notifications.jobs"]
    assert line.levelname == "WARNING"
    assert vars(line)["userId"] == str(BEN)
    assert "550 5.1.1" in vars(line)["reason"]


async def test_it_tries_again_for_whom_the_server_puts_off(place: House) -> None:
    place.smtp_server.refusals["ben@estate.example"] = "450 4.2.0 come back later"
    await place.approval_fixture.ask()
    assert [each.to for each in await place.work()] == ["dara@estate.example"]
    assert await place.left() == (1, 1)

    del place.smtp_server.refusals["ben@estate.example"]
    assert await place.work() == []
    await place.wait(timedelta(seconds=10))

    assert [each.to for each in await place.work()] == ["ben@estate.example"]
    assert await place.left() == (0, 0)


async def test_it_tells_the_others_where_the_server_hangs_up_at_one(place: House) -> None:
    place.smtp_server.refusals = {"dara@estate.example": "421 4.7.0 not now"}
    await place.approval_fixture.ask()

    assert await place.work() == []
    await place.wait(timedelta(seconds=10))

    assert [each.to for each in await place.work()] == ["ben@estate.example"]
    assert await place.left() == (1, 1)


async def test_it_handles_a_server_that_is_away_for_a_while(notice_databases: Databases) -> None:
    with socket.socket() as reserved:
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.bind(("127.0.0.1", 0))
        smtp_server = FakeSmtpServer(port=reserved.getsockname()[1])
        place = approval_notices_of(await open_approval_fixture(notice_databases, any_of(user(DARA))), smtp_server)
        await place.approval_fixture.ask()
        for wait in (10, 30, 120):
            assert await place.work() == []
            assert await place.left() == (1, 1)
            await place.wait(timedelta(seconds=wait - 1))
            assert (await place.claim()).jobs == ()
            await place.wait(timedelta(seconds=1))

    async with open_smtp_server(smtp_server):
        (content,) = await place.work()

    assert content.to == "dara@estate.example"
    assert await place.left() == (0, 0)


async def test_it_gives_up_after_days_with_a_line(
    notice_databases: Databases, caplog: pytest.LogCaptureFixture
) -> None:
    place = approval_notices_of(
        await open_approval_fixture(notice_databases, any_of(user(DARA))), FakeSmtpServer(port=1)
    )
    await place.fail()
    await place.work()
    assert await place.left() == (1, 1)

    await place.wait(GIVE_UP_AFTER)
    with caplog.at_level(logging.ERROR):
        await place.work()

    assert await place.left() == (0, 0)
    assert [each.name for each in caplog.records if each.levelno == logging.ERROR] == ["chamberlain.notifications.jobs"]


async def test_it_sends_again_under_the_same_id_when_the_worker_is_killed(place: House) -> None:
    await place.fail()
    place.smtp_server.holds = True
    killed = asyncio.create_task(place.work())
    async with asyncio.timeout(10):
        await place.smtp_server.arrived.wait()
    killed.cancel()
    with suppress(asyncio.CancelledError):
        await killed
    place.smtp_server.holds = False
    assert (await place.claim()).jobs == ()

    await place.wait(LEASE + timedelta(seconds=1))
    await place.work()

    first, second = place.smtp_server.received
    assert first.message["Message-ID"] == second.message["Message-ID"]
    assert first.part("plain") == second.part("plain")
    assert await place.left() == (0, 0)


async def test_it_handles_a_directory_that_does_not_answer(place: House) -> None:
    await place.fail()
    place.estate.people.error = TryAgain(timedelta(seconds=1), "Not now.")
    assert await place.work() == []

    place.estate.people.error = None
    await place.wait(timedelta(seconds=10))

    assert [each.to for each in await place.work()] == ["ada@estate.example"]


@pytest.mark.parametrize("mail", [None, "no address", "x@y.example\r\nBcc: eve@evil.example"])
async def test_it_passes_by_who_has_no_address(place: House, mail: str | None) -> None:
    await place.change(HAS_MAIL, BEN, mail)
    await place.approval_fixture.ask()

    assert [each.to for each in await place.work()] == ["dara@estate.example"]
    assert await place.left() == (0, 0)


async def test_it_passes_by_who_has_left(place: House) -> None:
    await place.approval_fixture.ask()
    await place.approval_fixture.leave(BEN)

    assert [each.to for each in await place.work()] == ["dara@estate.example"]
    assert await place.left() == (0, 0)


async def test_it_tells_nobody_what_is_not_so_any_more(place: House) -> None:
    asked = await place.approval_fixture.ask()
    failed = await place.fail("Gemini")
    await place.approval_fixture.approve(asked, DARA)
    await place.approval_fixture.reject(asked, BEN)
    await retry(place.estate, failed, caller_of(ADA))

    sent = await place.work()

    assert [(each.to, each.message["Subject"]) for each in sent] == [("ada@estate.example", 'Rejected: group "Apollo"')]
    assert await place.left() == (0, 0)


async def test_it_waits_where_there_is_no_server_any_more(place: House) -> None:
    await place.fail()
    without = replace(place, jobs=replace(place.jobs, server=None))

    assert await without.work() == []
    assert await place.left() == (1, 1)
    await place.wait(timedelta(seconds=10))

    assert len(await place.work()) == 1


async def test_it_works_for_a_large_group(notice_databases: Databases, smtp_server: FakeSmtpServer) -> None:
    users = [UserId(UUID(int=0xBEEF0000 << 96 | number)) for number in range(55)]
    place = approval_notices_of(await open_approval_fixture(notice_databases, any_of(group(ALL_STAFF))), smtp_server)
    await place.change(MANY, ESTATE, users, ALL_STAFF)
    place.smtp_server.refusals = {f"user{number}@estate.example": "550 no" for number in (3, 30)}
    await place.approval_fixture.ask()

    sent = await place.work()

    # Everybody but who asks and the two who are refused; of All staff, Ben, Cleo, Dara, Eli and the guest.
    assert len(sent) == len({each.to for each in sent}) == 55 - 2 + 5
    assert await place.left() == (0, 0)


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
