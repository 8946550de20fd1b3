# SPDX-License-Identifier: Apache-2.0
"""Configuration of a tenant whose directory lacks abilities: changed templates are refused in plan and apply."""

import pytest

from chamberlain.app.maintenance import configuration_service
from chamberlain.configuration.files import ConfigurationInvalid
from chamberlain.configuration.service import ConfigurationService
from tests.estates import INTERNAL, OPERATOR, TRACE, Estate, changed_estate
from tests.example import configuration_in, example_document
from tests.guests.assignments.guest_fixture import guest_fixture
from tests.restricted_directory import RESTRICTED

LABELLED = changed_estate(project_group={"labelId": INTERNAL})


def restricted_service(estate: Estate) -> ConfigurationService:
    estate.restrict(RESTRICTED)
    return configuration_service(estate.databases.worker, estate.directory)


async def test_a_command_refuses_a_template_that_the_directory_cannot_follow(estate: Estate) -> None:
    service = restricted_service(estate)

    with pytest.raises(ConfigurationInvalid) as planned:
        await service.plan(LABELLED)
    with pytest.raises(ConfigurationInvalid) as applied:
        await service.apply(LABELLED, actor=OPERATOR, trace_id=TRACE)

    (fault,) = planned.value.faults
    assert fault.code == "labelsNotSupported"
    assert fault.pointer.endswith("/labelId")
    assert applied.value.faults == planned.value.faults


async def test_a_template_that_does_not_change_is_not_checked(estate: Estate) -> None:
    await configuration_service(estate.databases.worker).apply(LABELLED, actor=OPERATOR, trace_id=TRACE)
    service = restricted_service(estate)

    assert (await service.plan(LABELLED)).changes == ()


async def test_a_command_refuses_an_assignment_to_a_site(estate: Estate) -> None:
    await guest_fixture(estate).discover()
    document = example_document()
    document["tenants"][0]["assignments"] = [{"site": "Handbook", "template": "Partners"}]
    service = restricted_service(estate)

    with pytest.raises(ConfigurationInvalid) as planned:
        await service.plan(configuration_in(document))

    assert [(each.code, each.pointer.rpartition("/")[2]) for each in planned.value.faults] == [
        ("sitesNotSupported", "assignments")
    ]
