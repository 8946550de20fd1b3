# SPDX-License-Identifier: Apache-2.0
"""People: contacts, disabled accounts, and questions of more ids than one request can have."""

from collections.abc import AsyncIterator
from uuid import UUID

import pytest

from chamberlain.core.ids import UserId
from chamberlain.directory.models import PeopleQuestion
from chamberlain.directory.port import People
from tests.directory.sample_directory import TENANT
from tests.microsoft365.fake.application import FakeMicrosoft365
from tests.microsoft365.fake.sample import APP, PERMISSIONS
from tests.microsoft365.fake.tenant import CONTACTS, Tenant
from tests.microsoft365.recording_transport import RecordingTransport
from tests.microsoft365.stage import opened

SUPPLIER = "supplier@estate.example"
QUESTION = PeopleQuestion(TENANT, addresses=frozenset({SUPPLIER}))


@pytest.fixture
def strict(fake: FakeMicrosoft365) -> RecordingTransport:
    """The recorder under the adapter."""
    return RecordingTransport(fake.transport())


@pytest.fixture
async def people(fake: FakeMicrosoft365, strict: RecordingTransport) -> AsyncIterator[People]:
    """The people of the first sample tenant."""
    microsoft365 = opened(fake, TENANT, strict)
    yield microsoft365.adapters.people
    await microsoft365.close()


@pytest.fixture
def contact(tenant: Tenant) -> Tenant:
    """The tenant with a contact."""
    contact_id = str(UUID(int=9))
    found = {"id": contact_id, "displayName": "Supplier", "proxyAddresses": [f"SMTP:{SUPPLIER}"]}
    tenant.log.put(CONTACTS, contact_id, found, at=tenant.old)
    return tenant


async def test_the_address_of_a_contact_is_taken(people: People, contact: Tenant) -> None:
    assert contact.latest().keys(CONTACTS)
    assert (await people.look_up(QUESTION)).taken_addresses == {SUPPLIER}


async def test_contacts_are_optional(people: People, contact: Tenant, fake: FakeMicrosoft365) -> None:
    fake.consent(contact.id, str(APP), {*PERMISSIONS} - {"OrgContact.Read.All"})

    assert (await people.look_up(QUESTION)).taken_addresses == frozenset()


async def test_many_users_are_one_batch(people: People, tenant: Tenant, strict: RecordingTransport) -> None:
    users = [UserId(UUID(int=0xC0000000 + number)) for number in range(100)]
    for each in users:
        tenant.add_user(str(each), displayName="Crowd", userPrincipalName=f"{each}@estate.example")

    answer = await people.look_up(PeopleQuestion(TENANT, users=frozenset(users)))

    assert answer.people.keys() == {*users}
    assert strict.sent == 1


async def test_disabled_accounts_are_no_people(people: People, tenant: Tenant) -> None:
    for number, is_enabled in enumerate((True, False)):
        tenant.add_user(
            str(UUID(int=number + 50)),
            displayName="Quentin",
            userPrincipalName=f"q{number}@estate.example",
            accountEnabled=is_enabled,
        )

    found = await people.find(TENANT, "quen", 10)

    assert [each.id for each in found] == [UserId(UUID(int=50))]


async def test_a_quote_in_an_address_is_a_character(people: People) -> None:
    question = PeopleQuestion(TENANT, addresses=frozenset({"o'brien@estate.example"}))

    assert (await people.look_up(question)).taken_addresses == frozenset()
