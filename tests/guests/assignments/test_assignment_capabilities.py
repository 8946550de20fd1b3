# SPDX-License-Identifier: Apache-2.0
"""Assignments in a tenant whose directory lacks abilities: refused before anything is written."""

from datetime import timedelta

import pytest

from chamberlain.core.errors import NotPossible
from chamberlain.directory.capabilities import ALL_ABILITIES, Ability, Capabilities
from chamberlain.directory.subjects import SubjectType
from tests.estates import ADA, Estate
from tests.guests.assignments.guest_fixture import HANDBOOK, NO_GUESTS, PARTNERS, guest_fixture
from tests.requests.request_services import administrator

LITTLE = Capabilities(timedelta(0), abilities=ALL_ABILITIES - {Ability.SITES, Ability.GUEST_DOMAINS})


async def test_a_site_in_a_directory_without_sites(estate: Estate) -> None:
    guests = guest_fixture(estate)
    await guests.discover()
    estate.restrict(LITTLE)
    before, wanted = (
        await guests.traces(),
        guests.wanted({"templateId": str(NO_GUESTS)}, HANDBOOK, kind=SubjectType.SITE),
    )

    with pytest.raises(NotPossible) as refused:
        await guests.assignments.assign(administrator(ADA), wanted)
    with pytest.raises(NotPossible) as previewed:
        await guests.assignments.dry_run(administrator(ADA), wanted)

    assert [(each.pointer, each.code) for each in refused.value.faults] == [("", "sitesNotSupported")]
    assert previewed.value.faults == refused.value.faults
    assert await guests.traces() == before


async def test_domains_of_guests_that_the_directory_does_not_enforce(estate: Estate) -> None:
    guests = guest_fixture(estate)
    await guests.discover()
    estate.restrict(LITTLE)

    with pytest.raises(NotPossible) as refused:
        await guests.assign(templateId=str(PARTNERS))
    assigned = await guests.assign(templateId=str(NO_GUESTS))

    (fault,) = refused.value.faults
    assert (fault.pointer, fault.code) == ("/templateId", "guestDomainsNotSupported")
    assert fault.values == {"template": "Partners", "property": "allowedDomains"}
    assert assigned.assignment.template_id == NO_GUESTS
