# SPDX-License-Identifier: Apache-2.0
"""The defaults that a template adds to an order."""

from dataclasses import fields, replace

import pytest

from chamberlain.directory.mailboxes import MailboxOrder, MailboxProperties, PermissionLevel, RoomEquipment
from chamberlain.templates.models import MAILBOX_KINDS
from chamberlain.templates.rules import NamingRuleInvalid, compile_mailbox_template, completed
from tests.groups.group_values import BEN, CLEO
from tests.mailboxes.mailbox_values import EVERY_PROPERTY, ORDER, SHARED

pytestmark = pytest.mark.pure

PROPERTIES = [field.name for field in fields(MailboxProperties)]


def test_it_works() -> None:
    template = replace(SHARED, defaults=MailboxProperties(hide_from_gal=True, country="Switzerland", capacity=50))

    order = completed(replace(ORDER, country="France", hide_from_gal=False), template)

    assert order == replace(ORDER, country="France", hide_from_gal=False, capacity=50)


@pytest.mark.parametrize("name", [name for name in EVERY_PROPERTY if name != "alias"])
def test_every_property_may_come_from_the_template(name: str) -> None:
    wanted = EVERY_PROPERTY[name]
    defaults = MailboxProperties(**{each: getattr(wanted, each) for each in PROPERTIES})

    assert completed(ORDER, replace(SHARED, defaults=defaults)) == wanted


@pytest.mark.parametrize(
    "sent",
    [
        replace(ORDER, permissions={CLEO: PermissionLevel.SEND_AS}),
        replace(ORDER, permissions={}),
        replace(ORDER, metadata={"own": True}),
        replace(ORDER, metadata={}),
        replace(ORDER, room_mailbox_metadata=RoomEquipment(has_whiteboard=False)),
        replace(ORDER, tags=()),
        replace(ORDER, capacity=0),
        replace(ORDER, notes=""),
    ],
)
def test_what_is_sent_replaces_the_default_whole(sent: MailboxOrder) -> None:
    defaults = MailboxProperties(
        permissions={BEN: PermissionLevel.FULL_ACCESS},
        metadata={"a": "b"},
        room_mailbox_metadata=RoomEquipment(has_conference_phone=True),
        tags=("quiet",),
        capacity=5,
        notes="A note.",
    )

    order = completed(sent, replace(SHARED, defaults=defaults))

    assert [name for name in PROPERTIES if getattr(sent, name) not in (None, getattr(order, name))] == []


def test_it_knows_what_its_address_needs() -> None:
    plain = compile_mailbox_template(SHARED)
    numbered = compile_mailbox_template(replace(SHARED, address_rule="{user.department}-{input}-{counter:3}"))

    assert (plain.address.needs_counter, plain.address.needs_properties) == (False, False)
    assert (numbered.address.needs_counter, numbered.address.needs_properties) == (True, True)


def test_it_rejects_a_rule_that_is_none() -> None:
    with pytest.raises(NamingRuleInvalid):
        compile_mailbox_template(replace(SHARED, address_rule="{nobody}"))


def test_a_template_of_a_mailbox_is_one_of_these_kinds() -> None:
    assert {str(kind) for kind in MAILBOX_KINDS} == {"shared", "equipment", "room"}
