# SPDX-License-Identifier: Apache-2.0
"""The link of each kind of mail about a request opens for its recipient, after the sign-in."""

import asyncio
import json
import re
import ssl
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event

import httpx2
import pytest

from chamberlain.notifications.models import NoticeKind
from chamberlain.notifications.texts import Language, texts_for
from tests.console.approval_requests import BEN_MAIL, DARA, DARA_MAIL, ask, template
from tests.console.conftest import ConsoleFixture
from tests.fake_smtp_server import FakeSmtpServer, Received, open_smtp_server
from tests.postgres import connected
from tests.services import ADA_MAIL, BEN, restarted_service, wait_until

pytestmark = pytest.mark.heavy
WITHIN = 30
# The mail of each kind, by recipients and the page that it opens.
OPENED = {
    NoticeKind.APPROVAL_REQUIRED: ({DARA_MAIL}, "review"),
    NoticeKind.SUBSTITUTE_REQUIRED: ({BEN_MAIL}, "review"),
    NoticeKind.APPROVAL_REMINDER: ({DARA_MAIL, BEN_MAIL}, "review"),
    NoticeKind.APPROVED: ({ADA_MAIL}, "request"),
    NoticeKind.REJECTED: ({ADA_MAIL}, "request"),
    NoticeKind.EXPIRED: ({ADA_MAIL}, "request"),
    NoticeKind.FAILED: ({ADA_MAIL}, "request"),
}


@contextmanager
def running_smtp_server() -> Iterator[FakeSmtpServer]:
    """A mail server in a thread of its own."""
    ready, over, smtp_server = Event(), Event(), FakeSmtpServer()

    async def serve() -> None:
        async with open_smtp_server(smtp_server):
            ready.set()
            await asyncio.to_thread(over.wait)

    with ThreadPoolExecutor(1) as thread:
        served = thread.submit(asyncio.run, serve())
        assert ready.wait(WITHIN)
        try:
            yield smtp_server
        finally:
            over.set()
            served.result()


def test_it_works() -> None:
    assert set(OPENED) == set(NoticeKind)
    with running_smtp_server() as smtp_server:
        environment = {"CHAMBERLAIN_SMTP_URL": smtp_server.url}
        with restarted_service(environment=environment) as service:
            passwords = json.loads((service.data_dir / "example-users.json").read_text())
            trusting = ssl.create_default_context(cafile=service.data_dir / "ca.pem")
            with httpx2.Client(verify=trusting, timeout=30, trust_env=False) as http:
                console = ConsoleFixture(service, passwords, http)
                for kind, request_id in cause_mails(console).items():
                    open_links(console, smtp_server, kind, request_id)


def cause_mails(console: ConsoleFixture) -> dict[NoticeKind, str]:
    """Cause a mail of each kind. Returns the request of each."""
    asked = template(console, [DARA])
    waiting, approved, rejected, expired, failed = [ask(console, asked) for _ in range(5)]
    decide(console, approved, "approve")
    decide(console, rejected, "reject")
    console.http.put(
        f"{console.service.url}/me/v1/substitute/",
        json={"userId": BEN, "days": 5},
        headers=console.service.headers(DARA_MAIL),
    ).raise_for_status()
    change(console, DEADLINE, waiting, "1 hour")
    change(console, DEADLINE, expired, "-1 hour")
    change(console, FAIL, failed)
    return {
        NoticeKind.APPROVAL_REQUIRED: waiting,
        NoticeKind.SUBSTITUTE_REQUIRED: waiting,
        NoticeKind.APPROVAL_REMINDER: waiting,
        NoticeKind.APPROVED: approved,
        NoticeKind.REJECTED: rejected,
        NoticeKind.EXPIRED: expired,
        NoticeKind.FAILED: failed,
    }


def open_links(console: ConsoleFixture, smtp_server: FakeSmtpServer, kind: NoticeKind, request_id: str) -> None:
    """Follow the links of the mails of a kind, as their recipients."""
    recipients, page_name = OPENED[kind]
    paths = {"review": f"approvals/{request_id}", "request": f"requests/{request_id}"}
    mails = wait_until(lambda: mails_of(smtp_server, kind, request_id, recipients), WITHIN, console.service.said)
    for mail in mails:
        (link,) = re.findall(r"https?://\S+", mail.part("plain"))
        assert link == f"{console.url}{paths[page_name]}"
        assert f'href="{link}"' in mail.part("html")

        page = console.browser().sign_in(link, mail.to, console.passwords[mail.to])

        assert (page.status, page.name, page.url) == (200, page_name, link), (kind, mail.to)


def mails_of(smtp_server: FakeSmtpServer, kind: NoticeKind, request_id: str, recipients: set[str]) -> list[Received]:
    """The mails of a kind about a request, as soon as all recipients have one."""
    subject = texts_for(Language.ENGLISH).subjects[kind].partition("{")[0]
    found = [
        each
        for each in list(smtp_server.received)
        if str(each.message["Subject"]).startswith(subject) and request_id in each.part("plain")
    ]
    return found if {each.to for each in found} == recipients else []


def decide(console: ConsoleFixture, request_id: str, action: str) -> None:
    console.http.post(
        f"{console.service.url}/requests/v1/{request_id}/{action}/",
        json={"comment": "As agreed."},
        headers=console.service.headers(DARA_MAIL),
    ).raise_for_status()


def change(console: ConsoleFixture, statements: tuple[str, ...], request_id: str, *values: str) -> None:
    """Change a request, as time or a worker does."""

    async def execute() -> None:
        async with connected(console.service.embedded_addresses.worker) as connection:
            for statement in statements:
                number = statement.count("$")
                await connection.execute(statement, *(request_id, *values)[:number])

    asyncio.run(execute())


DEADLINE = (
    """
    UPDATE chamberlain.request SET approvals =
        jsonb_set(approvals::jsonb, '{0,deadline}', to_jsonb(now() + $2::text::interval))::json
    WHERE request_id = $1::text::uuid
    """,
    "UPDATE chamberlain.job SET run_at = now() WHERE kind = 'approvalAttend' AND subject = $1::text::uuid",
)
FAIL = (
    """
    UPDATE chamberlain.request SET state = 'failed', finished_at = now(),
        error = '{"step": "createGroup", "code": "nameRefused", "detail": "The directory refused the name."}'
    WHERE request_id = $1::text::uuid
    """,
    """
    SELECT chamberlain.queue_notice(tenant_id, gen_random_uuid(), 'failed', request_id, NULL, now())
    FROM chamberlain.request WHERE request_id = $1::text::uuid
    """,
)
