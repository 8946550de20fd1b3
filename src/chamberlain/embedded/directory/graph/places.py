# SPDX-License-Identifier: Apache-2.0
"""`/places/microsoft.graph.room` and `/places/{id}`: rooms, for room finders."""

import msgspec

from chamberlain.embedded.directory.graph.calls import Call, Row, Shape
from chamberlain.embedded.directory.graph.filters import ROOMS, Vocabulary
from chamberlain.embedded.directory.graph.options import read_options
from chamberlain.embedded.directory.graph.own_properties import contact_of
from chamberlain.embedded.directory.graph.paging import Listing, fetch_page, read_query, shape_of_page
from chamberlain.embedded.directory.graph.users import properties_of
from chamberlain.embedded.directory.mailboxes import Place

_LIST_OPTIONS = frozenset({"$filter", "$top", "$skiptoken"})

_COLUMNS = """
    u.id, u.display_name, u.mail, u.properties::text AS properties, m.contact::text AS contact,
    m.place::text AS place, m.resource_capacity, m.automate_processing, m.created_at
"""
_SOURCE = """
    directory.mailboxes m JOIN directory.users u ON u.tenant_id = $1 AND u.id = m.user_id
WHERE m.tenant_id = $1 AND m.recipient_type = 'RoomMailbox'
"""
_ROOMS = f"SELECT {_COLUMNS} FROM {_SOURCE}"  # noqa: S608 - fixed pieces.
_BY_ID = f"{_ROOMS} AND m.user_id = $2"
_OWNER = "SELECT a.holder_id FROM directory.addresses a WHERE a.tenant_id = $1 AND a.address = lower($2)"
_BY_ADDRESS = f"{_ROOMS} AND m.user_id IN ({_OWNER})"

ROOM_LISTING = Listing(
    kind="room",
    columns=_COLUMNS,
    source=_SOURCE,
    counted=_SOURCE,
    visible="m.created_at <= {}",
    subject=ROOMS,
    vocabulary=Vocabulary(frozenset(ROOMS.columns)),
    keys={},
)


async def list_rooms(call: Call) -> Shape:
    """List the rooms that match the filter, by id."""
    options = read_options(call.query_string, known=_LIST_OPTIONS)
    page = await fetch_page(call, ROOM_LISTING, read_query(call, ROOM_LISTING, options))
    return shape_of_page(call, page, f"{call.root}/$metadata#places/microsoft.graph.room", _shape)


async def get_place(call: Call) -> Shape:
    """Return one room, by its id or one of its addresses."""
    read_options(call.query_string)
    async with call.connected() as connection:
        row = await call.fetch_by_name(connection, by_id=_BY_ID, by_address=_BY_ADDRESS)
    context = f"{call.root}/$metadata#places/$entity"
    return {"@odata.context": context, "@odata.type": "#microsoft.graph.room", **_shape(row)}


def _shape(row: Row) -> Shape:
    place, properties = msgspec.json.decode(row["place"], type=Place), properties_of(row)
    return {
        "id": str(row["id"]),
        "displayName": row["display_name"],
        "emailAddress": row["mail"],
        "nickname": row["display_name"],
        "address": {
            "street": properties.get("streetAddress"),
            "city": properties.get("city"),
            "state": properties.get("state"),
            "postalCode": properties.get("postalCode"),
            "countryOrRegion": properties.get("country"),
        },
        "geoCoordinates": None,
        "phone": contact_of(row).phone,
        "building": None,
        "floorNumber": None,
        "floorLabel": None,
        "label": properties.get("officeLocation"),
        "capacity": row["resource_capacity"],
        "bookingType": "standard" if row["automate_processing"] == "AutoAccept" else "unknown",
        "audioDeviceName": place.audio_device_name,
        "videoDeviceName": place.video_device_name,
        "displayDeviceName": place.display_device_name,
        "isWheelChairAccessible": place.is_wheel_chair_accessible or False,
        "tags": list(place.tags),
    }
