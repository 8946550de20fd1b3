# SPDX-License-Identifier: Apache-2.0
from collections.abc import AsyncIterator

import pytest

from chamberlain.embedded import postgres
from tests.embedded.directory.conftest import Served, open_server
from tests.embedded.directory.mailboxes import CART, HELP, OTHER_ROOM, ROOM, create_mailboxes
from tests.embedded.directory.sample_data import ADA, BEN

SILENT = {"status": "disabled", "externalAudience": "all", "internalReplyMessage": "", "externalReplyMessage": ""}


@pytest.fixture(scope="module")
async def with_mailboxes(postgres_server: postgres.Server) -> AsyncIterator[Served]:
    async with open_server(postgres_server) as own_server:
        await create_mailboxes(own_server.databases.worker.pool)
        yield own_server.served


async def test_it_works(with_mailboxes: Served) -> None:
    answer = await with_mailboxes.get("/v1.0/users/help@house.example/mailboxSettings", whose="house-settings")

    assert answer.status_code == 200
    assert answer.json() == {
        "@odata.context": f"{with_mailboxes.graph_url}/v1.0/$metadata#users('{HELP}')/mailboxSettings",
        "automaticRepliesSetting": {
            "status": "alwaysEnabled",
            "externalAudience": "all",
            "internalReplyMessage": "We answer tomorrow.",
            "externalReplyMessage": "We answer tomorrow.",
        },
        "userPurpose": "shared",
        "mailbox": {
            "recipientType": "SharedMailbox",
            "name": "Help",
            "emailAddresses": ["SMTP:help@house.example", "smtp:Support@house.example"],
            "phone": "1",
            "notes": "Patient",
            "quotaMegabytes": 500,
            "resourceCapacity": None,
            "automateProcessing": None,
            "additionalResponse": None,
            "hiddenFromAddressLists": True,
            "hasConferencePhone": None,
            "hasWhiteboard": None,
            "hasVideoConferencing": None,
            "owners": [str(BEN)],
            "permissions": [
                {"userId": str(ADA), "accessRight": "FullAccess", "autoMapping": True},
                {"userId": str(BEN), "accessRight": "SendAs", "autoMapping": False},
            ],
        },
    }


async def test_it_shows_the_booking_response_of_rooms_and_equipment(with_mailboxes: Served) -> None:
    room = (await with_mailboxes.get(f"/v1.0/users/{ROOM}/mailboxSettings", whose="house-users")).json()
    cart = (await with_mailboxes.get(f"/v1.0/users/{CART}/mailboxSettings", whose="house-users")).json()

    assert (room["userPurpose"], cart["userPurpose"]) == ("room", "equipment")
    assert room["automaticRepliesSetting"] == cart["automaticRepliesSetting"] == SILENT
    assert (room["mailbox"]["automateProcessing"], room["mailbox"]["additionalResponse"]) == ("AutoAccept", "Sweep it.")
    assert (room["mailbox"]["resourceCapacity"], room["mailbox"]["hasWhiteboard"]) == (12, True)
    assert (cart["mailbox"]["resourceCapacity"], cart["mailbox"]["permissions"]) == (3, [])


async def test_it_shows_few_properties_of_user_mailboxes(with_mailboxes: Served) -> None:
    settings = (await with_mailboxes.get(f"/v1.0/users/{ADA}/mailboxSettings", whose="house-users")).json()

    assert (settings["userPurpose"], settings["mailbox"]) == ("user", None)
    assert settings["automaticRepliesSetting"] == SILENT


async def test_it_shows_nothing_of_another_tenant(with_mailboxes: Served) -> None:
    answer = await with_mailboxes.get(f"/v1.0/users/{OTHER_ROOM}/mailboxSettings", whose="house-users")

    assert answer.status_code == 404


async def test_it_requires_a_user_permission(with_mailboxes: Served) -> None:
    answer = await with_mailboxes.get(f"/v1.0/users/{HELP}/mailboxSettings", whose="house")

    assert answer.status_code == 403
    assert "MailboxSettings.Read" in answer.json()["error"]["message"]
