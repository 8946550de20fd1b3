# SPDX-License-Identifier: Apache-2.0
"""Changes by delta queries, with the answers that the conformance suite leaves out."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

from chamberlain.core.errors import Rejected
from chamberlain.directory.port import Guests, SubjectChanges
from tests.directory.guest_work import ASSIGNMENTS, EXTENSION, NO_GUESTS_TEMPLATE, assign
from tests.directory.sample_directory import PARTNERS, TENANT
from tests.microsoft365.fake.application import FakeMicrosoft365
from tests.microsoft365.fake.faults import Fault
from tests.microsoft365.fake.tenant import GROUPS, Tenant
from tests.microsoft365.stage import opened

FORBID = ASSIGNMENTS[1]


@pytest.fixture
async def guests(fake: FakeMicrosoft365) -> AsyncIterator[Guests]:
    """The guests of the first sample tenant."""
    microsoft365 = opened(fake, TENANT)
    yield microsoft365.adapters.guests
    await microsoft365.close()


async def scanned(guests: Guests) -> str:
    page = await guests.changes(TENANT, EXTENSION, None)
    while not page.is_complete:
        page = await guests.changes(TENANT, EXTENSION, page.cursor)
    return page.cursor


async def following(guests: Guests, cursor: str) -> SubjectChanges:
    return await guests.changes(TENANT, EXTENSION, cursor)


async def test_marks_are_read_with_a_tracked_change(guests: Guests, tenant: Tenant) -> None:
    cursor = await scanned(guests)
    await guests.ensure([assign(PARTNERS, FORBID)])
    tenant.change(GROUPS, str(PARTNERS), description="Another")

    page = await following(guests, cursor)

    assert [(each.id, each.template_id) for each in page.subjects] == [(PARTNERS, NO_GUESTS_TEMPLATE)]


async def test_a_change_that_is_repeated_in_a_page_is_reported_once(
    guests: Guests, fake: FakeMicrosoft365, tenant: Tenant
) -> None:
    cursor = await scanned(guests)
    tenant.change(GROUPS, str(PARTNERS), description="Another")
    fake.faults.plan(Fault.DELTA_DUPLICATE)

    page = await following(guests, cursor)

    assert [each.id for each in page.subjects] == [PARTNERS]


@pytest.mark.parametrize("fault", [Fault.DELTA_GONE, None], ids=["reset", "expired"])
async def test_a_lost_position_needs_a_scan(guests: Guests, fake: FakeMicrosoft365, fault: Fault | None) -> None:
    cursor = await scanned(guests)
    if fault is None:
        fake.clock.wait(timedelta(days=8))
    else:
        fake.faults.plan(fault)

    with pytest.raises(Rejected) as rejected:
        await following(guests, cursor)

    assert rejected.value.code == "cursorUnknown"


async def test_a_cursor_calls_no_other_server(guests: Guests) -> None:
    cursor = (await scanned(guests)).replace("https://graph.microsoft.com", "https://example.com")

    with pytest.raises(Rejected) as rejected:
        await following(guests, cursor)

    assert rejected.value.code == "cursorUnknown"


async def test_a_new_group_that_a_replica_hides_is_not_missed(guests: Guests, fake: FakeMicrosoft365) -> None:
    tenant = fake.tenants[str(TENANT)]
    cursor = await scanned(guests)
    tenant.lags = replace(tenant.lags, replicas=(timedelta(hours=1),) * 3)
    tenant.add_group("94000000-0000-4000-8000-0000000000aa", at=fake.clock(), displayName="New", mailNickname="new")

    page = await following(guests, cursor)

    assert [each.display_name for each in page.subjects] == ["New"]
