# SPDX-License-Identifier: Apache-2.0
"""Bodies of the three types with every property that each may have."""

from tests.estates import BEN, CLEO, DARA, SHARED_MAILBOX

EVERYBODYS: dict[str, object] = {
    "metadata": {"floor": "5", "quiet": True},
    "capacity": 12,
    "state": "in use",
    "streetAddress": "1 High Street",
    "companyName": "Estate",
    "postalCode": "8000",
    "city": "Town",
    "country": "Switzerland",
    "phone": "+41 44 000 00 00",
    "department": "Sales",
    "domain": "estate.example",
    "audioDeviceName": "Speaker",
    "displayDeviceName": "Screen",
    "videoDeviceName": "Camera",
    "businessPhones": ["1", "2"],
    "primaryOwner": str(BEN),
    "secondaryOwner": str(CLEO),
    "automaticReply": "Thanks.\nBye.",
    "isAllowAutomaticReplyOverride": True,
    "hideFromGAL": True,
    "tags": ["quiet", "large"],
    "notes": "A note.",
    "reason": "Because.",
    "permissions": {str(BEN): "FullAccess", str(CLEO): "SendAs", str(DARA): "None"},
}
SHARED: dict[str, object] = {
    **EVERYBODYS,
    "name": "Info Desk",
    "displayName": "Information",
    "templateId": str(SHARED_MAILBOX),
    "autoMapping": False,
    "alias": "Desk",
}
EQUIPMENT: dict[str, object] = {
    **EVERYBODYS,
    "name": "Projector 7",
    "displayName": "Projector",
    "metadata": {"equipmentType": "projector"},
}
ROOM: dict[str, object] = {
    **{name: value for name, value in EVERYBODYS.items() if name != "permissions"},
    "name": "Zürich",
    "displayName": "Room Zürich",
    "officeLocation": "HQ - Floor 5",
    "isWheelChairAccessible": True,
    "roomMailboxMetadata": {"hasConferencePhone": False, "hasWhiteboard": True},
}
BODIES = {"shared": SHARED, "equipment": EQUIPMENT, "room": ROOM}
SMALL: dict[str, object] = {"name": "Info", "displayName": "Information", "autoMapping": True}
