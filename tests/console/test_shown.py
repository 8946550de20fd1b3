# SPDX-License-Identifier: Apache-2.0
"""Submitted values are shown as people read them, and no property of a body is forgotten."""

from uuid import UUID

import pytest
from msgspec import json, structs

from chamberlain.auth.models import Actor, ActorType
from chamberlain.console.shown import GROUP_LABELS, MAILBOX_LABELS, MOST_NAMED, OMITTED, ROOM_LABELS, values_of
from chamberlain.core.ids import ClientId, RequestId, TenantId, UserId
from chamberlain.groups.wire import GroupBody
from chamberlain.mailboxes.wire import MailboxBody
from chamberlain.requests.models import RequestKind, RequestRecord, RequestState, ShownField
from chamberlain.requests.rules import RequestView
from chamberlain.templates.schema import RoomMailboxMetadataShape
from tests.console.times import AT

pytestmark = pytest.mark.pure
BEN = "be000000-0000-4000-8000-000000000002"
NOBODY = "be000000-0000-4000-8000-00000000ffff"
NAMES = {UserId(UUID(BEN)): "Ben Okafor"}


def view_of(kind: RequestKind, body: dict[str, object], *fields: ShownField) -> RequestView:
    id_ = UUID(BEN)
    record = RequestRecord(
        request_id=RequestId(id_), tenant_id=TenantId(id_), approval_required=False, kind=kind,
        state=RequestState.QUEUED, display_name="", template=None, body=json.encode(body), waiting=None, blocked=None,
        error=None, warnings=(), result=None, steps=(), created_at=AT, created_by=Actor(ActorType.USER, id_, "Cleo"),
        client_id=ClientId(""), updated_at=AT, finished_at=None,
    )  # fmt: skip
    return RequestView(record, (), fields)


def shown(kind: RequestKind, body: dict[str, object], *fields: ShownField) -> dict[str, tuple[str, ...]]:
    """The texts of each label, in English."""
    rows = values_of(view_of(kind, body, *fields), str, NAMES, {"secret": "Confidential"})
    assert all(row.more == 0 for row in rows)
    return {row.label: row.texts for row in rows}


def test_it_works() -> None:
    body = {
        "displayName": "Zürich",
        "templateId": BEN,
        "capacity": 8,
        "primaryOwner": BEN.upper(),
        "secondaryOwner": NOBODY,
        "permissions": {BEN: "FullAccess", NOBODY: "None"},
        "roomMailboxMetadata": {"hasWhiteboard": True, "hasConferencePhone": False},
        "isWheelChairAccessible": False,
        "tags": ["quiet", "north"],
        "city": "",
    }

    assert shown(RequestKind.ROOM, body) == {
        "Name": ("Zürich",),
        "Owner": ("Ben Okafor",),
        "Second owner": (NOBODY,),
        "Access": ("Ben Okafor: full access", f"{NOBODY}: no access"),
        "Seats": ("8",),
        "Wheelchair accessible": ("No",),
        "Equipment of the room": ("Whiteboard",),
        "Tags": ("quiet", "north"),
    }


def test_a_group_has_the_labels_of_its_custom_fields() -> None:
    body = {
        "displayName": "Falcon",
        "memberShipType": 0,
        "labelId": "secret",
        "members": [BEN],
        "metadata": {"lead": BEN, "free": True, "empty": ""},
    }

    assert shown(RequestKind.TEAM, body, ShownField("lead", "Lead", "Ben Okafor")) == {
        "Name": ("Falcon",),
        "Visibility": ("Private",),
        "Sensitivity label": ("Confidential",),
        "Members": ("Ben Okafor",),
        "Lead": ("Ben Okafor",),
        "free": ("Yes",),
    }


@pytest.mark.parametrize("kind", [RequestKind.ASSIGNMENT, RequestKind.REPAIR])
def test_an_assignment_has_no_values(kind: RequestKind) -> None:
    assert shown(kind, {"templateId": BEN}) == {}


def test_a_long_list_is_cut_and_counted() -> None:
    members = [f"be000000-0000-4000-8000-{each:012}" for each in range(MOST_NAMED + 5)]

    (row,) = values_of(view_of(RequestKind.GROUP, {"members": members}), str, {}, {})

    assert (len(row.texts), row.more) == (MOST_NAMED, 5)


@pytest.mark.parametrize(("body", "labels"), [(MailboxBody, MAILBOX_LABELS), (GroupBody, GROUP_LABELS)])
def test_every_property_of_a_body_is_shown_or_omitted_with_a_reason(body: type, labels: dict[str, str]) -> None:
    properties = {each.encode_name for each in structs.fields(body)}

    assert properties == labels.keys() | OMITTED.keys()
    assert not labels.keys() & OMITTED.keys()
    assert all(OMITTED.values())
    assert ROOM_LABELS.keys() == {each.encode_name for each in structs.fields(RoomMailboxMetadataShape)}
