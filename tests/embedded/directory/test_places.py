# SPDX-License-Identifier: Apache-2.0
from collections.abc import AsyncIterator
from urllib.parse import quote

import pytest

from chamberlain.embedded import postgres
from tests.embedded.directory.conftest import OwnServer, Served, open_server
from tests.embedded.directory.mailboxes import CART, OTHER_ROOM, ROOM, create_mailboxes

TOWER = {
    "id": str(ROOM),
    "displayName": "Tower room",
    "emailAddress": "tower@house.example",
    "nickname": "Tower room",
    "address": {
        "street": "Kai 7",
        "city": "Basel",
        "state": None,
        "postalCode": None,
        "countryOrRegion": "Switzerland",
    },
    "geoCoordinates": None,
    "phone": "4",
    "building": None,
    "floorNumber": None,
    "floorLabel": None,
    "label": "Top",
    "capacity": 12,
    "bookingType": "standard",
    "audioDeviceName": "Horn",
    "videoDeviceName": "Eye",
    "displayDeviceName": "Screen",
    "isWheelChairAccessible": True,
    "tags": ["quiet"],
}


@pytest.fixture(scope="module")
async def with_mailboxes(postgres_server: postgres.Server) -> AsyncIterator[Served]:
    async with open_server(postgres_server) as own_server:
        await create_mailboxes(own_server.databases.worker.pool)
        yield own_server.served


async def test_it_works(with_mailboxes: Served) -> None:
    answer = await with_mailboxes.get("/v1.0/places/microsoft.graph.room", whose="house-places")

    assert answer.status_code == 200
    context = f"{with_mailboxes.graph_url}/v1.0/$metadata#places/microsoft.graph.room"
    assert answer.json() == {"@odata.context": context, "value": [TOWER]}


@pytest.mark.parametrize("name", [str(ROOM), "Tower@house.example"])
async def test_it_shows_one_room(with_mailboxes: Served, name: str) -> None:
    answer = await with_mailboxes.get(f"/v1.0/places/{name}", whose="house-places")

    assert answer.json() == {
        "@odata.context": f"{with_mailboxes.graph_url}/v1.0/$metadata#places/$entity",
        "@odata.type": "#microsoft.graph.room",
        **TOWER,
    }


@pytest.mark.parametrize("name", [CART, OTHER_ROOM, "cellar@other.example", "cart@house.example", "nothing"])
async def test_it_rejects_other_objects(with_mailboxes: Served, name: object) -> None:
    assert (await with_mailboxes.get(f"/v1.0/places/{name}", whose="house-places")).status_code == 404


@pytest.mark.parametrize(
    ("written", "count"),
    [
        ("emailAddress eq 'TOWER@house.example'", 1),
        ("startswith(displayName, 'tower')", 1),
        (f"id eq '{ROOM}'", 1),
        ("house_mailbox/requestId eq 'ROOM-1'", 1),
        ("displayName eq 'Cellar'", 0),
    ],
)
async def test_it_filters(with_mailboxes: Served, written: str, count: int) -> None:
    answer = await with_mailboxes.get(
        f"/v1.0/places/microsoft.graph.room?$filter={quote(written)}", whose="house-places"
    )

    assert len(answer.json()["value"]) == count


async def test_it_accepts_the_short_type_name(with_mailboxes: Served) -> None:
    for long, short in [("microsoft.graph.room", "graph.room"), (f"{ROOM}/microsoft.graph.room", f"{ROOM}/graph.room")]:
        answers = [await with_mailboxes.get(f"/v1.0/places/{name}", whose="house-places") for name in (long, short)]

        assert answers[0].status_code == 200
        assert answers[0].json() == answers[1].json()


async def test_it_pages(own_server: OwnServer) -> None:
    pool, served = own_server.databases.worker.pool, own_server.served
    await create_mailboxes(pool)
    await pool.execute("UPDATE directory.mailboxes SET recipient_type = 'RoomMailbox', place = '{}'")

    first = (await served.get("/v1.0/places/microsoft.graph.room?$top=2", whose="house-places")).json()
    path = first["@odata.nextLink"].removeprefix(served.graph_url)
    second = (await served.get(path, whose="house-places")).json()

    assert [len(first["value"]), len(second["value"])] == [2, 1]
    assert "@odata.nextLink" not in second


@pytest.mark.parametrize(("whose", "status"), [("house-directory", 200), ("house-users", 403), ("house", 403)])
async def test_it_requires_a_place_permission(with_mailboxes: Served, whose: str, status: int) -> None:
    answer = await with_mailboxes.get("/v1.0/places/microsoft.graph.room", whose=whose)

    assert answer.status_code == status
