# SPDX-License-Identifier: Apache-2.0
"""Requests that tests of pages send to the API, and faults of the directory that they meet."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import httpx2

from tests.console.conftest import ConsoleFixture
from tests.services import API, CLEO_MAIL, COLLAB, GROUP_TEMPLATE, TLS, wait_until

MAIL = f"{API}/mail/App.ReadWrite.All"
ROOM_TEMPLATE = "7e000000-0000-4000-8000-000000000003"
DARA_MAIL, BEN_MAIL = "dara@estate.example", "ben@estate.example"
ENDED_WITHIN = 60


def request_group(
    console: ConsoleFixture, name: str, who: str = CLEO_MAIL, template: str = GROUP_TEMPLATE, **values: object
) -> str:
    """Request a group; the id of the request."""
    answer = console.service.post_group({"displayName": name, "templateId": template, **values}, who)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["requestId"])


def request_mailbox(console: ConsoleFixture, name: str, who: str = CLEO_MAIL, **values: object) -> str:
    """Request a mailbox, a room without another template; the id of the request."""
    answer = httpx2.post(
        f"{console.service.url}/mail/v1/mailboxes/",
        json={"name": name, "displayName": name, "templateId": ROOM_TEMPLATE, **values},
        headers=console.service.headers(who, MAIL),
        verify=TLS,
        timeout=30,
    )
    assert answer.status_code == 202, answer.text
    return str(answer.json()["requestId"])


def act(
    console: ConsoleFixture, request_id: str, action: str, who: str, body: Mapping[str, object] | None = None
) -> None:
    """Approve, reject, cancel or retry a request."""
    answer = httpx2.post(
        f"{console.service.url}/requests/v1/{request_id}/{action}/",
        json=body or {},
        headers=console.service.headers(who, COLLAB),
        verify=TLS,
        timeout=30,
    )
    assert answer.status_code == 200, answer.text


def wait_for(console: ConsoleFixture, request_id: str, state: str, who: str = CLEO_MAIL) -> None:
    """Wait until the request is in a state."""
    wait_until(lambda: console.service.request(request_id, who)["state"] == state, ENDED_WITHIN)


@contextmanager
def directory_fault(console: ConsoleFixture, operation: str, kind: str = "away") -> Iterator[None]:
    """Let calls of the directory fail for the duration of the block."""
    url = f"{console.service.url}/emulator/faults"
    headers = console.service.headers("automation", f"{API}/.default")
    fault = {"operation": operation, "kind": kind, "seconds": 600, "retryAfter": 1}
    assert httpx2.post(url, json=fault, headers=headers, verify=TLS).status_code == 201
    try:
        yield
    finally:
        assert httpx2.delete(url, headers=headers, verify=TLS).status_code == 204
