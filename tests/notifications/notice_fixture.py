# SPDX-License-Identifier: Apache-2.0
"""Processes that send notices to a real mail server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from chamberlain.database.transactions import open_database
from chamberlain.notifications.jobs import NoticeJobs
from chamberlain.notifications.mail_server import MailServer, Sender, parse_smtp_url
from chamberlain.queue.models import Claim, JobKind
from tests.databases import Databases
from tests.estates import Estate
from tests.fake_smtp_server import FakeSmtpServer, Received

SENDER = Sender("Chamberlain", "chamberlain@estate.example")
LINK = "https://portal.estate.example/requests/{}"
CONFIRM = "https://api.estate.example/admin/v1/findings/ID/confirm/"
SPEAKS = """
UPDATE directory.users SET properties = properties || jsonb_build_object('preferredLanguage', $2::text) WHERE id = $1
"""
HAS_MAIL = "UPDATE directory.users SET mail = $2 WHERE id = $1"


@dataclass
class NoticeFixture:
    """A worker that sends notices, and where they arrive."""

    estate: Estate
    smtp_server: FakeSmtpServer
    jobs: NoticeJobs

    async def claim(self) -> Claim:
        """Lease the notices that are due, as a worker does."""
        return await self.estate.claim_lanes(JobKind.NOTICE_SEND)

    async def work(self) -> list[Received]:
        """Send due notices once, and return the received ones."""
        before = len(self.smtp_server.received)
        await self.jobs.send(await self.claim())
        return self.smtp_server.received[before:]

    async def change(self, statement: str, *values: object) -> None:
        """Do something behind everybody's back."""
        async with self.estate.databases.worker.across_tenants() as tx:
            await tx.execute(statement, *values)

    async def let_pass(self, span: timedelta) -> None:
        """Let time pass for jobs and their leases."""
        await self.change(
            "UPDATE chamberlain.job SET run_at = run_at - $1::interval, lease_until = lease_until - $1::interval", span
        )

    async def left(self) -> tuple[int, int]:
        """How many notices and jobs for them there are."""
        notices = await self.estate.rows("SELECT FROM chamberlain.notice")
        return len(notices), len(await self.estate.rows("SELECT FROM chamberlain.job WHERE kind = 'noticeSend'"))


def notice_fixture(estate: Estate, smtp_server: FakeSmtpServer) -> NoticeFixture:
    """The parts of one process."""
    server = MailServer(parse_smtp_url(smtp_server.url), SENDER)
    jobs = NoticeJobs(
        estate.databases.worker,
        estate.people,
        server,
        lambda _tenant, request: LINK.format(request),
        CONFIRM,
        estate.read_time,
    )
    return NoticeFixture(estate, smtp_server, jobs)


@asynccontextmanager
async def open_databases_with_notices(databases: Databases) -> AsyncIterator[Databases]:
    """The same database, for processes that tell people by mail."""
    addresses = databases.addresses
    application = await open_database(addresses.application, most=4, name="test application", notices=True)
    worker = await open_database(addresses.worker, most=4, name="test worker", notices=True)
    try:
        yield Databases(addresses, application, worker)
    finally:
        await application.close()
        await worker.close()
