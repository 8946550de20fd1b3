# SPDX-License-Identifier: Apache-2.0
"""Templates that a tenant's directory cannot follow are refused when they are saved."""

from collections.abc import Mapping
from datetime import timedelta

import pytest

from chamberlain.core.errors import NotPossible
from chamberlain.directory.capabilities import ALL_ABILITIES, Ability, Capabilities
from chamberlain.directory.properties import DriftProperty
from chamberlain.template_admin.models import COLLAB, MAIL
from chamberlain.template_admin.wire import encode_collab_template
from tests.estates import ADA, INTERNAL, Estate
from tests.requests.request_services import administrator
from tests.template_admin.template_fixture import TemplateFixture

LITTLE = Capabilities(
    timedelta(0),
    abilities=ALL_ABILITIES - {Ability.LABELS, Ability.TEAMS, Ability.GUEST_DOMAINS, Ability.MEMBERSHIP_RULES},
    unheld=frozenset({DriftProperty.MAILBOX_CITY}),
)
GUESTS = {"kind": "guest", "sharingCapability": "disabled"}
DYNAMIC = {"memberShipType": 2, "membershipRule": "device.model -weird"}


@pytest.mark.parametrize(
    ("members", "fault"),
    [
        ({"labelId": INTERNAL}, ("/labelId", "labelsNotSupported")),
        ({"kind": "team"}, ("/kind", "teamsNotSupported")),
        (
            {**GUESTS, "guests": {"allowed": True, "allowedDomains": ["a.example"]}},
            ("/guests/allowedDomains", "guestDomainsNotSupported"),
        ),
        ({"kind": "room", "defaults": {"city": "Town"}}, ("/defaults/city", "propertyNotHeld")),
    ],
)
async def test_it_refuses_a_template_and_a_change_to_it(
    estate: Estate, members: Mapping[str, object], fault: tuple[str, str]
) -> None:
    area = MAIL if members.get("kind") == "room" else COLLAB
    templates = TemplateFixture(estate, administrator(ADA), area)
    existing = await templates.create(members)
    estate.restrict(LITTLE)
    before = await templates.page()

    with pytest.raises(NotPossible) as created:
        await templates.create(members)
    with pytest.raises(NotPossible) as replaced:
        await templates.replace(existing, {**members, "description": "Other"})

    assert [(each.pointer, each.code) for each in created.value.faults] == [fault]
    assert replaced.value.faults == created.value.faults
    assert await templates.page() == before


async def test_a_rule_that_the_directory_cannot_check_is_a_warning(estate: Estate) -> None:
    templates = TemplateFixture(estate, administrator(ADA), COLLAB)
    with pytest.raises(NotPossible):
        await templates.create(DYNAMIC)
    estate.restrict(LITTLE)

    template_id = await templates.create(DYNAMIC)
    replaced = await templates.replace(template_id, {**DYNAMIC, "description": "Other"})
    encoded = encode_collab_template(replaced)
    read = await templates.read(template_id)

    assert [each.code for each in replaced.warnings] == ["membershipRuleNotChecked"]
    assert encoded["warningReasons"] == (
        {"code": "membershipRuleNotChecked", "detail": replaced.warnings[0].sentence, "values": {}},
    )
    assert read.warnings == ()
