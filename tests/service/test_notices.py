# SPDX-License-Identifier: Apache-2.0
"""A real service tells people by mail, also when it is killed in between."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from tests.fake_smtp_server import FakeSmtpServer, open_smtp_server
from tests.folders import data_folder
from tests.services import APPROVED_TEMPLATE, GROUP_TEMPLATE, Service, start_service

DARA_MAIL = "dara@estate.example"
WITHIN = 60


@pytest.fixture
async def folder() -> AsyncIterator[Path]:
    with data_folder() as path:
        yield path


@asynccontextmanager
async def running(folder: Path, smtp_server: FakeSmtpServer) -> AsyncIterator[Service]:
    """A service that knows the mail server. This loop goes on meanwhile, since the mail server is in it."""
    service = start_service(folder, environment={"CHAMBERLAIN_SMTP_URL": smtp_server.url})
    try:
        await asyncio.to_thread(service.wait_until_ready)
        yield service
    finally:
        await asyncio.to_thread(service.kill)


async def mails(smtp_server: FakeSmtpServer, number: int, service: Service) -> None:
    """Wait until there are so many."""
    try:
        async with asyncio.timeout(WITHIN):
            while len(smtp_server.received) < number:
                smtp_server.arrived.clear()
                await smtp_server.arrived.wait()
    except TimeoutError:
        pytest.fail(service.said())


@pytest.mark.heavy
async def test_it_works_and_outlasts_being_killed(folder: Path) -> None:
    async with AsyncExitStack() as stack:
        smtp_server = await stack.enter_async_context(open_smtp_server(FakeSmtpServer(holds=True)))
        async with running(folder, smtp_server) as service:
            wanted = {"displayName": "Secret", "templateId": APPROVED_TEMPLATE}
            accepted = (await asyncio.to_thread(service.post_group, wanted)).json()
            await mails(smtp_server, 1, service)
            # It answers no call now, and nothing else waits for that.
            other = {"displayName": "Orchard", "templateId": GROUP_TEMPLATE}
            made = (await asyncio.to_thread(service.post_group, other)).json()
            await asyncio.to_thread(service.wait_for_end, made["requestId"])

        # The mail server has the mail, and no record shows that.
        smtp_server.holds = False
        async with running(folder, smtp_server) as service:
            await mails(smtp_server, 2, service)
            path = f"{service.url}/requests/v1/{accepted['requestId']}/approve/"
            headers = await asyncio.to_thread(service.headers, DARA_MAIL)
            await asyncio.to_thread(lambda: httpx2.post(path, headers=headers, timeout=30))
            await mails(smtp_server, 3, service)

    first, again, approved = smtp_server.received
    assert first.to == again.to == DARA_MAIL
    assert first.sender == "chamberlain@localhost"
    assert first.message["Message-ID"] == again.message["Message-ID"]
    assert accepted["requestId"] in first.part("plain")
    assert (approved.to, approved.message["Subject"]) == ("ada@estate.example", 'Approved: team "CONF-Secret"')
