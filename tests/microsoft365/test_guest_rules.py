# SPDX-License-Identifier: Apache-2.0
"""Guest rules: parts that Graph does not have, optional permissions, and settings that replicas hide."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

from chamberlain.core.errors import TryAgain
from chamberlain.directory.microsoft365.changes import GraphChanges
from chamberlain.directory.microsoft365.guest_settings import GuestSettings
from chamberlain.directory.microsoft365.guests import GraphGuests
from chamberlain.directory.port import DisableGuest, Guests, RemoveGuest
from tests.directory.guest_work import ASSIGNMENTS, assign, reference, subject_of
from tests.directory.sample_directory import GIL, HANDBOOK, PARTNERS, TENANT
from tests.microsoft365.fake.application import FakeMicrosoft365
from tests.microsoft365.fake.sample import APP, PERMISSIONS, record_activity
from tests.microsoft365.fake.tenant import USERS, Tenant, settings
from tests.microsoft365.recording_transport import RecordingTransport
from tests.microsoft365.stage import graph_of, opened

CLEAR, FORBID, PARTNERS_ONLY = ASSIGNMENTS[:3]


@pytest.fixture
def strict(fake: FakeMicrosoft365) -> RecordingTransport:
    """The recorder under the adapter."""
    return RecordingTransport(fake.transport())


@pytest.fixture
async def guests(fake: FakeMicrosoft365, strict: RecordingTransport) -> AsyncIterator[Guests]:
    """The guests of the first sample tenant."""
    microsoft365 = opened(fake, TENANT, strict)
    yield microsoft365.adapters.guests
    await microsoft365.close()


async def test_domains_and_users_are_shortfalls(guests: Guests) -> None:
    [outcome] = await guests.ensure([assign(PARTNERS, PARTNERS_ONLY)])

    assert outcome.fault is None
    assert [each.reason.code for each in outcome.shortfalls] == ["partNotSet", "guestDomainsNotEnforced"]


async def test_a_security_group_has_no_rules(guests: Guests, strict: RecordingTransport) -> None:
    wanted = replace(FORBID, id=HANDBOOK)

    [outcome] = await guests.ensure([replace(assign(PARTNERS, FORBID), wanted=wanted)])

    assert [each.reason.code for each in outcome.shortfalls] == ["partNotSet"]
    assert subject_of(outcome).rules is None
    assert not [each for each in strict.exchanges if "/settings" in each.path]


async def test_a_removal_reads_no_activities(guests: Guests, strict: RecordingTransport) -> None:
    [outcome] = await guests.act([RemoveGuest(TENANT, PARTNERS, GIL)])

    assert outcome.fault is None
    assert strict.operations["DELETE /groups/{group-id}/members/{directoryObject-id}/$ref"] == 1
    assert strict.operations["GET /users/{user-id}"] == 0


async def test_activities_are_optional(guests: Guests, fake: FakeMicrosoft365, strict: RecordingTransport) -> None:
    record_activity(fake, GIL)
    fake.consent(str(TENANT), str(APP), {*PERMISSIONS} - {"AuditLog.Read.All"})

    [first] = await guests.observe([reference(PARTNERS)])
    asked = len(strict.exchanges)
    [second] = await guests.observe([reference(PARTNERS)])

    assert first is not None
    assert [guest.last_seen_at for guest in first.guests] == [None, None]
    assert second == first
    # Once refused, they are not asked for again.
    assert len(strict.exchanges) - asked < asked


async def test_activities_are_asked_for_again(
    fake: FakeMicrosoft365, tenant: Tenant, strict: RecordingTransport
) -> None:
    at = record_activity(fake, GIL)
    tenant.is_premium = False
    seconds = 0.0

    async with graph_of(fake, TENANT, strict) as wire:
        guests = GraphGuests(wire, GraphChanges(wire, str(TENANT)), lambda: seconds)
        await guests.observe([reference(PARTNERS)])
        tenant.is_premium = True
        seconds = 3_599.0
        [before] = await guests.observe([reference(PARTNERS)])
        seconds = 3_600.0
        [after] = await guests.observe([reference(PARTNERS)])

    assert before is not None
    assert after is not None
    assert {guest.last_seen_at for guest in before.guests} == {None}
    assert {guest.id: guest.last_seen_at for guest in after.guests}[GIL] == at


async def test_a_directory_without_a_premium_licence_has_no_activities(guests: Guests, tenant: Tenant) -> None:
    tenant.is_premium = False

    [found] = await guests.observe([reference(PARTNERS)])

    assert found is not None
    assert [guest.last_seen_at for guest in found.guests] == [None, None]


async def test_a_hidden_setting_is_deleted_later(guests: Guests, tenant: Tenant) -> None:
    await guests.ensure([assign(PARTNERS, FORBID)])
    tenant.lags = replace(tenant.lags, replicas=(timedelta(minutes=1),) * 3)

    [hidden] = await guests.ensure([assign(PARTNERS, CLEAR)])
    tenant.lags = replace(tenant.lags, replicas=(timedelta(0),) * 3)
    [shown] = await guests.ensure([assign(PARTNERS, CLEAR)])

    assert isinstance(hidden.fault, TryAgain)
    assert shown.fault is None
    assert tenant.latest().keys(settings(str(PARTNERS))) == []


async def test_a_setting_that_another_process_has_deleted_is_read_again_after_a_while(
    fake: FakeMicrosoft365, strict: RecordingTransport, tenant: Tenant
) -> None:
    seconds = 0.0
    async with graph_of(fake, TENANT, strict) as graph:
        ours, theirs = GuestSettings(graph, lambda: seconds), GuestSettings(graph)
        await ours.has_set(PARTNERS, is_allowed=False)
        await theirs.has_set(PARTNERS, is_allowed=None)

        # A replica may hide it.
        with pytest.raises(TryAgain):
            await ours.has_set(PARTNERS, is_allowed=False)
        seconds = 1_201.0

        assert await ours.has_set(PARTNERS, is_allowed=False)
        assert len(tenant.latest().keys(settings(str(PARTNERS)))) == 1


async def test_a_disabled_guest_is_signed_out(guests: Guests, tenant: Tenant) -> None:
    [outcome] = await guests.act([DisableGuest(TENANT, GIL)])

    user = tenant.latest().get(USERS, str(GIL))
    assert (outcome.fault, user["accountEnabled"], "@sessionsRevokedAt" in user) == (None, False, True)
