"""What a group lets guests do, over HTTP; and the marks of what is assigned to it."""

from collections.abc import AsyncIterator
from urllib.parse import quote
from uuid import UUID

import pytest

from chamberlain.embedded import postgres
from tests.embedded.directory.conftest import Houses, Served, open_houses
from tests.embedded.directory.guests import POLICY, TEMPLATE, clear, restrict
from tests.embedded.directory.houses import CREW, HANDBOOK, OTHERS, STAFF


@pytest.fixture(scope="module")
async def restricted(postgres_server: postgres.Server) -> AsyncIterator[Served]:
    async with open_houses(postgres_server) as houses:
        await restrict(houses.databases.worker.pool)
        yield houses.served


@pytest.fixture
async def restricted_houses(houses: Houses) -> Houses:
    """The same for one test."""
    await restrict(houses.databases.worker.pool)
    return houses


async def test_it_works(restricted: Served) -> None:
    answer = await restricted.get(f"/v1.0/groups/{STAFF}/settings")

    assert answer.status_code == 200
    body = answer.json()
    assert body["@odata.context"] == f"{restricted.graph_url}/v1.0/$metadata#groupSettings"
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


async def test_it_shows_nothing_while_the_default_holds(restricted_houses: Houses) -> None:
    assert (await restricted_houses.served.get(f"/v1.0/groups/{CREW}/settings")).json()["value"] == []

    await clear(restricted_houses.databases.worker.pool)

    assert (await restricted_houses.served.get(f"/v1.0/groups/{STAFF}/settings")).json()["value"] == []


@pytest.mark.parametrize("group_id", [OTHERS, UUID(int=1)])
async def test_it_rejects_a_group_that_is_not_there(restricted: Served, group_id: UUID) -> None:
    answer = await restricted.get(f"/v1.0/groups/{group_id}/settings")

    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "Request_ResourceNotFound")


async def test_it_rejects_who_may_not_read_groups(restricted: Served) -> None:
    assert (await restricted.get(f"/v1.0/groups/{STAFF}/settings", whose="house-users")).status_code == 403


async def test_it_rejects_an_option_that_it_does_not_know(restricted: Served) -> None:
    assert (await restricted.get(f"/v1.0/groups/{STAFF}/settings?$expand=values")).status_code == 400


async def test_it_shows_the_marks_on_groups(restricted_houses: Houses) -> None:
    marks = {"requestId": "ABC-1", "templateId": TEMPLATE, "policyId": POLICY}

    assert (await restricted_houses.served.get(f"/v1.0/groups/{STAFF}")).json()["house_group"] == marks
    selected = await restricted_houses.served.get(f"/v1.0/groups/{HANDBOOK}?$select=id,house_group")
    assert selected.json()["house_group"] == {"templateId": TEMPLATE, "policyId": POLICY}
    await clear(restricted_houses.databases.worker.pool)

    assert (await restricted_houses.served.get(f"/v1.0/groups/{STAFF}")).json()["house_group"] == {"requestId": "ABC-1"}
    assert "house_group" not in (await restricted_houses.served.get(f"/v1.0/groups/{HANDBOOK}")).json()


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
async def test_it_finds_groups_by_their_marks(restricted_houses: Houses, written: str) -> None:
    path = f"/v1.0/groups?$filter={quote(written)}"

    found = [group["id"] for group in (await restricted_houses.served.get(path)).json()["value"]]
    await clear(restricted_houses.databases.worker.pool)

    assert found == [str(STAFF), str(HANDBOOK)]
    assert (await restricted_houses.served.get(path)).json()["value"] == []
