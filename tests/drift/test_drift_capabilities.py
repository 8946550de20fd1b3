# SPDX-License-Identifier: Apache-2.0
"""Drift checks of a directory that does not store or report some properties."""

from datetime import timedelta

import pytest

from chamberlain.directory.capabilities import SETTLES_LATE, Capabilities
from chamberlain.directory.properties import DriftProperty, Treatment
from chamberlain.directory.subjects import SubjectType
from chamberlain.guests.models import FindingKind, FindingState
from tests.drift.drift_fixture import DriftFixture, drift_fixture
from tests.drift.test_finding_repairs import MOVE, REQUEST, find_city
from tests.estates import BEN, Estate
from tests.guests.assignments.guest_fixture import HANDBOOK, PARTNERS, later
from tests.restricted_directory import RESTRICTED

CITY = frozenset({DriftProperty.MAILBOX_CITY})
HIDDEN_CHANGES = (
    "UPDATE directory.mailbox_permissions SET auto_mapping = NOT auto_mapping",
    "UPDATE directory.guest_settings SET guests_added_by = 'members', allowed_guest_domains = '{x.example}'",
)


@pytest.fixture
async def drift(estate: Estate) -> DriftFixture:
    return drift_fixture(estate)


async def test_three_nights_find_nothing_in_unreadable_properties(drift: DriftFixture) -> None:
    drift.restrict()
    await drift.set_repair(dict.fromkeys(RESTRICTED.unreadable, Treatment.MANAGED))
    await drift.mailbox(permissions={str(BEN): "FullAccess"})
    await drift.assignments.discover()
    await drift.assignments.assign(templateId=str(PARTNERS))
    await drift.assignments.work()
    done = len(drift.estate.directory.ensured_mailboxes), len(drift.assignments.guests.ensured)
    for statement in HIDDEN_CHANGES:
        await drift.change(statement)

    for _ in range(3):
        later(drift.estate, days=1)
        await drift.check_all()

    assert [each for each in await drift.records() if each.kind is not FindingKind.GUEST_AGAINST_RULE] == []
    assert (len(drift.estate.directory.ensured_mailboxes), len(drift.assignments.guests.ensured)) == done


async def test_a_repair_keeps_to_readable_properties(drift: DriftFixture) -> None:
    await drift.set_repair()
    await drift.assignments.discover()
    await drift.assignments.assign(HANDBOOK, kind=SubjectType.SITE, templateId=str(PARTNERS))
    await drift.assignments.work()
    before, readable = await drift.assignments.shown(HANDBOOK), drift.assignments.guests.guests
    drift.restrict()
    await drift.change("UPDATE directory.guest_settings SET allow_to_add_guests = false, blocked_guest_domains = '{x}'")

    await drift.check_all()

    found = [("drift", "repaired", "guests.allowed"), ("drift", "repaired", "guests.blockedDomains")]
    assert await drift.findings() == found
    drift.assignments.guests.guests = readable
    assert await drift.assignments.shown(HANDBOOK) == before


@pytest.mark.parametrize(
    "capabilities", [Capabilities(timedelta(0), unheld=CITY), Capabilities(timedelta(0), unreadable=CITY)]
)
async def test_a_property_that_is_not_reported_any_more_closes_its_finding(
    drift: DriftFixture, capabilities: Capabilities
) -> None:
    await find_city(drift)
    await drift.set_repair()
    drift.restrict(capabilities)

    await drift.check_all()

    assert await drift.findings() == [("drift", "gone", "city")]


async def test_changes_of_unreadable_properties_are_not_compared_at_once(drift: DriftFixture) -> None:
    await drift.mailbox(city="Town")
    await drift.watch()
    drift.restrict(Capabilities(timedelta(0), unreadable=CITY))
    await drift.change(
        "UPDATE directory.users SET properties = properties || '{\"city\": \"X\"}' WHERE mail LIKE 'desk%'"
    )

    await drift.watch()

    assert await drift.findings() == []


async def test_a_requested_repair_of_an_unreadable_property_fails(drift: DriftFixture) -> None:
    finding_id = await find_city(drift)
    drift.restrict(Capabilities(timedelta(0), unreadable=CITY))

    request_id = await drift.request_repair(finding_id)
    await drift.run_repairs()

    assert await drift.estate.rows(REQUEST, request_id) == [("repair", "failed", "notRepairable", None)]
    (finding,) = await drift.records()
    assert finding.state is FindingState.OPEN


LATE = Capabilities(timedelta(0), settles_after=SETTLES_LATE)


async def test_what_was_just_written_is_no_drift_in_an_eventually_consistent_directory(drift: DriftFixture) -> None:
    drift.restrict(LATE)
    await drift.mailbox(city="Town")
    # The directory shows an older value.
    await drift.change(MOVE)

    later(drift.estate, minutes=19)
    await drift.check_all()
    assert await drift.findings() == []

    later(drift.estate, minutes=2)
    await drift.check_all()
    assert await drift.findings() == [("drift", "open", "city")]


async def test_a_repair_that_is_not_shown_yet_is_trusted_for_its_time(drift: DriftFixture) -> None:
    await find_city(drift)
    drift.restrict(LATE)
    await drift.set_repair()
    later(drift.estate, days=1)
    await drift.check_all()
    assert await drift.findings() == [("drift", "repaired", "city")]
    # The directory shows the value before the repair again.
    await drift.change(MOVE)

    later(drift.estate, minutes=19)
    await drift.check_all()
    assert await drift.findings() == [("drift", "repaired", "city")]

    later(drift.estate, minutes=61)
    await drift.check_all()
    assert [state for _, state, _ in await drift.findings()] == ["repaired"] * 2
    assert len(drift.estate.directory.ensured_mailboxes) == 3
