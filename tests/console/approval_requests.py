# SPDX-License-Identifier: Apache-2.0
"""Requests that wait for approvers, and the inbox of an approver."""

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from uuid import uuid4

import httpx2

from tests.console.browser import Browser, Form, Page
from tests.console.conftest import ConsoleFixture
from tests.postgres import connected
from tests.services import ADA_MAIL, API

BEN_MAIL, DARA_MAIL = "ben@estate.example", "dara@estate.example"
DARA = "da7a0000-0000-4000-8000-000000000004"
CONFIG = f"{API}/admin/Config.ReadWrite.All"
WITHIN = 20
NAMES = (f"Approval {number}" for number in count(1))


def template(
    console: ConsoleFixture, *levels: Sequence[str], mode: str = "any", days: int | None = 14, **more: object
) -> str:
    """A template for groups that these users approve, one level after the other."""
    asked = [{"mode": mode, "approvers": [{"type": "user", "id": each} for each in users]} for users in levels]
    body = {
        "kind": "group",
        "name": f"Approved group {uuid4()}",
        **more,
        "approval": {"levels": asked, **({} if days is None else {"deadlineDays": days})},
    }
    answer = httpx2.post(
        f"{console.service.url}/admin/collab/v1/templates/",
        json=body,
        headers=console.service.headers(ADA_MAIL, CONFIG),
        trust_env=False,
        timeout=30,
    )
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def ask(console: ConsoleFixture, template_id: str, who: str = ADA_MAIL, **body: object) -> str:
    """Request a group that needs approval."""
    answer = console.service.post_group({"displayName": next(NAMES), **body, "templateId": template_id}, who)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["requestId"])


def cancel(console: ConsoleFixture, request_id: str) -> None:
    """Cancel a request of Ada."""
    url = f"{console.service.url}/requests/v1/{request_id}/cancel/"
    assert httpx2.post(url, headers=console.service.headers(), trust_env=False).status_code == 200


def read(console: ConsoleFixture, request_id: str) -> Mapping[str, object]:
    answer = console.service.get(f"/requests/v1/{request_id}/")
    assert answer.status_code == 200
    return dict(answer.json())


def clear(console: ConsoleFixture, who: str = DARA_MAIL) -> Browser:
    """A browser of an approver for whom nothing waits."""
    browser = console.signed_in(who)
    while forms := decisions(browser.get(inbox(console))):
        for form in forms:
            browser.submit(form)
    return browser


def inbox(console: ConsoleFixture) -> str:
    return f"{console.url}approvals/"


def review(console: ConsoleFixture, request_id: str) -> str:
    return f"{console.url}approvals/{request_id}"


def decisions(page: Page) -> list[Form]:
    """The forms that approve."""
    return [each for each in page.forms if each.action.endswith("/approve")]


def listed(page: Page) -> list[str]:
    """The requests of an inbox, in their order."""
    return [each.action.split("/")[-2] for each in decisions(page)]


def add_people(console: ConsoleFixture, *names: str) -> list[str]:
    """Add people to the directory, like Eli."""

    async def add() -> list[str]:
        async with connected(console.service.embedded_addresses.worker) as connection:
            return [str(row["id"]) for row in await connection.fetch(ADD_PEOPLE, list(names))]

    # A test in Chromium runs in the loop of Playwright.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, add()).result()


ADD_PEOPLE = """
INSERT INTO directory.users (
    tenant_id, id, display_name, user_principal_name, mail, user_type, account_enabled, properties
)
SELECT tenant_id, gen_random_uuid(), name, gen_random_uuid() || '@estate.example', NULL, user_type, true, properties
FROM directory.users CROSS JOIN unnest($1::text[]) AS name
WHERE user_principal_name = 'eli@estate.example' RETURNING id
"""
