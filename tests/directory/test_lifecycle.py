# SPDX-License-Identifier: Apache-2.0
"""Removal, restoration, renaming and new addresses of managed groups and mailboxes."""

from dataclasses import replace
from uuid import UUID, uuid4

import pytest

from chamberlain.core.errors import OutsideFault, Rejected
from chamberlain.core.ids import RequestId
from chamberlain.directory.capabilities import Ability
from chamberlain.directory.embedded.lifecycle import EmbeddedLifecycle
from chamberlain.directory.groups import GroupReference, ObservedGroup
from chamberlain.directory.mailboxes import MailboxReference, ObservedMailbox
from chamberlain.directory.models import ObjectType, PeopleQuestion
from chamberlain.directory.port import Gone, ManagedObject, Readdressed, Renamed, Restored
from tests.databases import Databases
from tests.directory import group_work
from tests.directory.conftest import Adapter
from tests.directory.mailbox_work import Make, each_type, plain, shared
from tests.directory.marking_work import GROUP_EXTENSION, MAILBOX_EXTENSION
from tests.directory.sample_directory import OTHER_TENANT, TENANT

pytestmark = pytest.mark.abilities(Ability.SOFT_DELETE, Ability.RESTORE, Ability.RENAME, Ability.CHANGE_ADDRESS)


async def make_mailbox(adapter: Adapter, make: Make = plain) -> tuple[ManagedObject, ObservedMailbox]:
    work = make()
    [outcome] = await adapter.directory.ensure_mailboxes([work])
    assert outcome.observed is not None, outcome.fault
    request_id = work.wanted.request_id
    return ManagedObject(TENANT, ObjectType.MAILBOX, MAILBOX_EXTENSION, request_id), outcome.observed


async def make_group(adapter: Adapter) -> tuple[ManagedObject, ObservedGroup]:
    work = group_work.work(channels=("General", "Plans"))
    [outcome] = await adapter.directory.ensure([work])
    assert outcome.observed is not None, outcome.fault
    return ManagedObject(TENANT, ObjectType.GROUP, GROUP_EXTENSION, work.wanted.request_id), outcome.observed


async def shown(adapter: Adapter, one: ManagedObject) -> ObservedGroup | ObservedMailbox | None:
    if one.type is ObjectType.GROUP:
        [group] = await adapter.second_directory.observe([GroupReference(TENANT, one.extension, one.request_id)])
        return group
    reference = MailboxReference(TENANT, one.extension, one.request_id)
    [mailbox] = await adapter.second_directory.observe_mailboxes([reference])
    return mailbox


async def is_taken(adapter: Adapter, *addresses: str) -> bool:
    asked = frozenset(each.lower() for each in addresses)
    return (await adapter.people.look_up(PeopleQuestion(TENANT, addresses=asked))).taken_addresses == asked


def code_of(fault: OutsideFault | None) -> str | None:
    assert fault is None or isinstance(fault, Rejected)
    return None if fault is None else fault.code


@each_type
async def test_it_works(adapter: Adapter, make: Make) -> None:
    one, before = await make_mailbox(adapter, make)

    assert await adapter.lifecycle.ensure([Gone(one), Gone(one)]) == [None, None]
    assert await shown(adapter, one) is None
    assert before.id not in {each.id for each in (await adapter.adoptions.mailboxes(TENANT, "x", None)).mailboxes}
    assert not await is_taken(adapter, before.mail)

    assert await adapter.lifecycle.ensure([Restored(one), Restored(one)]) == [None, None]
    assert await shown(adapter, one) == before
    assert await is_taken(adapter, before.mail)


async def test_a_group_goes_and_returns_with_all_that_it_had(adapter: Adapter) -> None:
    one, before = await make_group(adapter)
    cursor = await last_cursor(adapter)

    assert await adapter.lifecycle.ensure([Gone(replace(one, id=before.id))]) == [None]
    assert await shown(adapter, one) is None
    removed = await adapter.guests.changes(TENANT, GROUP_EXTENSION, cursor)
    assert removed.removed == (before.id,)

    assert await adapter.lifecycle.ensure([Restored(one)]) == [None]
    assert await shown(adapter, one) == before
    again = await adapter.guests.changes(TENANT, GROUP_EXTENSION, removed.cursor)
    assert [each.id for each in again.subjects] == [before.id]


async def last_cursor(adapter: Adapter) -> str:
    page = await adapter.guests.changes(TENANT, GROUP_EXTENSION, None)
    while not page.is_complete:
        page = await adapter.guests.changes(TENANT, GROUP_EXTENSION, page.cursor)
    return page.cursor


async def test_only_the_object_with_the_mark_is_changed(adapter: Adapter) -> None:
    one, before = await make_mailbox(adapter)
    other = replace(one, request_id=RequestId(uuid4()), id=before.id)
    elsewhere = replace(one, tenant_id=OTHER_TENANT, id=before.id)

    faults = await adapter.lifecycle.ensure(
        [Gone(other), Gone(elsewhere), Renamed(other, "Another"), Readdressed(elsewhere, "a@estate.example")]
    )

    assert [code_of(each) for each in faults] == [None, None, "gone", "gone"]
    assert await shown(adapter, one) == before


async def test_what_was_never_removed_cannot_be_restored(adapter: Adapter) -> None:
    missing = ManagedObject(TENANT, ObjectType.GROUP, GROUP_EXTENSION, RequestId(uuid4()), UUID(int=7))

    [fault] = await adapter.lifecycle.ensure([Restored(missing)])

    assert code_of(fault) == "gone"


async def test_a_taken_address_prevents_the_restoration(adapter: Adapter) -> None:
    one, before = await make_mailbox(adapter)
    await adapter.lifecycle.ensure([Gone(one)])
    other, _ = await make_mailbox(adapter)
    assert await adapter.lifecycle.ensure([Readdressed(other, before.mail)]) == [None]

    [fault] = await adapter.lifecycle.ensure([Restored(one)])

    assert code_of(fault) == "addressTaken"
    assert await shown(adapter, one) is None
    await adapter.lifecycle.ensure([Gone(other)])
    assert await adapter.lifecycle.ensure([Restored(one)]) == [None]
    assert await shown(adapter, one) == before


async def test_it_renames(adapter: Adapter) -> None:
    mailbox, before = await make_mailbox(adapter, shared)
    group, group_before = await make_group(adapter)
    works = [Renamed(mailbox, "The new desk", "New desk"), Renamed(group, "New group")]

    assert await adapter.lifecycle.ensure([*works, *works]) == [None] * 4

    assert await shown(adapter, mailbox) == replace(before, display_name="The new desk", name="New desk")
    assert await shown(adapter, group) == replace(group_before, display_name="New group")
    assert await adapter.lifecycle.ensure([Renamed(mailbox, "Desk")]) == [None]
    assert await shown(adapter, mailbox) == replace(before, display_name="Desk", name="New desk")


@pytest.mark.parametrize("make", [make_mailbox, make_group])
async def test_the_old_address_stays_with_the_object(adapter: Adapter, make: object) -> None:
    one, before = await (make_mailbox(adapter) if make is make_mailbox else make_group(adapter))
    other, _ = await make_mailbox(adapter)
    new = f"new-{uuid4().hex[:8]}@estate.example"

    assert await adapter.lifecycle.ensure([Readdressed(one, new)] * 2) == [None, None]

    after = await shown(adapter, one)
    assert after is not None
    assert after.mail == new
    assert await is_taken(adapter, new, before.mail)
    if isinstance(after, ObservedMailbox):
        assert before.mail in after.aliases
    [fault] = await adapter.lifecycle.ensure([Readdressed(other, before.mail)])
    assert code_of(fault) == "addressTaken"
    # The alias becomes the primary address again.
    assert await adapter.lifecycle.ensure([Readdressed(one, before.mail)]) == [None]
    again = await shown(adapter, one)
    assert again is not None
    assert again.mail == before.mail


async def test_nothing_is_restored_after_the_retention(adapter: Adapter, filled: Databases) -> None:
    one, _ = await make_mailbox(adapter)
    await adapter.lifecycle.ensure([Gone(one)])
    await filled.worker.pool.execute("UPDATE directory.removed_objects SET removed_at = now() - interval '31 days'")

    [fault] = await adapter.lifecycle.ensure([Restored(one)])

    assert code_of(fault) == "gone"


async def test_users_who_were_deleted_meanwhile_do_not_return(adapter: Adapter, filled: Databases) -> None:
    one, before = await make_group(adapter)
    lost = max(before.members - before.owners or before.members)
    lifecycle = EmbeddedLifecycle(filled.worker.pool)
    await lifecycle.ensure([Gone(one)])
    await filled.worker.pool.execute("DELETE FROM directory.users WHERE id = $1", lost)

    assert await lifecycle.ensure([Restored(one)]) == [None]

    after = await shown(adapter, one)
    assert isinstance(after, ObservedGroup)
    assert after.members == before.members - {lost}
