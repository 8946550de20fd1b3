# SPDX-License-Identifier: Apache-2.0
from collections.abc import AsyncIterator
from urllib.parse import quote

import pytest

from chamberlain.embedded import postgres
from tests.embedded.directory.conftest import Served, open_server
from tests.embedded.directory.guest_rules import set_guest_rules
from tests.embedded.directory.mailboxes import create_mailboxes

PATH = "/v1.0/schemaExtensions"


@pytest.fixture(scope="module")
async def marked(postgres_server: postgres.Server) -> AsyncIterator[Served]:
    async with open_server(postgres_server) as own_server:
        await create_mailboxes(own_server.databases.worker.pool)
        await set_guest_rules(own_server.databases.worker.pool)
        yield own_server.served


def extension(name: str, target: str, *members: str) -> dict[str, object]:
    return {
        "id": name,
        "description": None,
        "targetTypes": [target],
        "status": "Available",
        "owner": None,
        "properties": [{"name": member, "type": "String"} for member in members],
    }


async def test_it_works(marked: Served) -> None:
    answer = await marked.get(PATH)

    assert answer.status_code == 200
    assert answer.json() == {
        "@odata.context": f"{marked.graph_url}/v1.0/$metadata#schemaExtensions",
        "value": [
            extension("house_group", "Group", "policyId", "requestId", "templateId"),
            extension("house_mailbox", "User", "requestId"),
        ],
    }


@pytest.mark.parametrize(
    ("written", "ids"),
    [
        ("id eq 'HOUSE_group'", ["house_group"]),
        ("id in ('house_mailbox', 'x')", ["house_mailbox"]),
        ("id eq 'x'", []),
    ],
)
async def test_it_filters(marked: Served, written: str, ids: list[str]) -> None:
    answer = await marked.get(f"{PATH}?$filter={quote(written)}")

    assert [one["id"] for one in answer.json()["value"]] == ids


@pytest.mark.parametrize("written", ["owner eq 'x'", "startswith(id, 'h')", "id ne 'x'", "id"])
async def test_it_rejects_other_filters(marked: Served, written: str) -> None:
    assert (await marked.get(f"{PATH}?$filter={quote(written)}")).status_code == 400


async def test_it_shows_nothing_of_another_tenant(marked: Served) -> None:
    # The other tenant has a room, and no group with marks.
    assert (await marked.get(PATH, whose="other")).json()["value"] == [extension("house_mailbox", "User", "requestId")]


async def test_it_requires_a_group_permission(marked: Served) -> None:
    assert (await marked.get(PATH, whose="house-users")).status_code == 403
