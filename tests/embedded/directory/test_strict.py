# SPDX-License-Identifier: Apache-2.0
"""Strict answers have the properties of Graph only. The recorder under the client validates each of them."""

from collections.abc import AsyncIterator
from uuid import UUID

import pytest

from chamberlain.embedded import postgres
from tests.embedded.directory.conftest import Served, open_server
from tests.embedded.directory.guest_rules import set_guest_rules
from tests.embedded.directory.mailboxes import HELP, ROOM, create_mailboxes
from tests.embedded.directory.sample_data import ADA, BEN, HANDBOOK, STAFF


@pytest.fixture(scope="module")
async def strict(postgres_server: postgres.Server) -> AsyncIterator[Served]:
    async with open_server(postgres_server, is_strict=True) as own_server:
        await create_mailboxes(own_server.databases.worker.pool)
        await set_guest_rules(own_server.databases.worker.pool)
        yield own_server.served


async def test_it_works(strict: Served) -> None:
    group = (await strict.get(f"/v1.0/groups/{STAFF}")).json()

    assert group["displayName"] == "All staff"
    assert not {"house_group", "assignedLabels"} & group.keys()


async def test_it_returns_selected_extensions_and_labels(strict: Served) -> None:
    group = (await strict.get(f"/v1.0/groups/{STAFF}?$select=id,house_group,assignedLabels")).json()

    assert group["house_group"]["requestId"] == "ABC-1"
    assert group["assignedLabels"] == [{"labelId": "internal", "displayName": "Internal"}]


async def test_it_finds_groups_by_extension_values_without_selecting_them(strict: Served) -> None:
    (group,) = (await strict.get("/v1.0/groups?$filter=house_group/requestId eq 'ABC-1'")).json()["value"]

    assert group["id"] == str(STAFF)
    assert "house_group" not in group


async def test_it_returns_mailbox_settings_of_graph_only(strict: Served) -> None:
    settings = (await strict.get(f"/v1.0/users/{HELP}/mailboxSettings", whose="house-settings")).json()

    assert settings["userPurpose"] == "shared"
    assert settings.keys() == {"@odata.context", "automaticRepliesSetting", "userPurpose"}


async def test_it_returns_properties_of_mailboxes_with_the_user(strict: Served) -> None:
    path = f"/v1.0/users/{HELP}?$select=id,chamberlain_mailbox,house_mailbox"

    user = (await strict.get(path, whose="house-users")).json()

    assert user["chamberlain_mailbox"]["recipientType"] == "SharedMailbox"
    assert user["chamberlain_mailbox"]["permissions"] == [
        {"userId": str(ADA), "accessRight": "FullAccess", "autoMapping": True},
        {"userId": str(BEN), "accessRight": "SendAs", "autoMapping": False},
    ]
    assert user["house_mailbox"].keys() == {"requestId"}


async def test_it_returns_properties_of_mailboxes_in_lists(strict: Served) -> None:
    users = (await strict.get("/v1.0/users?$select=id,chamberlain_mailbox", whose="house-users")).json()["value"]

    found = {UUID(user["id"]): user["chamberlain_mailbox"] for user in users if "chamberlain_mailbox" in user}
    assert found[ROOM]["resourceCapacity"] == 12
    assert ADA not in found


async def test_it_returns_the_sharing_capability_with_the_group(strict: Served) -> None:
    site = (await strict.get(f"/v1.0/groups/{HANDBOOK}/sites/root", whose="house-sites")).json()
    group = (await strict.get(f"/v1.0/groups/{HANDBOOK}?$select=id,chamberlain_site")).json()
    listed = (await strict.get("/v1.0/groups?$select=id,chamberlain_site")).json()["value"]

    assert "sharingCapability" not in site
    assert group["chamberlain_site"] == {"sharingCapability": "existingExternalUserSharingOnly"}
    assert [one["id"] for one in listed if "chamberlain_site" in one] == [str(HANDBOOK)]


async def test_it_returns_guest_settings_of_graph_only(strict: Served) -> None:
    (settings,) = (await strict.get(f"/v1.0/groups/{STAFF}/settings")).json()["value"]
    group = (await strict.get(f"/v1.0/groups/{STAFF}?$select=id,chamberlain_guests,chamberlain_site")).json()

    assert [value["name"] for value in settings["values"]] == ["AllowToAddGuests"]
    assert group["chamberlain_guests"].keys() == {"guestsAddedBy", "allowedGuestDomains", "blockedGuestDomains"}
    assert "chamberlain_site" not in group


async def test_it_names_an_owner_of_schema_extensions(strict: Served) -> None:
    extensions = (await strict.get("/v1.0/schemaExtensions")).json()["value"]

    assert {UUID(one["owner"]).version for one in extensions} == {5}
