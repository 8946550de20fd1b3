# SPDX-License-Identifier: Apache-2.0
"""Properties and rules that a tenant's directory cannot store."""

from dataclasses import fields, replace
from datetime import timedelta

import pytest

from chamberlain.core.errors import Fault
from chamberlain.directory.capabilities import ALL_ABILITIES, Ability, Capabilities, Limits
from chamberlain.directory.mailboxes import MailboxOrder, MailboxProperties, MailboxType, RoomEquipment
from chamberlain.directory.properties import DriftProperty
from chamberlain.directory.subjects import AddedBy, GuestRules
from chamberlain.templates.capabilities import (
    guest_restriction_faults,
    inherited_property_faults,
    mailbox_name_faults,
    property_faults,
)
from tests.drift.drift_values import EVERYTHING

pytestmark = pytest.mark.pure

ROOM, SHARED, EQUIPMENT = MailboxType.ROOM, MailboxType.SHARED, MailboxType.EQUIPMENT
ALL = Capabilities(timedelta(0), unheld=frozenset(DriftProperty))
# Properties that no directory stores, or that every directory stores.
ELSEWHERE = {"metadata", "state", "domain", "is_allow_automatic_reply_override", "reason", "name", "display_name"}
DEVICES = {"/audioDeviceName", "/displayDeviceName", "/videoDeviceName", "/tags"}
ROOM_ONLY = DEVICES | {"/officeLocation", "/isWheelChairAccessible"}
EQUIPPED = {f"/roomMailboxMetadata/{name}" for name in ("hasConferencePhone", "hasWhiteboard", "hasVideoConferencing")}
RULES = GuestRules(
    allowed=True,
    added_by=AddedBy.MEMBERS,
    allowed_domains=("a.example",),
    blocked_domains=("b.example",),
    sharing=None,
)
PLAIN = replace(RULES, added_by=AddedBy.OWNERS, allowed_domains=(), blocked_domains=())


def pointers(faults: list[Fault], code: str = "propertyNotHeld") -> set[str]:
    assert {fault.code for fault in faults} <= {code}
    return {fault.pointer for fault in faults}


def test_every_property_of_a_room_is_checked() -> None:
    found = pointers(list(property_faults(EVERYTHING, ROOM, ALL)))

    names = {field.name for field in fields(MailboxOrder)} - ELSEWHERE - {"template_id", "room_mailbox_metadata"}
    # A room has neither alias nor automatic mapping.
    assert len(found) == len(names - {"alias", "auto_mapping"}) + len(EQUIPPED)
    assert found >= EQUIPPED


@pytest.mark.parametrize("of_type", [SHARED, EQUIPMENT])
def test_properties_that_a_type_does_not_have_are_left_out(of_type: MailboxType) -> None:
    found = pointers(list(property_faults(EVERYTHING, of_type, ALL, "/defaults")))

    assert found.isdisjoint({f"/defaults{pointer}" for pointer in ROOM_ONLY | EQUIPPED})
    assert {"/defaults/capacity", "/defaults/primaryOwner", "/defaults/hideFromGAL"} <= found


@pytest.mark.parametrize(
    "sent", [MailboxProperties(), MailboxProperties(permissions={}, phone="", tags=(), business_phones=())]
)
def test_nothing_and_a_directory_that_stores_everything_have_no_faults(sent: MailboxProperties) -> None:
    assert list(property_faults(sent, ROOM, ALL)) == []
    assert list(property_faults(EVERYTHING, ROOM, Capabilities(timedelta(0)))) == []


def test_defaults_of_a_template_are_faults_of_the_template() -> None:
    sent = MailboxProperties(phone="1")
    order = replace(sent, city="Town", room_mailbox_metadata=RoomEquipment(has_whiteboard=True))

    faults = list(inherited_property_faults(order, sent, ROOM, ALL, template="Quiet room"))

    assert pointers(faults) == {"/templateId"}
    assert [fault.values for fault in faults] == [
        {"template": "Quiet room", "property": "city"},
        {"template": "Quiet room", "property": "roomMailboxMetadata.hasWhiteboard"},
    ]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("Desk", []),
        ("A long name", [{"max": 10, "actual": 11}]),
        ("Dësk äë", [{"characters": ("ë", "ä")}]),
    ],
)
def test_names_have_the_characters_and_the_length_of_the_directory(name: str, values: list[object]) -> None:
    limits = Limits(mailbox_name=10, refused_characters="äë")

    faults = list(mailbox_name_faults(name, Capabilities(timedelta(0), limits=limits)))

    assert pointers(faults, "nameNotPossible") <= {"/name"}
    assert [fault.values for fault in faults] == values


def test_guest_rules_need_domains_and_users_that_the_directory_knows() -> None:
    capabilities = Capabilities(
        timedelta(0),
        abilities=ALL_ABILITIES - {Ability.GUEST_DOMAINS},
        unheld=frozenset({DriftProperty.ASSIGNMENT_ADDED_BY}),
    )

    faults = list(guest_restriction_faults(RULES, capabilities))
    default = list(guest_restriction_faults(PLAIN, capabilities))

    assert [(fault.pointer, fault.code) for fault in faults] == [
        ("/guests/allowedDomains", "guestDomainsNotSupported"),
        ("/guests/blockedDomains", "guestDomainsNotSupported"),
        ("/guests/addedBy", "propertyNotHeld"),
    ]
    assert default == []
    assert list(guest_restriction_faults(RULES, Capabilities(timedelta(0)))) == []
