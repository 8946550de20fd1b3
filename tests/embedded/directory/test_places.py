from collections.abc import AsyncIterator
from urllib.parse import quote

import pytest

from chamberlain.embedded import postgres
from tests.embedded.directory.conftest import Houses, Served, open_houses
from tests.embedded.directory.mailboxes import CART, OTHER_ROOM, ROOM, furnish

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
async def furnished(postgres_server: postgres.Server) -> AsyncIterator[Served]:
    async with open_houses(postgres_server) as houses:
        await furnish(houses.databases.worker.pool)
        yield houses.served


async def test_it_works(furnished: Served) -> None:
    answer = await furnished.get("/v1.0/places/microsoft.graph.room", whose="house-places")

    assert answer.status_code == 200
    context = f"{furnished.graph_url}/v1.0/$metadata#places/microsoft.graph.room"
    assert answer.json() == {"@odata.context": context, "value": [TOWER]}


@pytest.mark.parametrize("name", [str(ROOM), "Tower@house.example"])
async def test_it_shows_one_room(furnished: Served, name: str) -> None:
    answer = await furnished.get(f"/v1.0/places/{name}", whose="house-places")

    assert answer.json() == {
        "@odata.context": f"{furnished.graph_url}/v1.0/$metadata#places/$entity",
        "@odata.type": "#microsoft.graph.room",
        **TOWER,
    }


@pytest.mark.parametrize("name", [CART, OTHER_ROOM, "cellar@other.example", "cart@house.example", "nothing"])
async def test_it_rejects_what_is_no_room_of_the_tenant(furnished: Served, name: object) -> None:
    assert (await furnished.get(f"/v1.0/places/{name}", whose="house-places")).status_code == 404


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
async def test_it_finds_what_the_filter_names(furnished: Served, written: str, count: int) -> None:
    answer = await furnished.get(f"/v1.0/places/microsoft.graph.room?$filter={quote(written)}", whose="house-places")

    assert len(answer.json()["value"]) == count


async def test_it_takes_the_short_name_of_the_type(furnished: Served) -> None:
    for long, short in [("microsoft.graph.room", "graph.room"), (f"{ROOM}/microsoft.graph.room", f"{ROOM}/graph.room")]:
        answers = [await furnished.get(f"/v1.0/places/{name}", whose="house-places") for name in (long, short)]

        assert answers[0].status_code == 200
        assert answers[0].json() == answers[1].json()


async def test_it_pages(houses: Houses) -> None:
    pool, served = houses.databases.worker.pool, houses.served
    await furnish(pool)
    await pool.execute("UPDATE directory.mailboxes SET recipient_type = 'RoomMailbox', place = '{}'")

    first = (await served.get("/v1.0/places/microsoft.graph.room?$top=2", whose="house-places")).json()
    path = first["@odata.nextLink"].removeprefix(served.graph_url)
    second = (await served.get(path, whose="house-places")).json()

    assert [len(first["value"]), len(second["value"])] == [2, 1]
    assert "@odata.nextLink" not in second


@pytest.mark.parametrize(("whose", "status"), [("house-directory", 200), ("house-users", 403), ("house", 403)])
async def test_it_rejects_who_may_not_read_places(furnished: Served, whose: str, status: int) -> None:
    answer = await furnished.get("/v1.0/places/microsoft.graph.room", whose=whose)

    assert answer.status_code == status
