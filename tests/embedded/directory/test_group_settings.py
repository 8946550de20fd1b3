# SPDX-License-Identifier: Apache-2.0
"""Guest settings of a group over HTTP, and the marks of assignments."""

from collections.abc import AsyncIterator
from urllib.parse import quote
from uuid import UUID

import pytest

from chamberlain.embedded import postgres
from tests.embedded.directory.conftest import OwnServer, Served, open_server
from tests.embedded.directory.guest_rules import POLICY, TEMPLATE, clear, set_guest_rules
from tests.embedded.directory.sample_data import CREW, HANDBOOK, OTHERS, STAFF


@pytest.fixture(scope="module")
async def with_guest_rules(postgres_server: postgres.Server) -> AsyncIterator[Served]:
    async with open_server(postgres_server) as own_server:
        await set_guest_rules(own_server.databases.worker.pool)
        yield own_server.served


@pytest.fixture
async def own_server_with_guest_rules(own_server: OwnServer) -> OwnServer:
    """Start a server with guest rules for one test."""
    await set_guest_rules(own_server.databases.worker.pool)
    return own_server


async def test_it_works(with_guest_rules: Served) -> None:
    answer = await with_guest_rules.get(f"/v1.0/groups/{STAFF}/settings")

    assert answer.status_code == 200
    body = answer.json()
    assert body["@odata.context"] == f"{with_guest_rules.graph_url}/v1.0/$metadata#groupSettings"
    [settings] = body["value"]
    assert UUID(settings.pop("id")).version == 5
    assert settings == {
        "displayName": "Group.Unified.Guest",
        "templateId": "08d542b9-071f-4e16-94b0-74abb372e3d9",
        "values": [
            {"name": "AllowToAddGuests", "value": "false"},
            {"name": "GuestsAddedBy", "value": "owners"},
            {"name": "AllowedGuestDomains", "value": "partner.example,friend.example"},
            {"name": "BlockedGuestDomains", "value": ""},
        ],
    }


async def test_it_is_empty_while_the_default_applies(own_server_with_guest_rules: OwnServer) -> None:
    assert (await own_server_with_guest_rules.served.get(f"/v1.0/groups/{CREW}/settings")).json()["value"] == []

    await clear(own_server_with_guest_rules.databases.worker.pool)

    assert (await own_server_with_guest_rules.served.get(f"/v1.0/groups/{STAFF}/settings")).json()["value"] == []


@pytest.mark.parametrize("group_id", [OTHERS, UUID(int=1)])
async def test_it_rejects_an_unknown_group(with_guest_rules: Served, group_id: UUID) -> None:
    answer = await with_guest_rules.get(f"/v1.0/groups/{group_id}/settings")

    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "Request_ResourceNotFound")


async def test_it_requires_a_group_permission(with_guest_rules: Served) -> None:
    assert (await with_guest_rules.get(f"/v1.0/groups/{STAFF}/settings", whose="house-users")).status_code == 403


async def test_it_rejects_an_unknown_option(with_guest_rules: Served) -> None:
    assert (await with_guest_rules.get(f"/v1.0/groups/{STAFF}/settings?$expand=values")).status_code == 400


async def test_it_shows_the_marks_on_groups(own_server_with_guest_rules: OwnServer) -> None:
    marks = {"requestId": "ABC-1", "templateId": TEMPLATE, "policyId": POLICY}

    assert (await own_server_with_guest_rules.served.get(f"/v1.0/groups/{STAFF}")).json()["house_group"] == marks
    selected = await own_server_with_guest_rules.served.get(f"/v1.0/groups/{HANDBOOK}?$select=id,house_group")
    assert selected.json()["house_group"] == {"templateId": TEMPLATE, "policyId": POLICY}
    await clear(own_server_with_guest_rules.databases.worker.pool)

    assert (await own_server_with_guest_rules.served.get(f"/v1.0/groups/{STAFF}")).json()["house_group"] == {
        "requestId": "ABC-1"
    }
    assert "house_group" not in (await own_server_with_guest_rules.served.get(f"/v1.0/groups/{HANDBOOK}")).json()


@pytest.mark.parametrize(
    "written",
    [
        f"house_group/templateId eq '{TEMPLATE.lower()}'",
        f"house_group/policyId eq '{POLICY}'",
        f"house_group/policyId eq '{POLICY}' and house_group/templateId in ('{TEMPLATE}', 'x')",
        "house_group/templateId ne null",
        "startswith(house_group/templateId, '7e')",
    ],
)
async def test_it_finds_groups_by_their_marks(own_server_with_guest_rules: OwnServer, written: str) -> None:
    path = f"/v1.0/groups?$filter={quote(written)}"

    found = [group["id"] for group in (await own_server_with_guest_rules.served.get(path)).json()["value"]]
    await clear(own_server_with_guest_rules.databases.worker.pool)

    assert found == [str(STAFF), str(HANDBOOK)]
    assert (await own_server_with_guest_rules.served.get(path)).json()["value"] == []
