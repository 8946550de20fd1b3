# SPDX-License-Identifier: Apache-2.0
"""Lookups below `/graph` in Microsoft 365: marks, addresses, large groups, and filters that Graph refuses."""

from collections.abc import AsyncIterator
from uuid import UUID

import pytest

from chamberlain.directory.routed import RoutedLookups
from chamberlain.embedded.directory.errors import BadQuery
from tests.directory.lookup_calls import LookupCalls, port_lookups
from tests.directory.sample_directory import ADA, GIL, HANDBOOK, OUTER, PARTNERS, TENANT
from tests.microsoft365.fake.application import FakeMicrosoft365
from tests.microsoft365.fake.sample import APP, EXTENSION, PERMISSIONS, record_activity
from tests.microsoft365.fake.tenant import GROUPS, Tenant
from tests.microsoft365.recording_transport import RecordingTransport
from tests.microsoft365.stage import FakeRoutes, opened

MARKS = {"requestId": str(UUID(int=7))}


@pytest.fixture
def strict(fake: FakeMicrosoft365) -> RecordingTransport:
    """The recorder under the adapter."""
    return RecordingTransport(fake.transport())


@pytest.fixture
async def lookups(fake: FakeMicrosoft365, strict: RecordingTransport) -> AsyncIterator[LookupCalls]:
    """The lookups of the first sample tenant."""
    microsoft365 = opened(fake, TENANT, strict)
    yield port_lookups(RoutedLookups(FakeRoutes({TENANT: microsoft365})))
    await microsoft365.close()


@pytest.fixture
def marked(tenant: Tenant) -> Tenant:
    """The tenant with a marked group."""
    tenant.log.put(GROUPS, str(OUTER), {**tenant.group(str(OUTER)), EXTENSION: MARKS}, at=tenant.old)
    return tenant


async def test_a_group_has_the_selected_marks(lookups: LookupCalls, marked: Tenant) -> None:
    assert marked.group(str(OUTER))[EXTENSION] == MARKS

    group = await lookups.get(f"/groups/{OUTER}", select=f"id,{EXTENSION}")
    unknown = await lookups.get(f"/groups/{OUTER}", select=f"id,other_group,{EXTENSION}")

    assert group[EXTENSION] == unknown[EXTENSION] == MARKS
    assert "other_group" not in unknown


async def test_too_many_comparisons_are_refused(lookups: LookupCalls) -> None:
    names = ",".join(f"'{number}'" for number in range(16))

    with pytest.raises(BadQuery) as refused:
        await lookups.get("/users", filter=f"displayName eq 'x' or displayName in ({names})")

    assert refused.value.code == "Request_UnsupportedQuery"


async def test_a_user_has_aliases_and_may_be_hidden(lookups: LookupCalls, tenant: Tenant) -> None:
    addresses = ["SMTP:eve@estate.example", "smtp:evelyn@estate.example", "sip:eve@estate.example"]
    tenant.add_user(
        str(UUID(int=0xE7E)),
        displayName="Eve Ek",
        userPrincipalName="eve@estate.example",
        mail="eve@estate.example",
        proxyAddresses=addresses,
        showInAddressList=False,
    )

    user = await lookups.get("/users/eve@estate.example", select="proxyAddresses,showInAddressList,createdDateTime")
    [by_alias] = await lookups.ids(
        "/users", filter="mail eq 'x' or proxyAddresses/any(p:p eq 'smtp:evelyn@estate.example')"
    )

    assert (user["proxyAddresses"], user["showInAddressList"]) == (addresses[:2], False)
    assert user["createdDateTime"] is not None
    assert by_alias == str(UUID(int=0xE7E))


async def test_the_last_sign_in_is_optional(lookups: LookupCalls, fake: FakeMicrosoft365, tenant: Tenant) -> None:
    record_activity(fake, GIL)
    fake.consent(tenant.id, str(APP), {*PERMISSIONS} - {"AuditLog.Read.All"})

    guest = await lookups.get(f"/users/{GIL}", select="displayName,signInActivity")

    assert (guest["displayName"], guest["signInActivity"]) == ("Gil Hartmann", None)


async def test_a_page_reads_its_own_members_only(
    lookups: LookupCalls, tenant: Tenant, strict: RecordingTransport
) -> None:
    members = [str(UUID(int=0xC0000000 + number)) for number in range(40)]
    for each in members:
        tenant.add_user(each, displayName="Crowd", userPrincipalName=f"{each}@estate.example")
    tenant.add_group(str(HANDBOOK), owner_ids=[str(ADA)], member_ids=members, displayName="Crowd")

    page = await lookups.get(f"/groups/{HANDBOOK}/members", top="10")

    assert [each["id"] for each in page["value"]] == members[:10]
    # One call for the ids, and one for those of the page.
    assert len(strict.exchanges) == 2


async def test_the_total_is_that_of_all_matches(lookups: LookupCalls) -> None:
    page = await lookups.get(f"/groups/{PARTNERS}/members", top="1", count="true")

    assert page["@odata.count"] == 3
