# SPDX-License-Identifier: Apache-2.0
"""The vendor's Graph SDK reads the directory as it is: only base address and credential are others."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import httpx2
import pytest

from tests.clients.runs import Said, said_by
from tests.services import (
    ADA,
    ADA_MAIL,
    API,
    BEN,
    GROUP_TEMPLATE,
    TEAM_TEMPLATE,
    TLS,
    Service,
    running_service,
    wait_until,
)

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(300)]

GROUPS = 2500
AT_ONCE = 64
MAIL = f"{API}/mail/App.ReadWrite.All"


@dataclass(frozen=True, slots=True)
class Read:
    """The objects in the directory, and those that the program has read."""

    request_id: str
    team_id: str
    said: Said


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """One of its own, since others would not find theirs among so many groups."""
    with running_service(environment={"CHAMBERLAIN_DIRECTORY_WRITABLE": "false"}) as running:
        yield running


@pytest.fixture(scope="module")
def read(service: Service) -> Read:
    """Read a team, a room and very many groups with the program."""
    request_id = service.post_group({"displayName": "Seen", "templateId": TEAM_TEMPLATE, "members": [BEN]}).json()[
        "requestId"
    ]
    team_id = str(service.wait_for_group(request_id)["id"])
    service.wait_for_end(request_id)
    make_room(service)
    asyncio.run(make_groups(service))
    wait_until(lambda: len(service.provisioned()) == GROUPS + 1, 60, service.said)
    return Read(request_id, team_id, said_by("graph_read", service, REQUEST_ID=request_id, TEAM_ID=team_id))


async def make_groups(service: Service) -> None:
    turns = asyncio.Semaphore(AT_ONCE)

    async def make(client: httpx2.AsyncClient, number: int) -> None:
        body = {"displayName": f"Paged {number:04}", "templateId": GROUP_TEMPLATE}
        async with turns:
            answer = await client.post(service.groups_url, json=body)
        assert answer.status_code == 202, answer.text

    async with httpx2.AsyncClient(headers=service.headers(), verify=TLS, timeout=30) as client:
        await asyncio.gather(*(make(client, number) for number in range(GROUPS)))


def make_room(service: Service) -> None:
    body = {"name": "orangery", "displayName": "Orangery", "capacity": 12, "roomMailboxMetadata": {}}
    headers = {**service.headers(ADA_MAIL, MAIL), "prefer": "wait=30"}
    answer = httpx2.post(f"{service.url}/mail/v1/mailboxes/", json=body, headers=headers, timeout=40, verify=TLS)
    assert answer.status_code == 201, answer.text


def test_it_works(read: Read) -> None:
    found = read.said["find"]

    assert (found["id"], found["displayName"]) == (read.team_id, "Seen")
    assert found["mark"] == {"requestId": read.request_id}
    assert datetime.fromisoformat(found["createdDateTime"]).tzinfo is not None
    assert found["owners"] == [["User", "Ada Achterberg"]]
    assert set(found["members"]) == {ADA, BEN}


def test_it_works_through_all_pages(read: Read) -> None:
    assert read.said["page"] == {"first": 999, "all": GROUPS, "different": GROUPS}


def test_it_works_with_further_options(read: Read) -> None:
    asked = read.said["ask_further"]

    assert asked["count"] == GROUPS
    assert asked["ordered"] == [[f"Paged {GROUPS - number}", None] for number in (1, 2, 3)]
    assert asked["teams"] == ["Seen"]


def test_it_works_for_everything_else(read: Read) -> None:
    seen = read.said["discover"]

    people = {"Ada Achterberg", "Ben Okafor", "Cleo Marchetti", "Dara Lindqvist", "Eli Nakamura", "Gil Hartmann"}
    assert set(seen.pop("users")) == {*people, "Orangery"}
    assert seen == {
        "user": ADA_MAIL,
        "by mail": ADA,
        "plans": [["TEAMS1", "Success"]],
        "site": "Handbook",
        "team": "Seen",
        "channels": ["General", "Planning"],
        "rooms": [["Orangery", 12]],
        "extensions": ["chamberlain_group", "chamberlain_mailbox"],
    }


def test_it_gets_its_own_errors(read: Read) -> None:
    refused = read.said["be_refused"]

    assert [status for status, *_ in refused] == [400, 400, 404, 405, 400]
    wrong_operator, unfinished, missing, _, _ = refused
    assert "at position 13 in 'displayName like 'Seen''" in wrong_operator[2]
    assert "at position 16" in unfinished[2]
    assert missing[1] == "Request_ResourceNotFound"
    # Each has an id, by which the operator finds it in the log.
    assert all(UUID(request_id) for *_, request_id in refused)
