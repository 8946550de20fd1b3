from collections.abc import AsyncIterator

import pytest

from chamberlain.embedded import postgres
from tests.embedded.directory.conftest import Served, open_houses
from tests.embedded.directory.houses import ADA, BEN
from tests.embedded.directory.mailboxes import CART, HELP, OTHER_ROOM, ROOM, furnish

SILENT = {"status": "disabled", "externalAudience": "all", "internalReplyMessage": "", "externalReplyMessage": ""}


@pytest.fixture(scope="module")
async def furnished(postgres_server: postgres.Server) -> AsyncIterator[Served]:
    async with open_houses(postgres_server) as houses:
        await furnish(houses.databases.worker.pool)
        yield houses.served


async def test_it_works(furnished: Served) -> None:
    answer = await furnished.get("/v1.0/users/help@house.example/mailboxSettings", whose="house-settings")

    assert answer.status_code == 200
    assert answer.json() == {
        "@odata.context": f"{furnished.graph_url}/v1.0/$metadata#users('{HELP}')/mailboxSettings",
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


async def test_it_shows_what_rooms_and_equipment_answer_to_invitations(furnished: Served) -> None:
    room = (await furnished.get(f"/v1.0/users/{ROOM}/mailboxSettings", whose="house-users")).json()
    cart = (await furnished.get(f"/v1.0/users/{CART}/mailboxSettings", whose="house-users")).json()

    assert (room["userPurpose"], cart["userPurpose"]) == ("room", "equipment")
    assert room["automaticRepliesSetting"] == cart["automaticRepliesSetting"] == SILENT
    assert (room["mailbox"]["automateProcessing"], room["mailbox"]["additionalResponse"]) == ("AutoAccept", "Sweep it.")
    assert (room["mailbox"]["resourceCapacity"], room["mailbox"]["hasWhiteboard"]) == (12, True)
    assert (cart["mailbox"]["resourceCapacity"], cart["mailbox"]["permissions"]) == (3, [])


async def test_it_shows_little_of_the_mailbox_of_a_person(furnished: Served) -> None:
    settings = (await furnished.get(f"/v1.0/users/{ADA}/mailboxSettings", whose="house-users")).json()

    assert (settings["userPurpose"], settings["mailbox"]) == ("user", None)
    assert settings["automaticRepliesSetting"] == SILENT


async def test_it_shows_nothing_of_another_tenant(furnished: Served) -> None:
    answer = await furnished.get(f"/v1.0/users/{OTHER_ROOM}/mailboxSettings", whose="house-users")

    assert answer.status_code == 404


async def test_it_rejects_who_may_read_groups_only(furnished: Served) -> None:
    answer = await furnished.get(f"/v1.0/users/{HELP}/mailboxSettings", whose="house")

    assert answer.status_code == 403
    assert "MailboxSettings.Read" in answer.json()["error"]["message"]
