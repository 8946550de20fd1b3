# SPDX-License-Identifier: Apache-2.0
"""Which property belongs to which type, and how a body shows its type."""

from dataclasses import replace

import pytest

from chamberlain.core.errors import Fault
from chamberlain.directory.mailboxes import MailboxOrder, MailboxProperties, MailboxType
from chamberlain.templates.mailbox_types import (
    applicability_faults,
    applicability_warnings,
    no_default_template,
    type_of_body,
)
from tests.mailboxes.mailbox_values import EVERY_PROPERTY, ORDER

pytestmark = pytest.mark.pure

ROOM, SHARED, EQUIPMENT = MailboxType.ROOM, MailboxType.SHARED, MailboxType.EQUIPMENT
# The table of the product, written once more: every other property belongs to all three.
HOLDERS = {
    "autoMapping": SHARED,
    "alias": SHARED,
    "roomMailboxMetadata": ROOM,
    "isWheelChairAccessible": ROOM,
    "officeLocation": ROOM,
    "metadata.equipmentType": EQUIPMENT,
}


def test_it_works() -> None:
    sent = replace(EVERY_PROPERTY["roomMailboxMetadata"], office_location="HQ - Floor 5")

    faults = list(applicability_faults(sent, SHARED))

    assert [(fault.pointer, fault.code, fault.values) for fault in faults] == [
        (f"/{name}", "propertyNotApplicable", {"type": "shared", "property": name, "typeWithIt": "room"})
        for name in ("officeLocation", "roomMailboxMetadata")
    ]


@pytest.mark.parametrize("mailbox_type", MailboxType)
@pytest.mark.parametrize("name", EVERY_PROPERTY)
def test_every_property_belongs_to_the_types_that_have_it(name: str, mailbox_type: MailboxType) -> None:
    sent = EVERY_PROPERTY[name]
    belongs = HOLDERS.get(name, mailbox_type) is mailbox_type

    faults = list(applicability_faults(sent, mailbox_type))
    warnings = list(applicability_warnings(sent, mailbox_type))

    refused = [(f"/{name.replace('.', '/')}", "propertyNotApplicable")]
    assert [(fault.pointer, fault.code) for fault in faults] == ([] if belongs else refused)
    assert [warning.values for warning in warnings] == ([] if belongs else [{"type": mailbox_type, "property": name}])


@pytest.mark.parametrize("name", EVERY_PROPERTY)
def test_a_property_that_one_type_has_shows_it(name: str) -> None:
    found = type_of_body(EVERY_PROPERTY[name])

    if name in HOLDERS:
        assert found is HOLDERS[name]
    else:
        assert isinstance(found, Fault)
        assert (found.pointer, found.code) == ("/templateId", "typeNotRecognised")


def test_every_way_to_show_a_type_is_named_to_those_who_show_none() -> None:
    found = type_of_body(ORDER)

    assert isinstance(found, Fault)
    assert [name for name in HOLDERS if name not in found.detail] == []


@pytest.mark.parametrize(
    ("sent", "named"),
    [
        (replace(ORDER, alias="desk", office_location="5"), ["alias", "shared", "officeLocation", "room"]),
        (replace(ORDER, auto_mapping=True, metadata={"equipmentType": ""}), ["autoMapping", "equipment"]),
        (
            replace(ORDER, alias="desk", is_wheel_chair_accessible=True, metadata={"equipmentType": True}),
            ["alias", "isWheelChairAccessible", "metadata.equipmentType"],
        ),
    ],
)
def test_it_rejects_a_body_that_shows_two_types(sent: MailboxOrder, named: list[str]) -> None:
    found = type_of_body(sent)

    assert isinstance(found, Fault)
    assert (found.pointer, found.code) == ("/templateId", "typeAmbiguous")
    assert [name for name in named if name not in found.detail] == []


def test_it_handles_several_marks_of_one_type() -> None:
    sent = replace(EVERY_PROPERTY["roomMailboxMetadata"], office_location="5", is_wheel_chair_accessible=True)

    assert type_of_body(sent) is ROOM


@pytest.mark.parametrize("mailbox_type", MailboxType)
def test_it_says_how_to_do_without_a_default_template(mailbox_type: MailboxType) -> None:
    fault = no_default_template(mailbox_type)

    assert (fault.pointer, fault.code) == ("/templateId", "noDefaultTemplate")
    assert fault.values == {"type": mailbox_type}


def test_the_defaults_of_a_template_are_held_to_the_same_table() -> None:
    defaults = MailboxProperties(auto_mapping=True, capacity=5)

    faults = list(applicability_faults(defaults, EQUIPMENT, "/defaults"))

    assert [fault.pointer for fault in faults] == ["/defaults/autoMapping"]
    assert faults[0].values == {"type": "equipment", "property": "autoMapping", "typeWithIt": "shared"}
