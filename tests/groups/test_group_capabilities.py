# SPDX-License-Identifier: Apache-2.0
"""Groups and teams of a tenant whose directory lacks abilities: refused before anything is written."""

from collections.abc import Mapping
from datetime import timedelta

import pytest

from chamberlain.core.errors import Forbidden, NotPossible, TryAgain
from chamberlain.directory.capabilities import ALL_ABILITIES, Ability, Capabilities, Limits
from chamberlain.directory.properties import DriftProperty
from chamberlain.requests.models import RequestState
from tests.estates import CLEO, INTERNAL, PROJECT_TEAM, Estate, apply, caller_of, changed_estate
from tests.groups.test_group_dry_run import preview
from tests.guests.assignments.guest_fixture import PARTNERS

NO_LABELS = Capabilities(timedelta(0), abilities=ALL_ABILITIES - {Ability.LABELS})
NO_TEAMS = Capabilities(timedelta(0), abilities=ALL_ABILITIES - {Ability.TEAMS})
NO_LICENSES = Capabilities(timedelta(0), abilities=ALL_ABILITIES - {Ability.LICENSE_CHECK})
NO_GUEST_DOMAINS = Capabilities(timedelta(0), abilities=ALL_ABILITIES - {Ability.GUEST_DOMAINS})
NO_CHANNELS = Capabilities(timedelta(0), unheld=frozenset({DriftProperty.GROUP_CHANNELS}))
NO_DESCRIPTION = Capabilities(timedelta(0), unheld=frozenset({DriftProperty.GROUP_DESCRIPTION}))
SHORT_NAMES = Capabilities(timedelta(0), limits=Limits(display_name=5))


@pytest.mark.parametrize(
    ("capabilities", "sent", "fault"),
    [
        (NO_LABELS, {"labelId": INTERNAL}, ("/labelId", "labelsNotSupported")),
        (NO_TEAMS, {"templateId": str(PROJECT_TEAM)}, ("/templateId", "teamsNotSupported")),
        (NO_CHANNELS, {"templateId": str(PROJECT_TEAM)}, ("/templateId", "propertyNotHeld")),
        (NO_DESCRIPTION, {"description": "Rockets"}, ("/description", "propertyNotHeld")),
        (SHORT_NAMES, {}, ("/displayName", "nameNotPossible")),
    ],
)
async def test_it_refuses_before_anything_is_written(
    estate: Estate, capabilities: Capabilities, sent: Mapping[str, object], fault: tuple[str, str]
) -> None:
    estate.restrict(capabilities)
    body, before = {"displayName": "Apollo", **sent}, await estate.counts()

    with pytest.raises(NotPossible) as refused:
        await estate.ask(body)
    with pytest.raises(NotPossible) as previewed:
        await preview(estate, body)

    assert [(each.pointer, each.code) for each in refused.value.faults] == [fault]
    assert previewed.value.faults == refused.value.faults
    assert await estate.counts() == before


async def test_a_label_of_an_older_template_names_the_template(estate: Estate) -> None:
    await apply(estate.databases, changed_estate(project_group={"labelId": INTERNAL}))
    estate.restrict(NO_LABELS)

    with pytest.raises(NotPossible) as refused:
        await estate.request()

    (fault,) = refused.value.faults
    assert (fault.pointer, fault.code) == ("/templateId", "labelsNotSupported")
    assert fault.values == {"template": "Project group"}


async def test_a_guest_template_that_the_directory_cannot_follow(estate: Estate) -> None:
    await apply(estate.databases, changed_estate(project_group={"guestTemplateId": str(PARTNERS)}))
    accepted = await estate.request()
    estate.restrict(NO_GUEST_DOMAINS)

    with pytest.raises(NotPossible) as refused:
        await estate.request("Borealis")

    (fault,) = refused.value.faults
    assert (fault.pointer, fault.code) == ("/templateId", "guestDomainsNotSupported")
    assert fault.values == {"template": "Partners", "property": "allowedDomains"}
    assert (await estate.record(accepted.request_id)).state is RequestState.QUEUED


async def test_without_the_ability_the_rest_is_provisioned(estate: Estate) -> None:
    estate.restrict(NO_LABELS)

    accepted = await estate.request()
    await estate.work()

    assert (await estate.record(accepted.request_id)).state is RequestState.SUCCEEDED


async def test_a_license_that_cannot_be_checked_is_a_warning(estate: Estate) -> None:
    cleo, sent = caller_of(CLEO), {"displayName": "Apollo", "templateId": str(PROJECT_TEAM)}
    with pytest.raises(Forbidden):
        await estate.ask(sent, caller=cleo)
    estate.restrict(NO_LICENSES)

    dry_run = await preview(estate, sent, caller=CLEO)
    accepted = await estate.ask(sent, caller=cleo)
    group = await preview(estate, {"displayName": "Borealis"}, caller=CLEO)

    assert [each.code for each in dry_run.warnings] == ["teamLicenseNotChecked"]
    assert [each.code for each in (await estate.record(accepted.request_id)).warnings] == ["teamLicenseNotChecked"]
    assert group.warnings == ()


async def test_the_worker_checks_no_license_either(estate: Estate) -> None:
    estate.restrict(NO_LICENSES)
    estate.people.error = TryAgain(timedelta(seconds=1), "Away.")
    accepted = await estate.ask({"displayName": "Apollo", "templateId": str(PROJECT_TEAM)}, caller=caller_of(CLEO))
    estate.people.error = None

    await estate.work()

    assert (await estate.record(accepted.request_id)).state is RequestState.SUCCEEDED
